package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/fetch"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/worker"
	"github.com/argosy-cd/argosy/internal/worker/job"
)

// repositories opens the repositories that sets and Applications name. It looks for the repository we stand in when the first of them is
// opened, so that sets without any need no Git.
type repositories struct {
	std     stdio
	offline bool
	charts  string // a folder of vendored charts
	flags   []gitsource.Local
	alone   bool // flags are all; the repository we stand in is not looked for
	guess   bool // the URL of a work tree is also the one that its Applications name
	// revision answers for all local repositories that have none of their own; "" is the work tree.
	revision string
	// branch is what the work tree stands for, besides the branch that is checked out; "" is the default branch of the repository.
	branch string

	once   sync.Once
	source *gitsource.Source
	local  []gitsource.Local
	remote *fetch.Fetcher
	err    error
	// rendered is what plans of these repositories have rendered.
	rendered plan.Cache
	// foreign renders what was fetched.
	foreign *job.Foreign
}

func newRepositories(std stdio, flags []string, offline bool) (*repositories, error) {
	r := &repositories{std: std, offline: offline, foreign: newForeign(std)}
	for _, flag := range flags {
		l, err := ownRepository(flag)
		if err != nil {
			return nil, err
		}
		r.flags = append(r.flags, l)
	}
	return r, nil
}

// Tree implements generator.Repositories.
func (r *repositories) Tree(ctx context.Context, url, revision string) (generator.Tree, error) {
	t, err := r.tree(ctx, url, revision)
	if err != nil {
		return nil, plan.Absent(err)
	}
	return t, nil
}

func (r *repositories) tree(ctx context.Context, url, revision string) (*gitsource.Tree, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	return r.source.Tree(ctx, url, revision)
}

func (r *repositories) ready(ctx context.Context) error {
	r.once.Do(func() { r.err = r.open(ctx) })
	return r.err
}

// open maps the remotes of the repository we stand in, and on top of them what --repo says.
func (r *repositories) open(ctx context.Context) error {
	var remotes []gitsource.Local
	if !r.alone {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		if remotes, err = gitsource.FindRemotes(ctx, r.std.env, dir); err != nil {
			return err
		}
		if r.guess && len(r.flags) == 0 {
			top, err := gitsource.TopLevel(ctx, r.std.env, dir)
			if err != nil {
				return err
			}
			if top != "" {
				remotes = append(remotes, gitsource.Local{Path: top})
			}
		}
	}
	local := slices.Concat(remotes, r.flags)
	for i, l := range local {
		local[i].Revision, local[i].Branch = cmp.Or(l.Revision, r.revision), r.branch
		if r.branch == "" {
			local[i].Branch = gitsource.DefaultBranch(ctx, r.std.env, l.Path)
		}
	}
	if err := r.guessURLs(ctx, local); err != nil {
		return err
	}
	r.local = slices.DeleteFunc(local, func(l gitsource.Local) bool { return l.URL == "" })
	cache := cacheDir(r.std)
	r.source = gitsource.New(gitsource.Config{
		Local: r.local, Offline: r.offline, NoPaths: r.guess, Env: r.std.env, Cache: joinOr(cache, "git"),
		Note: func(line string) { fmt.Fprintln(r.std.err, "note:", line) },
	})
	r.remote = fetch.New(fetch.Config{
		Dir: joinOr(cache, "fetched"), Offline: r.offline, Charts: r.charts, Env: r.std.env,
		Note: func(line string) { fmt.Fprintln(r.std.err, "note:", line) },
	})
	return nil
}

// guessURLs finds the URL of directories that have none: the one that their Applications name most often.
func (r *repositories) guessURLs(ctx context.Context, local []gitsource.Local) error {
	for i, l := range local {
		if l.URL != "" {
			continue
		}
		url, err := guessURL(ctx, r.std, gitsource.Local{URL: l.Path, Path: l.Path, Revision: l.Revision})
		if err != nil {
			return err
		}
		named := i >= len(local)-len(r.flags)
		switch known := slices.ContainsFunc(local, func(o gitsource.Local) bool { return o.URL != "" && gitsource.Key(o.URL) == gitsource.Key(url) }); {
		case url == "" && named:
			return fmt.Errorf("%s: no Application in it has a source that is in it, too, so its URL is not known; name it, as in --repo URL=%s", l.Path, l.Path)
		case url == "" || known && !named:
			continue
		}
		if !named {
			fmt.Fprintf(r.std.err, "note: this work tree is taken for %s, which its Applications name\n", words.Printable(gitsource.Redact(url)))
		}
		local[i].URL = url
	}
	return nil
}

