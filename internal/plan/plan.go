// Package plan knows a boot before it happens: from a root Application to everything that it deploys, directly and through other
// Applications and ApplicationSets, in the order in which Argo CD will do it, and whether each wave really waits for the one before.
//
// It reads repositories and changes nothing. What is not available here makes an Application or a set unknown, and is never taken for
// nothing; broken files, cycles and children of two parents are findings. None of them ends the plan.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
)

// Limits of a plan.
const (
	maxApplications = 50_000
	maxDepth        = 50
)

// New plans the boot of roots: Applications, ApplicationSets and whatever else is applied by hand. Several of them, or one that is not an
// Application, are deployed by an Application that stands for whoever applies them.
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
	// What the tree says about Argo CD itself may change what is rendered.
	if again, ok := l.again(); ok && ctx.Err() == nil {
		first := l
		l = newLoader(ctx, again, roots)
		l.adopted, l.adoptedClusters = cfg.Settings == nil, cfg.Clusters == nil
		l.version = first.version
		first.wait()
		l.run(roots)
	}
	l.wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.decideVersion(cfg.Version)
	l.plan.ProgressiveSyncs = l.progressiveSyncs()
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
			slices.Sort(parents)
			l.find(RuleSeveralParents, app, "several Applications deploy it and overwrite each other's changes: %s",
				strings.Join(parents, ", "))
		}
	}
	sortFindings(l.plan.Findings)
	return l.plan, nil
}

type loader struct {
	ctx     context.Context
	ending  chan struct{} // closed: nothing more is rendered ahead
	working sync.WaitGroup
	cfg     Config
	plan    *Plan
	engine  appset.Engine // of the controller
	strict  appset.Engine // of the plugin, which refuses a set without Applications
	parents map[argo.Ref][]string
	known   map[argo.Ref]*Application
	specs   map[argo.Ref]map[string]any
	noted   map[findingKey]bool // findings
	// found are settings that the plan deploys, clusters those whose Secrets it deploys.
	found *settings.Settings
	// adopted says that the settings are those that an earlier plan has found, adoptedClusters that the clusters are.
	adopted, adoptedClusters bool
	clusters                 generator.ClusterList
	version                  seenVersion // of Argo CD
	progressive              settings.Progressive
	syncTimeout, waveDelay   option
	ready                    map[uintptr]func() rendered // by the spec
	slots                    chan struct{}
	stopped                  bool
	seesSets                 func() bool // whether the health check of sets sees their Applications
}

