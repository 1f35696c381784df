// Package plan predicts a boot: from a root Application to everything that it deploys, directly and through other
// Applications and ApplicationSets, in the order in which Argo CD will do it, and whether each wave really waits for the one before.
//
// It reads repositories and changes nothing. Unavailable content makes an Application or a set unknown, and never counts as empty; broken
// files, cycles and children of two parents are findings. None of them ends the plan.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
)

// Limits of a plan.
const (
	maxApplications = 50_000
	maxDepth        = 50
)

// New plans the boot of roots: Applications, ApplicationSets and other objects that are applied by hand. Several roots, or a root that is
// no Application, are deployed by an Application named ApplyName, which stands for the manual apply.
func New(ctx context.Context, cfg Config, roots ...manifest.Document) (*Plan, error) {
	if len(roots) == 0 {
		return nil, errors.New("there is no root to plan")
	}
	if !slices.ContainsFunc(roots, func(d manifest.Document) bool {
		return argo.IsApplication(d.Object) || argo.IsApplicationSet(d.Object)
	}) {
		o := roots[0].Object
		return nil, fmt.Errorf("%s: it must be an Application or an ApplicationSet of %s, it is %s of %q", roots[0].Position, argo.Group,
			manifest.String(o, "kind"), manifest.String(o, "apiVersion"))
	}
	if cfg.Cache == nil {
		cfg.Cache = &Cache{}
	}
	l := newLoader(ctx, cfg, roots)
	l.run(roots)
	// Settings of Argo CD in the tree may change how sources render.
	if again, ok := l.again(); ok && ctx.Err() == nil {
		first := l
		l = newLoader(ctx, again, roots)
		l.adopted, l.adoptedClusters = cfg.Settings == nil, cfg.Clusters == nil
		l.version = first.version
		first.ahead.End() // waits for renderings that run, because others share them
		l.run(roots)
	}
	l.ahead.End()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.decideVersion(cfg.Version)
	l.plan.ProgressiveSyncs, l.plan.SetPolicy = l.progressiveSyncs(), l.setPolicy()
	l.plan.SyncTimeout, l.plan.WaveDelay = l.syncTimeout.said, l.waveDelay.said
	if s := l.cfg.Settings; s != nil && s.SyncTimeout != "" {
		l.plan.SyncTimeout = &Said{Value: s.SyncTimeout, App: l.plan.Root, Position: l.plan.Root.Position}
	}
	l.plan.Clusters, l.plan.ClustersKnown = l.cfg.Clusters, l.cfg.Clusters != nil && !l.adoptedClusters
	l.gates()
	l.controllers()
	l.advise()
	l.unordered()
	l.rollouts()
	l.prerequisites()
	for _, app := range l.plan.Applications {
		if parents := l.parents[app.Ref]; len(parents) > 1 {
			l.find(RuleSeveralParents, app, "several Applications deploy it and overwrite each other's changes: %s",
				strings.Join(slices.Sorted(slices.Values(argo.Names(parents))), ", "))
		}
	}
	sortFindings(l.plan.Findings)
	return l.plan, nil
}

type loader struct {
	ctx     context.Context
	ahead   *flight.Ahead // renders sources
	cfg     Config
	plan    *Plan
	engine  appset.Engine // of the controller
	strict  appset.Engine // of the plugin, which refuses a set without Applications
	parents map[argo.Ref][]argo.Ref
	known   map[argo.Ref]*Application
	specs   map[argo.Ref]map[string]any
	noted   map[findingKey]bool // findings
	// found are settings that the plan deploys, clusters those whose Secrets it deploys.
	found *settings.Settings
	// adopted says that the settings were found by an earlier pass, adoptedClusters that the clusters were.
	adopted, adoptedClusters bool
	clusters                 generator.ClusterList
	version                  seenVersion // of Argo CD
	progressive              settings.Progressive
	syncTimeout, waveDelay   option
	ready                    map[uintptr]func() rendered // by the spec
	stopped                  bool
	seesSets                 func() bool // whether the health check of sets sees their Applications
}

