package trigger

import (
	"context"
	"errors"
	"time"

	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Files is a repository whose tree is what it was told last, such as a work tree as it lies on disk. Its commit depends on the content
// alone.
type Files struct {
	// Date and Message are those of every commit.
	Date    time.Time
	Message string

	states
}

// Set makes files a commit, if they are others than before.
func (f *Files) Set(files []tree.File) error {
	now, err := newState(files, f.Date, f.Message)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep(now)
	return nil
}

// Head implements gitserver.Repository.
func (f *Files) Head(context.Context) (gitserver.Hash, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.list) == 0 {
		return gitserver.Hash{}, errors.New("there is nothing in it yet")
	}
	return f.list[len(f.list)-1].hash, nil
}

// History implements gitserver.Repository. What was never served is not known.
func (f *Files) History(_ context.Context, commit gitserver.Hash) (gitserver.History, bool, error) {
	h, ok := f.find(commit)
	return h, ok, nil
}
