package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/gitsource"
)

// repositories answers Git generators. It looks for the repository we stand in when the first of them asks, so that sets
// without any need no Git.
type repositories struct {
	std     stdio
	offline bool
	flags   []gitsource.Local

	once   sync.Once
	source *gitsource.Source
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
		return nil, err
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
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	remotes, err := gitsource.FindRemotes(ctx, r.std.env, dir)
	if err != nil {
		return err
	}
	r.source = gitsource.New(gitsource.Config{
		Local: append(remotes, r.flags...), Offline: r.offline, Env: r.std.env,
		Note: func(line string) { fmt.Fprintln(r.std.err, "note:", line) },
	})
	return nil
}

func (r *repositories) close() error {
	if r.source == nil {
		return nil
	}
	return r.source.Close()
}