func newLoader(ctx context.Context, cfg Config, roots []manifest.Document) *loader {
	cfg.Namespace = cmp.Or(cfg.Namespace, manifest.String(roots[0].Object, "metadata", "namespace"), "argocd")
	if cfg.Settings != nil {
		cfg.Loader.BuildOptions, cfg.Loader.ValueFileSchemes = cfg.Settings.BuildOptions, cfg.Settings.ValueFileSchemes
	}
	var clusters generator.Clusters = generator.UnknownClusters{}
	if cfg.Clusters != nil {
		clusters = cfg.Clusters
	}
	strict := appset.Embedded{Clusters: clusters, Git: cfg.Git, APIs: cfg.APIs, Version: cfg.Version}
	lenient := strict
	lenient.AllowEmpty = true
	l := &loader{
		ctx: ctx, ending: make(chan struct{}), cfg: cfg, plan: &Plan{Settings: cfg.Settings}, engine: lenient, strict: strict,
		parents: map[argo.Ref][]string{}, noted: map[findingKey]bool{}, known: map[argo.Ref]*Application{},
		specs: map[argo.Ref]map[string]any{}, syncTimeout: option{Option: settings.SyncTimeout()},
		waveDelay: option{Option: settings.WaveDelay()}, slots: make(chan struct{}, max(runtime.GOMAXPROCS(0), cfg.parallel())),
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

// ApplyName is that of the Application that stands for whoever applies the roots of a plan. No other can have it.
const ApplyName = "kubectl apply"

func (l *loader) run(roots []manifest.Document) {
	if len(roots) == 1 && argo.IsApplication(roots[0].Object) {
		l.plan.Root = l.application(roots[0], "", nil)
		return
	}
	root := &Application{
		Ref:         argo.Ref{Namespace: l.cfg.Namespace, Name: ApplyName},
		Destination: Destination{generator.InClusterServer, l.cfg.Namespace}, Automated: true,
		Applied: true, Position: roots[0].Position,
	}
	l.plan.Root, l.plan.Applications = root, []*Application{root}
	l.items(root, map[string]any{"destination": map[string]any{"server": generator.InClusterServer, "namespace": l.cfg.Namespace}},
		unlocated(roots), nil)
}

// again reports whether the plan must be made once more, because of what it deploys, and with what.
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
	message := fmt.Sprintf(format, args...)
	f := Finding{Rule: rule, Subject: app.Name, Position: app.Position, Origin: app.Origin, Message: message}
	if at, ok := locate(message); ok {
		f.Position = at
	}
	l.note(f)
}

// note adds a finding, once.
func (l *loader) note(f Finding) {
	if key := f.key(); !l.noted[key] {
		l.noted[key] = true
		l.plan.Findings = append(l.plan.Findings, f)
	}
}

// newApplication reads what an Application says about itself.
func (l *loader) newApplication(d manifest.Document, origin string) *Application {
	o := d.Object
	app := &Application{
		Ref:      argo.Ref{Namespace: manifest.String(o, "metadata", "namespace"), Name: manifest.String(o, "metadata", "name")},
		Project:  manifest.String(o, "spec", "project"),
		Position: d.Position, Origin: origin, Object: o,
	}
	app.Namespace = cmp.Or(app.Namespace, l.cfg.Namespace)
	app.Destination = newDestination(manifest.Map(o, "spec"))
	app.Needs = argo.Dependencies(o)
	automated, _ := manifest.Map(o, "spec", "syncPolicy")["automated"].(map[string]any)
	enabled, stated := automated["enabled"].(bool)
	app.Automated = automated != nil && (enabled || !stated)
	app.Retry = newRetry(manifest.Map(o, "spec", "syncPolicy", "retry"))
	return app
}

// application plans one Application. Its ancestors are those that it is deployed by, origin says which set has generated it.
func (l *loader) application(d manifest.Document, origin string, ancestors []argo.Ref) *Application {
	app := l.newApplication(d, origin)
	spec := manifest.Map(d.Object, "spec")
	if i := slices.Index(ancestors, app.Ref); i >= 0 {
		app.Itself = true
		if !samePlaces(l.specs[app.Ref], spec) {
			l.find(RuleNameTwice, app,
				"%s: it has the name of the Application that deploys it, and another source: the sync of that one replaces it by this one",
				d.Position)
		} else if i < len(ancestors)-1 { // a root that contains itself is a custom
			l.find(RuleCycle, app, "it deploys its own parent: %s", chain(append(slices.Clip(ancestors[i:]), app.Ref)))
		}
		return app
	}
	if len(ancestors) > 0 {
		by := ancestors[len(ancestors)-1].Name
		if by != ApplyName && !slices.Contains(l.parents[app.Ref], by) {
			l.parents[app.Ref] = append(l.parents[app.Ref], by)
		}
	}
	if known := l.known[app.Ref]; known != nil {
		if !reflect.DeepEqual(l.specs[app.Ref], spec) {
			rule := RuleNameTwice
			if len(l.parents[app.Ref]) == 0 && l.plan.Root != nil && l.plan.Root.Applied { // roots may be alternatives
				rule = RuleAlternatives
			}
			l.find(rule, app, "%s: same name, different spec; first defined at %s", d.Position, known.Position)
		}
		return known
	}
	l.known[app.Ref], l.specs[app.Ref] = app, spec
	l.plan.Applications = append(l.plan.Applications, app)
	// The API server would refuse it.
	wrong := argo.Application().Check(argo.KindApplication, map[string]any{"spec": d.Object["spec"]})
	for _, err := range wrong {
		app.Broken = cmp.Or(app.Broken, err.Error())
		l.find(RuleApplicationInvalid, app, "%s: %v", d.Position, err)
	}
	if app.Namespace != l.cfg.Namespace {
		l.find(RuleOtherNamespace, app,
			"it is in namespace %s; Argo CD, which is in %s, watches other namespaces only if application.namespaces lists them",
			app.Namespace, l.cfg.Namespace)
	}
	switch {
	case l.ctx.Err() != nil, len(wrong) > 0:
		return app
	case len(l.plan.Applications) > maxApplications:
		if !l.stopped {
			l.find(RuleTooLarge, app, "there are more than %d Applications; the plan ends here", maxApplications)
		}
		l.stopped, app.Hides = true, true
		return app
	case len(ancestors) > maxDepth:
		l.find(RuleTooLarge, app, "Applications are nested more than %d deep; the plan ends here", maxDepth)
		app.Hides = true
		return app
	}
	if branch := manifest.String(spec, "sourceHydrator", "syncSource", "targetBranch"); branch != "" {
		l.find(RuleHydrated, app, "the dry source is shown; Argo CD deploys what the hydrator has pushed to %s", branch)
	}
	l.deploy(app, spec, append(slices.Clip(ancestors), app.Ref))
	return app
}

// samePlaces reports whether two specs of Applications deploy from the same places, of whichever revision.
func samePlaces(a, b map[string]any) bool {
	places := func(spec map[string]any) (out [][4]string) {
		for _, s := range argo.Sources(manifest.Object{"spec": spec}) {
			out = append(out, [4]string{
				argo.RepositoryKey(manifest.String(s, "repoURL")), path.Clean(manifest.String(s, "path")), manifest.String(s, "chart"),
				manifest.String(s, "plugin", "name"),
			})
		}
		return out
	}
	return slices.Equal(places(a), places(b))
}

func chain(refs []argo.Ref) string {
	var names []string
	for _, r := range refs {
		names = append(names, r.Name)
	}
	return strings.Join(names, " → ")
}

// deploy finds what an Application deploys.
func (l *loader) deploy(app *Application, spec map[string]any, ancestors []argo.Ref) {
	content := l.content(app, spec)
	app.Sources = content.sources
	for _, f := range content.findings {
		l.find(f.rule, app, "%s", f.message)
	}
	app.Broken = cmp.Or(app.Broken, content.broken)
	if content.values != nil {
		app.ArgoCD = true
		l.progressive.LearnValues(content.values)
		l.syncTimeout.learn(app, app.Position, func(o *settings.Option) { o.LearnValues(content.values) })
		l.waveDelay.learn(app, app.Position, func(o *settings.Option) { o.LearnValues(content.values) })
		if s, ok, err := settings.FromValues(content.values); ok && (l.cfg.Settings == nil || l.adopted) {
			l.settings(app, app.Position, s, err)
		}
	}
	l.contentVersion(app, content)
	l.items(app, spec, content.docs, ancestors)
	app.Hides = l.hides(app, spec, len(ancestors) == 1)
}

// DeploysOthers reports whether it deploys Applications.
func (a *Application) DeploysOthers() bool {
	return slices.ContainsFunc(a.Items, func(i *Item) bool { return i.Application != nil || i.Children != nil })
}

// items adds what an Application deploys.
func (l *loader) items(app *Application, spec map[string]any, docs []located, ancestors []argo.Ref) {
	if ancestors == nil {
		ancestors = []argo.Ref{app.Ref}
	}
	docs = l.deployed(app, docs)
	l.prepare(app, docs, spec)
	local, away := l.local(spec), 0
	for _, d := range docs {
		items := l.places(app, d.Document)
		if len(items) == 0 {
			continue
		}
		item := items[0]
		item.Position, item.Repository = d.Position, d.repository
		app.Items = append(app.Items, items...)
		switch {
		case !local && (argo.IsApplication(d.Object) || argo.IsApplicationSet(d.Object)):
			away++
		case argo.IsApplication(d.Object):
			item.Application = l.application(app.in(d.Document), d.origin, ancestors)
			item.Application.pinnedBy(app, d.pinned)
		case argo.IsApplicationSet(d.Object):
			l.set(app, item, d.set, ancestors)
		}
	}
	switch {
	case away > 0 && l.cfg.Clusters == nil:
		app.away = true
		l.find(RuleClusterUnknown, app,
			"it deploys Applications or sets (%d) to the cluster %s, which may be Argo CD's own; they are not planned: say with "+
				"--clusters which cluster that is", away, app.Destination)
	case away > 0:
		l.find(RuleOtherCluster, app,
			"it deploys Applications or sets (%d) to another cluster, %s, whose own Argo CD deploys them; they are not planned", away,
			app.Destination)
	}
	app.sort()
	l.needs(app)
}

// deployed leaves out what Argo CD's settings exclude, and renders sets.
func (l *loader) deployed(app *Application, docs []located) []located {
	var out []located
	for _, d := range docs {
		o := d.Object
		if s := l.plan.Settings; s != nil && s.Excludes(manifest.Group(o), manifest.String(o, "kind"), l.server(app)) {
			l.find(RuleExcluded, app, "%s %s is excluded by Argo CD's settings, and not deployed", manifest.String(o, "kind"),
				manifest.String(o, "metadata", "name"))
			continue
		}
		l.learn(app, d)
		if argo.IsApplicationSet(o) {
			d.set = l.render(d.Document)
		}
		out = append(out, d)
	}
	return out
}

// places reads the places of an object in the order: a hook can have several, what is not deployed has none.
func (l *loader) places(app *Application, d manifest.Document) []*Item {
	o := d.Object
	phases, wave, problem := order.Place(o)
	var out []*Item
	for _, phase := range phases {
		out = append(out, &Item{
			Group: manifest.Group(o), Kind: manifest.String(o, "kind"), Namespace: manifest.String(o, "metadata", "namespace"),
			Name: cmp.Or(manifest.String(o, "metadata", "name"), manifest.String(o, "metadata", "generateName")+"*"), Phase: phase,
			Wave: wave, Hook: order.IsHook(o), Object: o,
		})
	}
	if len(out) > 0 && problem != "" {
		l.find(RuleWaveNotANumber, app, "%s: %s %s: %s", d.Position, out[0].Kind, out[0].Name, problem)
	}
	return out
}
