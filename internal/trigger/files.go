package trigger

import (
	"context"
	"time"

	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Files is a repository whose tree is what a function returns each time that it is asked, such as a work tree as it lies on disk. Its
// commit depends on the content alone.
type Files struct {
	// Read returns what is there now.
	Read func(ctx context.Context) ([]tree.File, error)
	// Date and Message are those of every commit.
	Date    time.Time
	Message string

	states
}

// Head implements gitserver.Repository.
func (f *Files) Head(ctx context.Context) (gitserver.Hash, error) {
	files, err := f.Read(ctx)
	if err != nil {
		return gitserver.Hash{}, err
	}
	now, err := newState(files, f.Date, f.Message)
	if err != nil {
		return gitserver.Hash{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keep(now)
	return now.hash, nil
}

// History implements gitserver.Repository. What was never served is not known.
func (f *Files) History(_ context.Context, commit gitserver.Hash) (gitserver.History, bool, error) {
	h, ok := f.find(commit)
	return h, ok, nil
}
