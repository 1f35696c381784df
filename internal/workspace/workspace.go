// Package workspace has the input of a user's commands: the Git repositories on disk and elsewhere that Applications name, the roots in
// them, and plans of those roots.
//
// It reads with the user's own rights: work trees as they lie on disk, other repositories by the user's git, charts and files with the
// user's credentials. It writes nothing but a cache.
package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/fetch"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/worker/job"
)

// Config says where repositories are, and how they are read.
type Config struct {
	// Local are repositories that a directory stands for. A directory without a URL gets the URL that its Applications name.
	Local []gitsource.Local
	// Alone says that Local has all local repositories. Otherwise the working directory's is one, too, under the URLs of its remotes.
	Alone bool
	// Guess is for plans: the working directory also stands for the URL that its Applications name, and URLs must not be paths.
	Guess bool
	// Offline fetches nothing.
	Offline bool
	// Charts is a directory of vendored charts; "" is none.
	Charts string
	// Cache is the directory where fetched content is kept; "" keeps none.
	Cache string
	// Env is the environment of git.
	Env environ.Environ
	// Note is called with notes for the user.
	Note func(line string)
	// Foreign renders fetched sources in workers. Nil renders them in this process.
	Foreign *job.Foreign
}

// Repositories opens the repositories that sets and Applications name. It looks for the repository of the working directory when the first
// of them is opened, so that sets without any need no Git.
type Repositories struct {
	cfg Config
	// revision answers for all local repositories that have none of their own; "" is the work tree.
	revision string
	// branch is the branch that the work tree stands for, besides the checked-out one; "" is the default branch of the repository.
	branch string

	once   sync.Once
	source *gitsource.Source
	local  []gitsource.Local
	remote *fetch.Fetcher
	err    error
	// rendered caches rendered sources. foreign renders fetched sources in workers; nil renders them in this process.
	rendered plan.Cache
	foreign  *job.Sum
}

// New returns repositories. They must be closed.
func New(cfg Config) *Repositories {
	r := &Repositories{cfg: cfg}
	if cfg.Foreign != nil {
		r.foreign = cfg.Foreign.Sum()
	}
	return r
}

var _ generator.Committed = (*gitsource.Tree)(nil)

// Tree implements generator.Repositories.
func (r *Repositories) Tree(ctx context.Context, url, revision string) (generator.Tree, error) {
	t, err := r.tree(ctx, url, revision)
	if err != nil {
		return nil, plan.Absent(err)
	}
	return t, nil
}

func (r *Repositories) tree(ctx context.Context, url, revision string) (*gitsource.Tree, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	return r.source.Tree(ctx, url, revision)
}

func (r *Repositories) ready(ctx context.Context) error {
	r.once.Do(func() { r.err = r.open(ctx) })
	return r.err
}

// Local returns the local repositories.
func (r *Repositories) Local(ctx context.Context) ([]gitsource.Local, error) {
	err := r.ready(ctx)
	return r.local, err
}

// open maps the remotes of the repository of the working directory, and over them the repositories of --repo.
func (r *Repositories) open(ctx context.Context) error {
	var remotes []gitsource.Local
	if !r.cfg.Alone {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		if remotes, err = gitsource.FindRemotes(ctx, r.cfg.Env, dir); err != nil {
			return err
		}
		if r.cfg.Guess && len(r.cfg.Local) == 0 {
			top, err := gitsource.TopLevel(ctx, r.cfg.Env, dir)
			if err != nil {
				return err
			}
			if top != "" {
				remotes = append(remotes, gitsource.Local{Path: top})
			}
		}
	}
	local := slices.Concat(remotes, r.cfg.Local)
	for i, l := range local {
		local[i].Revision, local[i].Branch = cmp.Or(l.Revision, r.revision), r.branch
		if r.branch == "" {
			local[i].Branch = gitsource.DefaultBranch(ctx, r.cfg.Env, l.Path)
		}
	}
	if err := r.guessURLs(ctx, local); err != nil {
		return err
	}
	r.local = slices.DeleteFunc(local, func(l gitsource.Local) bool { return l.URL == "" })
	r.source = gitsource.New(gitsource.Config{
		Local: r.local, Offline: r.cfg.Offline, NoPaths: r.cfg.Guess, Env: r.cfg.Env, Cache: joinOr(r.cfg.Cache, "git"),
		Note: r.cfg.Note,
	})
	r.remote = fetch.New(fetch.Config{
		Dir: joinOr(r.cfg.Cache, "fetched"), Offline: r.cfg.Offline, Charts: r.cfg.Charts, Env: r.cfg.Env,
		Note: r.cfg.Note,
	})
	return nil
}

