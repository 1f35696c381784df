package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/fetch"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Loader renders sources from these repositories.
func (r *Repositories) Loader() source.Loader {
	environment := source.Environment{Unbounded: true}
	if r.foreign != nil {
		environment.Foreign = r.foreign.Render
	}
	return source.Loader{
		Open: func(ctx context.Context, url, revision string) (source.Repository, error) {
			if name, ok := strings.CutPrefix(url, "s3://"); ok && !r.maps(ctx, url) {
				return source.Repository{}, fmt.Errorf("bucket %q is not mapped to a directory; map it with --repo s3://%s=PATH", name,
					name)
			}
			t, err := r.tree(ctx, url, revision)
			if err != nil {
				return source.Repository{}, err
			}
			return source.Repository{View: t.View(), Commit: t.Commit(), Instead: t.Instead()}, nil
		},
		Remote:      r.Remote(),
		Environment: environment,
	}
}

// maps reports whether a repository is local.
func (r *Repositories) maps(ctx context.Context, url string) bool {
	return r.ready(ctx) == nil && slices.ContainsFunc(r.local, func(l gitsource.Local) bool {
		return giturl.Key(l.URL) == giturl.Key(url)
	})
}

// mergesInto reports whether a local work tree may be merged into a revision: that is a branch, and not a tag, a commit or nothing at all,
// and the work tree is not the default branch itself.
func (r *Repositories) mergesInto(ctx context.Context, url, revision string) bool {
	return revision != "" && slices.ContainsFunc(r.local, func(l gitsource.Local) bool {
		return giturl.Key(l.URL) == giturl.Key(url) && gitsource.IsBranch(ctx, r.cfg.Env, l.Path, revision) &&
			!gitsource.OnDefault(ctx, r.cfg.Env, l.Path)
	})
}

// Remote fetches with the user's own credentials.
func (r *Repositories) Remote() source.Remote { return elsewhere{r} }

// elsewhere fetches remote content with the user's own credentials.
type elsewhere struct{ *Repositories }

// Git implements source.Remote.
func (e elsewhere) Git(ctx context.Context, url, revision string) (*tree.View, error) {
	t, err := e.tree(ctx, url, revision)
	if err != nil {
		return nil, err
	}
	return t.View(), nil
}

// File implements source.Remote.
func (e elsewhere) File(ctx context.Context, url string) ([]byte, error) {
	if err := e.ready(ctx); err != nil {
		return nil, err
	}
	return e.remote.File(ctx, url)
}

// Chart implements source.Remote.
func (e elsewhere) Chart(ctx context.Context, repository, name, version string) ([]tree.File, error) {
	return e.files(ctx, func() (*fetch.Chart, error) { return e.remote.Chart(ctx, repository, name, version) })
}

// Artifact implements source.Remote.
func (e elsewhere) Artifact(ctx context.Context, url, revision string) ([]tree.File, error) {
	return e.files(ctx, func() (*fetch.Chart, error) { return e.remote.Artifact(ctx, url, revision) })
}

func (e elsewhere) files(ctx context.Context, get func() (*fetch.Chart, error)) ([]tree.File, error) {
	if err := e.ready(ctx); err != nil {
		return nil, err
	}
	c, err := get()
	if err != nil {
		return nil, err
	}
	return c.Files, nil
}
