package source

import (
	"context"
	"errors"
	"path"
	"sync/atomic"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// renderOwn renders a source here if it is the user's own, and all that it leads to. Otherwise Request.Foreign renders it. That something
// is fetched for a source is known only when it is: rendering ends there, and begins anew elsewhere.
func renderOwn(ctx context.Context, r Request) *Result {
	foreign := r.Foreign
	if r.foreign() {
		return foreign(ctx, r)
	}
	here := r
	here.Foreign = nil
	if r.Remote == nil {
		return Render(ctx, here)
	}
	inner, end := context.WithCancel(ctx)
	defer end()
	own := &ownOnly{Remote: r.Remote, end: end}
	here.Remote = own
	result := Render(inner, here)
	if own.met.Load() {
		return foreign(ctx, r)
	}
	return result
}

// foreign reports whether a repository of the request was fetched.
func (r Request) foreign() bool {
	if r.View != nil && r.View.Foreign {
		return true
	}
	for _, ref := range r.Refs {
		if ref.View != nil && ref.View.Foreign {
			return true
		}
	}
	return false
}

// ownOnly hands out repositories of the user only. With the first thing that is not the user's own, it ends the rendering.
type ownOnly struct {
	render.Remote
	end context.CancelFunc
	met atomic.Bool
}

var errForeign = errors.New("it is not the user's own")

func (o *ownOnly) stop() error {
	o.met.Store(true)
	o.end()
	return errForeign
}

// Git implements render.Remote.
func (o *ownOnly) Git(ctx context.Context, url, revision string) (*tree.View, error) {
	v, err := o.Remote.Git(ctx, url, revision)
	if err == nil && v.Foreign {
		return nil, o.stop()
	}
	return v, err
}

// File implements render.Remote.
func (o *ownOnly) File(ctx context.Context, url string) ([]byte, error) {
	if _, err := o.Remote.File(ctx, url); err != nil {
		return nil, err
	}
	return nil, o.stop()
}

// Chart implements render.Remote.
func (o *ownOnly) Chart(ctx context.Context, repository, name, version string) ([]tree.File, error) {
	if _, err := o.Remote.Chart(ctx, repository, name, version); err != nil {
		return nil, err
	}
	return nil, o.stop()
}

// Stopped is the result of a stopped rendering: all of the source is unknown, also whether it has Applications.
func Stopped(r Request, why error) *Result {
	j := newJob(context.Background(), r)
	j.dir = path.Clean(manifest.String(r.Spec, "path"))
	kind, err := j.kind()
	if err != nil {
		kind = Directory
	}
	j.noteError(Missing, why)
	return &Result{Kind: kind, Verdict: Unknown, Problems: j.result.Problems, Mentions: true}
}