// guessURLs finds the URL of directories without one: the URL that their Applications name most often.
func (r *Repositories) guessURLs(ctx context.Context, local []gitsource.Local) error {
	for i, l := range local {
		if l.URL != "" {
			continue
		}
		url, err := r.guessURL(ctx, gitsource.Local{URL: l.Path, Path: l.Path, Revision: l.Revision})
		if err != nil {
			return err
		}
		named := i >= len(local)-len(r.cfg.Local)
		switch known := slices.ContainsFunc(local, func(o gitsource.Local) bool {
			return o.URL != "" && giturl.Key(o.URL) == giturl.Key(url)
		}); {
		case url == "" && named:
			return fmt.Errorf("%s: no Application in it has its source in it, so the URL of the repository is not known; name the URL, as "+
				"in --repo URL=%s", l.Path, l.Path)
		case url == "" || known && !named:
			continue
		}
		if !named {
			r.cfg.Note(fmt.Sprintf("this work tree is taken for %s, which its Applications name", words.Printable(giturl.Redact(url))))
		}
		local[i].URL = url
	}
	return nil
}

// guessURL is the URL of a directory that its Applications name.
func (r *Repositories) guessURL(ctx context.Context, l gitsource.Local) (string, error) {
	source := gitsource.New(gitsource.Config{Local: []gitsource.Local{l}, Offline: true, Env: r.cfg.Env})
	t, err := source.Tree(ctx, l.URL, "HEAD")
	if err != nil {
		return "", errors.Join(err, source.Close())
	}
	files, err := t.Manifests(ctx)
	return NamedMost(t.Names(), files), errors.Join(err, source.Close())
}

func joinOr(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// with returns the same repositories at a revision, or with another branch for the work tree.
func (r *Repositories) with(revision, branch string) *Repositories {
	out := New(r.cfg)
	out.revision, out.branch = revision, branch
	return out
}

// file reads a file of the work tree as it is at the revision.
func (r *Repositories) file(ctx context.Context, name string) ([]byte, error) {
	view, rel, err := r.inside(ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := view.Read(ctx, rel)
	if err != nil {
		return nil, fmt.Errorf("%s: there is no such file at %s", name, r.revision)
	}
	return data, nil
}

// errOutside says that a file is in none of the local repositories.
var errOutside = errors.New("it is in none of the local repositories")

// inside returns the local repository that a file or directory is in, and its name there.
func (r *Repositories) inside(ctx context.Context, name string) (*tree.View, string, error) {
	if err := r.ready(ctx); err != nil {
		return nil, "", err
	}
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, "", err
	}
	if real, err := filepath.EvalSymlinks(full); err == nil {
		full = real
	}
	for _, l := range r.local {
		top, err := filepath.Abs(l.Path)
		if err != nil {
			return nil, "", err
		}
		if real, err := filepath.EvalSymlinks(top); err == nil {
			top = real
		}
		rel, err := filepath.Rel(top, full)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		t, err := r.source.Tree(ctx, l.URL, "HEAD")
		if err != nil {
			return nil, "", err
		}
		return t.View(), filepath.ToSlash(rel), nil
	}
	return nil, "", fmt.Errorf("%s: %w, so it has no revision %s", name, errOutside, r.revision)
}

// Close closes them. It may be called twice.
func (r *Repositories) Close() error {
	if r.source == nil {
		return nil
	}
	return errors.Join(r.source.Close(), r.remote.Close())
}