func newLoader(ctx context.Context, cfg Config, roots []manifest.Document) *loader {
	cfg.Namespace = cmp.Or(cfg.Namespace, manifest.String(roots[0].Object, "metadata", "namespace"), argo.DefaultNamespace)
	if cfg.Settings != nil {
		cfg.Loader.BuildOptions, cfg.Loader.ValueFileSchemes = cfg.Settings.BuildOptions, cfg.Settings.ValueFileSchemes
		cfg.Loader.KustomizeVersions = cfg.Settings.KustomizeVersions
	}
	var clusters generator.Clusters = generator.UnknownClusters{}
	if cfg.Clusters != nil {
		clusters = cfg.Clusters
	}
	strict := appset.Embedded{Clusters: clusters, Git: cfg.Git, APIs: cfg.APIs, Version: cfg.Version}
	lenient := strict
	lenient.AllowEmpty = true
	l := &loader{
		ctx: ctx, ahead: flight.NewAhead(max(flight.Processors(), cfg.parallel())), cfg: cfg,
		plan:   &Plan{Settings: cfg.Settings, Namespace: cfg.Namespace},
		engine: lenient, strict: strict,
		parents: map[argo.Ref][]argo.Ref{}, noted: map[findingKey]bool{}, known: map[argo.Ref]*Application{},
		specs: map[argo.Ref]map[string]any{}, syncTimeout: option{Option: settings.SyncTimeout()},
		waveDelay: option{Option: settings.WaveDelay()},
	}
	if cfg.Settings != nil {
		l.seeVersion(nil, fromSettings, cfg.Settings.Version, cfg.Settings.Origin)
	}
	return l
}

// parallel is how many sources are rendered at a time: more if some of them are fetched.
func (c Config) parallel() int {
	if c.Loader.Remote != nil {
		return 8
	}
	return 2
}

// ApplyName is the name of the Application that stands for the manual apply of a plan's roots. No real Application can have it.
const ApplyName = "kubectl apply"

func (l *loader) run(roots []manifest.Document) {
	if len(roots) == 1 && argo.IsApplication(roots[0].Object) {
		l.plan.Root = l.application(roots[0], "", nil)
		return
	}
	root := &Application{
		Ref:         argo.Ref{Namespace: l.cfg.Namespace, Name: ApplyName},
		Destination: Destination{argo.InClusterServer, l.cfg.Namespace}, Automated: true,
		Applied: true, Position: roots[0].Position,
	}
	l.plan.Root, l.plan.Applications = root, []*Application{root}
	l.items(root, map[string]any{"destination": map[string]any{"server": argo.InClusterServer, "namespace": l.cfg.Namespace}},
		unlocated(roots), nil)
}

// again reports whether the plan must be made again with the settings, clusters or version that it deploys, and returns the new Config.
func (l *loader) again() (Config, bool) {
	cfg, again := l.cfg, false
	if cfg.Settings == nil && l.found != nil {
		cfg.Settings, again = l.found, true // sources that are the same come from the cache
	}
	if cfg.Clusters == nil && l.clusters != nil {
		cfg.Clusters, again = l.clusters, true
	}
	if v := l.version.nearest(); cfg.Version == 0 && v != 0 {
		again = again || v != versions.Newest
		cfg.Version = v
	}
	return cfg, again
}

// find notes something about an Application.
func (l *loader) find(rule Rule, app *Application, format string, args ...any) {
	l.note(Finding{Rule: rule, Subject: app.Name, Position: app.Position, Origin: app.Origin, Message: fmt.Sprintf(format, args...)})
}

// findAt notes something about an Application that is at a position, which the message begins with.
func (l *loader) findAt(rule Rule, app *Application, at manifest.Position, format string, args ...any) {
	l.note(Finding{
		Rule: rule, Subject: app.Name, Position: at, Origin: app.Origin, Message: at.String() + ": " + fmt.Sprintf(format, args...),
	})
}

// problems adds findings for the problems of an Application's sources: at the file of the repository, or else, also for fetched content, at
// the Application.
func (l *loader) problems(app *Application, list []found) {
	for _, p := range list {
		f := Finding{Rule: p.rule, Subject: app.Name, Position: app.Position, Origin: app.Origin, Message: p.message}
		if f.Topic = p.topic; p.field != "" {
			f.Field = append([]string{"spec", "source"}, strings.Split(p.field, ".")...)
		} else if p.at.File != "" && !strings.Contains(p.at.File, "://") {
			f.Position = p.at
			f.Position.Number, f.Position.Item = 0, "" // a line, not a document
		}
		l.note(f)
	}
}

// note adds a finding, once.
func (l *loader) note(f Finding) {
	if key := f.key(); !l.noted[key] {
		l.noted[key] = true
		l.plan.Findings = append(l.plan.Findings, f)
	}
}
