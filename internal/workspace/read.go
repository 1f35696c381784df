package workspace

import (
	"context"
	"path/filepath"

	"github.com/argosy-cd/argosy/internal/input"
)

// Read reads a file of the local repositories by the name that a plan has for it: from the working directory, or from the top of a
// repository. It returns the name from the working directory, and false for a file that is in none of them.
func (r *Repositories) Read(ctx context.Context, name string) (near string, data []byte, ok bool) {
	if name == "" || r.ready(ctx) != nil {
		return "", nil, false
	}
	candidates := []string{name}
	for _, l := range r.local {
		if filepath.IsLocal(name) {
			candidates = append(candidates, filepath.Join(l.Path, name))
		}
	}
	for _, candidate := range candidates {
		view, rel, err := r.inside(ctx, candidate)
		if err != nil {
			continue
		}
		if data, err := view.Read(ctx, rel); err == nil {
			return input.Near(candidate), data, true
		}
	}
	return "", nil, false
}
