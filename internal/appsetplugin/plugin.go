// Package appsetplugin is the appset plugin: what it answers for an application that deploys Applications.
//
// The application's parameter "spec" has ApplicationSets, or its directory has: a folder of plain manifests, a Kustomization
// or a chart. Sets are replaced by their Applications, in their place and in their wave; everything else stays. The answer is
// all or nothing, and refused if the policy does not allow one of its Applications, or if it would delete more of the
// Applications that the parent has now than it may.
package appsetplugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Live reads Applications and ApplicationSets of the cluster.
type Live interface {
	// Children returns the Applications that an Application deploys; nil if it does not exist.
	Children(ctx context.Context, parent argo.Ref) (*Children, error)
	// Existing returns the Applications that exist.
	Existing(ctx context.Context, apps []argo.Ref) (map[argo.Ref]bool, error)
	// OwnedBy returns how many Applications each of these ApplicationSets owns. One that owns none is missing.
	OwnedBy(ctx context.Context, sets []argo.Ref) (map[argo.Ref]int, error)
	// Specs returns project and sources of the Applications that exist; of sources only repoURL, chart and targetRevision. Large are those
	// over the size limit.
	Specs(ctx context.Context, apps []argo.Ref) (specs map[argo.Ref]map[string]any, large []argo.Ref, err error)
}

// Children are the Applications that an Application deploys, as its status has them.
type Children struct {
	// Applications are the children that a sync could prune: no hooks.
	Applications []argo.Ref
	// Sets are the ApplicationSets that a sync could prune.
	Sets []argo.Ref
	// Pruned are the Applications that the last sync has deleted, at PrunedAt.
	Pruned   []argo.Ref
	PrunedAt time.Time
	// Remote says that they are in another cluster, which cannot be asked.
	Remote bool
	// Sources is how many sources the Application has. An answer is for one of them.
	Sources int
}

// Config configures the plugin.
type Config struct {
	// Engine returns the engine for a request.
	Engine func(For) appset.Engine
	Policy *policy.Policy
	// Admins are projects whose applications may generate any Application while the policy has no rules for generated Applications.
	Admins []string
	// Live is read before each answer. Nil is no cluster: deletions are not checked.
	Live Live
	// Removals remembers deletions. Nil counts only one answer and the last sync.
	Removals *Removals
	// Now is the time for the guard. It may be nil only if Live is.
	Now func() time.Time
	// Namespace is Argo CD's own.
	Namespace string
	// Commits returns what opens commits for a request. Nil opens none: by "pin: changed" all Applications get the new commit.
	Commits func(For) Commits
	// Compared caches comparisons of commits. Nil caches nothing.
	Compared *Compared
	// Evaluator evaluates what the authors of applications wrote. Nil is Here.
	Evaluator Evaluator
}

// For describes the request being rendered.
type For struct {
	policy.Parent
	Call       argo.Call
	Policy     *policy.Policy
	AllowEmpty bool

	own appset.Read // what the parent follows, if its Applications are pinned
}

// At returns the revision to open for a repository at a revision: if Applications are pinned and the parent follows it, it is the commit of
// the request, whatever the branch is by now.
func (f For) At(url, revision string) string {
	if f.own.Commit != "" && follows(map[string]any{"repoURL": url, "targetRevision": revision}, f.own) {
		return f.own.Commit
	}
	return revision
}

// Request is the request of an application.
type Request struct {
	argo.Call
	// Dir is its directory in the repository.
	Dir string
	// Repository returns the repository.
	Repository func(ctx context.Context) (*tree.View, error)
	// Archive returns the repository as Argo CD sent it. Nil is none.
	Archive func(ctx context.Context) (Archive, error)
	// Doing is called with the next step, for the message after a timeout. Nil is not called.
	Doing func(what string)
}

// Reads reports whether an answer needs the repository.
func Reads(c argo.Call) bool { return c.Parameter(ParameterSpec) == "" }

// Answer is the answer of the plugin.
type Answer struct {
	Objects      []manifest.Object
	Applications int // generated ones
	Warnings     []string
}

// Generate answers a request. The answer has warnings even if there is an error.
func (c Config) Generate(ctx context.Context, r Request) (*Answer, error) {
	if r.Doing == nil {
		r.Doing = func(string) {}
	}
	given, err := ParseParameters(r.Parameter)
	if err != nil {
		return &Answer{}, err
	}
	if c.Evaluator == nil {
		c.Evaluator = Here{}
	}
	p := policy.ParentOf(r.Call, c.Namespace, c.Admins)
	self := argo.Ref{Namespace: p.Namespace, Name: r.App}
	work := For{Parent: p, Call: r.Call, Policy: c.Policy, AllowEmpty: given.AllowEmpty}
	if given.Pins() {
		work.own = own(r.Call)
	}
	res, err := c.Evaluator.Expand(ctx, Evaluation{
		Call: r.Call, Dir: r.Dir, Namespace: c.Namespace, Repository: r.Repository, Archive: r.Archive, Doing: r.Doing,
		Expansion: appset.Expansion{Engine: c.Engine(work), Namespace: self.Namespace, Keep: true, Deployed: true, Pinned: given.Pins()},
	})
	if res == nil {
		res = &appset.Expanded{}
	}
	a := &Answer{Applications: res.Rendered, Warnings: generator.Texts(res.Warnings)}
	switch {
	case err != nil:
		return a, err
	case given.Spec != "" && res.Sets == 0:
		return a, errors.New("parameter spec: there is no ApplicationSet in it, and no spec of one (generators and template)")
	case len(res.Objects) == 0 && !given.AllowEmpty:
		return a, fmt.Errorf("%s: there are no manifests, so the answer would be empty and delete what is there", r.Dir)
	}
	dropped, err := c.Policy.Answer(p, r.Namespace, res.Objects)
	a.Warnings = append(a.Warnings, dropped...)
	if err != nil {
		return a, err
	}
	r.Doing("comparing with the Applications that are there now")
	g := guard{live: c.Live, removals: c.Removals, self: self, limit: given.limit}
	if c.Now != nil {
		g.now = c.Now()
	}
	children, err := g.children(ctx)
	if err == nil {
		err = g.check(ctx, r.Namespace, children, res.Objects)
	}
	if err == nil && !given.PruneSets {
		err = g.sets(ctx, r.Namespace, children, res.Objects)
	}
	if err != nil {
		return a, err
	}
	if given.Pins() {
		r.Doing("pinning Applications to commits")
		pinner := &pinner{config: c, request: r, work: work, mode: given.Pin, self: self, children: children}
		err := pinner.pin(ctx, res)
		a.Warnings = append(a.Warnings, pinner.warnings...)
		if err != nil {
			return a, err
		}
	}
	if g.blind != "" {
		a.Warnings = append(a.Warnings, g.blind)
	}
	a.Objects = res.Objects
	return a, nil
}
