package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/tree"
)

// repositories answers Git generators. It looks for the repository we stand in when the first of them asks, so that sets
// without any need no Git.
type repositories struct {
	std     stdio
	offline bool
	flags   []gitsource.Local
	alone   bool // flags are all; the repository we stand in is not looked for
	// revision answers for all local repositories that have none of their own; "" is the work tree.
	revision string

	once   sync.Once
	source *gitsource.Source
	local  []gitsource.Local
	err    error
}

func newRepositories(std stdio, flags []string, offline bool) (*repositories, error) {
	r := &repositories{std: std, offline: offline}
	for _, flag := range flags {
		l, err := parseRepoFlag(flag)
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
	r.once.Do(func() { r.err = r.open(ctx) })
	if r.err != nil {
		return nil, r.err
	}
	return r.source.Tree(ctx, url, revision)
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
	}
	local := slices.Concat(remotes, r.flags)
	for i := range local {
		local[i].Revision = cmp.Or(local[i].Revision, r.revision)
	}
	r.local = local
	r.source = gitsource.New(gitsource.Config{
		Local: local, Offline: r.offline, Env: r.std.env,
		Note: func(line string) { fmt.Fprintln(r.std.err, "note:", line) },
	})
	return nil
}

// at returns the same repositories at a revision.
func (r *repositories) at(revision string) *repositories {
	return &repositories{std: r.std, offline: r.offline, flags: r.flags, alone: r.alone, revision: revision}
}

// file reads a file of the work tree as it is at the revision.
func (r *repositories) file(ctx context.Context, name string) ([]byte, error) {
	r.once.Do(func() { r.err = r.open(ctx) })
	if r.err != nil {
		return nil, r.err
	}
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	for _, l := range r.local {
		top, err := filepath.Abs(l.Path)
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(top, full)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		t, err := r.source.Tree(ctx, l.URL, "HEAD")
		if err != nil {
			return nil, err
		}
		files, err := t.Select(ctx, tree.Selection{Names: []string{filepath.ToSlash(rel)}})
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s: there is no such file at %s", name, r.revision)
		}
		return files[0].Data, nil
	}
	return nil, fmt.Errorf("%s: it is in none of the local repositories, so it has no revision %s", name, r.revision)
}

func (r *repositories) close() error {
	if r.source == nil {
		return nil
	}
	return r.source.Close()
}
