package workspace

import (
	"context"
	"path/filepath"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/input"
)

// Read reads a file of a local repository by the name that a plan has for it: from the top of the repository of a URL or, if the URL is "",
// from the working directory. It returns the name from the working directory, and false for a file that is in no local repository.
func (r *Repositories) Read(ctx context.Context, url, name string) (near string, data []byte, ok bool) {
	if name == "" || r.ready(ctx) != nil {
		return "", nil, false
	}
	if url != "" {
		return r.readIn(ctx, url, name)
	}
	view, rel, err := r.inside(ctx, name)
	if err == nil {
		data, err = view.Read(ctx, rel)
	}
	return input.Near(name), data, err == nil
}

// readIn reads a file of the local repository of a URL.
func (r *Repositories) readIn(ctx context.Context, url, name string) (near string, data []byte, ok bool) {
	for _, l := range r.local {
		if giturl.Key(l.URL) == giturl.Key(url) {
			near = input.Near(filepath.Join(l.Path, filepath.FromSlash(name))) // the last one counts, as for the source
		}
	}
	if near == "" || !filepath.IsLocal(name) {
		return "", nil, false
	}
	t, err := r.source.Tree(ctx, url, "HEAD")
	if err == nil {
		data, err = t.View().Read(ctx, name)
	}
	return near, data, err == nil
}