// guessURL is the URL of a directory that its Applications name.
func guessURL(ctx context.Context, std stdio, l gitsource.Local) (string, error) {
	source := gitsource.New(gitsource.Config{Local: []gitsource.Local{l}, Offline: true, Env: std.env})
	t, err := source.Tree(ctx, l.URL, "HEAD")
	if err != nil {
		return "", errors.Join(err, source.Close())
	}
	files, err := t.Manifests(ctx)
	return namedMost(t.Names(), files), errors.Join(err, source.Close())
}

// foreignMemory bounds a worker that renders what was fetched.
const foreignMemory = 1 << 30

// newForeign renders what was fetched in two processes of its own, which are started for the first of it.
func newForeign(std stdio) *job.Foreign {
	memory := int64(foreignMemory)
	if container := containerMemory(); container > 0 {
		memory = max(minWorkerMemory<<20, min(memory, container*3/10))
	}
	return &job.Foreign{
		Workers: worker.Config{Args: []string{"argosy", workerCommand}, Workers: 2, Memory: memory, GCPercent: 300},
		Note:    func(line string) { fmt.Fprintln(std.err, "note:", words.Printable(line)) },
	}
}

// cacheDir is where fetched content is kept, "" if there is no place for it.
func cacheDir(std stdio) string {
	switch dir, home := std.getenv("XDG_CACHE_HOME"), std.getenv("HOME"); {
	case std.getenv("ARGOSY_CACHE_DIR") == "none":
		return ""
	case std.getenv("ARGOSY_CACHE_DIR") != "":
		return std.getenv("ARGOSY_CACHE_DIR")
	case filepath.IsAbs(dir):
		return filepath.Join(dir, "argosy")
	case filepath.IsAbs(home):
		return filepath.Join(home, ".cache", "argosy")
	}
	return ""
}

func joinOr(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// loader renders sources from these repositories.
func (r *repositories) loader() source.Loader {
	return source.Loader{
		Open: func(ctx context.Context, url, revision string) (source.Repository, error) {
			if name, ok := strings.CutPrefix(url, "s3://"); ok && !r.maps(ctx, url) {
				return source.Repository{}, fmt.Errorf("bucket %q is not mapped to a directory; map it with --repo s3://%s=PATH", name, name)
			}
			t, err := r.tree(ctx, url, revision)
			if err != nil {
				return source.Repository{}, err
			}
			return source.Repository{View: t.View(), Commit: t.Commit()}, nil
		},
		Remote:      elsewhere{r},
		Environment: source.Environment{Unbounded: true, Foreign: r.foreign.Render},
	}
}

// maps reports whether a repository is local.
func (r *repositories) maps(ctx context.Context, url string) bool {
	return r.ready(ctx) == nil && slices.ContainsFunc(r.local, func(l gitsource.Local) bool { return gitsource.Key(l.URL) == gitsource.Key(url) })
}

// mergesInto reports whether a local work tree may be merged into a revision: that is a branch, and not a tag, a commit or nothing at all, and
// the work tree is not the default branch itself.
func (r *repositories) mergesInto(ctx context.Context, url, revision string) bool {
	return revision != "" && slices.ContainsFunc(r.local, func(l gitsource.Local) bool {
		return gitsource.Key(l.URL) == gitsource.Key(url) && gitsource.IsBranch(ctx, r.std.env, l.Path, revision) && !gitsource.OnDefault(ctx, r.std.env, l.Path)
	})
}

// elsewhere is what is fetched with the user's own credentials.
type elsewhere struct{ *repositories }

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

// with returns the same repositories at a revision, or with another branch for the work tree.
func (r *repositories) with(revision, branch string) *repositories {
	return &repositories{std: r.std, offline: r.offline, charts: r.charts, flags: r.flags, alone: r.alone, guess: r.guess, revision: revision, branch: branch, foreign: r.foreign}
}

// file reads a file of the work tree as it is at the revision.
func (r *repositories) file(ctx context.Context, name string) ([]byte, error) {
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
func (r *repositories) inside(ctx context.Context, name string) (*tree.View, string, error) {
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

func (r *repositories) close() error {
	r.foreign.Close()
	if r.source == nil {
		return nil
	}
	return errors.Join(r.source.Close(), r.remote.Close())
}
