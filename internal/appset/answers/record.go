package answers

import (
	"context"
	"fmt"
	"sync"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Record asks and keeps the answers. Write saves them.
type Record struct {
	APIs generator.APIs

	mu    sync.Mutex
	files map[string]*file
}

// Ask implements generator.APIs. An answer that cannot be kept is no answer.
func (r *Record) Ask(ctx context.Context, q generator.Question) (*generator.Answer, error) {
	s, err := about(q)
	if err != nil {
		return nil, err
	}
	a, err := r.APIs.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files == nil {
		r.files = map[string]*file{}
	}
	name := s.name()
	f := r.files[name]
	// A list of repositories that is asked for again is a new one; of branches and paths, the first answer stays.
	if f == nil || q.Ask == generator.AskRepositories {
		f = &file{Question: s}
		r.files[name] = f
	}
	f.add(q, a)
	return a, nil
}

// Write calls write with the name and the content of each file, in the order of their names.
func (r *Record) Write(write func(name string, data []byte) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range manifest.Keys(r.files) {
		data, err := r.files[name].encode()
		if err == nil {
			err = write(name, data)
		}
		if err != nil {
			return fmt.Errorf("recording %s: %w", name, err)
		}
	}
	return nil
}
