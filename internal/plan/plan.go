// Package plan knows a boot before it happens: from a root Application to everything that it deploys, directly and through other
// Applications and ApplicationSets, in the order in which Argo CD will do it, and whether each wave really waits for the one before.
//
// It works on what is in repositories at hand, and changes nothing. What cannot be known that way, such as a remote chart, is
// said where it is; broken files, cycles and children of two parents are findings. None of them ends the plan.
package plan

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Tree is a repository at a revision.
type Tree interface {
	Select(ctx context.Context, wanted tree.Selection) ([]tree.File, error)
}

// Config is what a plan is made with.
type Config struct {
	// Open opens a repository; an error says why it is not at hand.
	Open func(ctx context.Context, url, revision string) (Tree, error)
	// Engine renders ApplicationSets, Strict those of the plugin, which refuses one without Applications; nil is Engine.
	Engine, Strict appset.Engine
	// Namespace is Argo CD's.
	Namespace string
	// Sets is who renders ApplicationSets; "" is who does as it stands.
	Sets string
	// Customizations are health checks of Argo CD's settings. Nil are those that the plan itself deploys.
	Customizations health.Customizations
}

// Who may render ApplicationSets, whatever the Applications say.
const (
	SetsByController = "controller" // Argo CD's applicationset-controller
	SetsByPlugin     = "plugin"     // the plugin appset
)

// Ref names an Application.
type Ref struct{ Namespace, Name string }

// Application is an Application and what it deploys.
type Application struct {
	Ref
	Project     string
	Destination string // cluster/namespace
	Sources     []Source
	Items       []*Item // in the order in which they are deployed
	// Needs are the Applications that it says it needs.
	Needs []string
	// Automated says that Argo CD syncs it without being asked, Retry how often it tries.
	Automated bool
	Retry     Retry
	// Broken says why Argo CD cannot make its manifests, so that it deploys nothing of it; "" is nothing that is known here.
	Broken string
	// Itself says that it is deployed by one that it deploys; its items are there.
	Itself bool

	position manifest.Position
}

// Source is where the manifests of an Application are.
type Source struct {
	Repository, Revision, Path, Chart string
	// Kind is how they are made: directory, kustomize, helm, appset, s3, plugin.
	Kind string
	// Unknown says why they are not known here, "" if they are.
	Unknown string
	// Spec is the source as the Application has it.
	Spec map[string]any
}

// Item is an object that an Application deploys.
type Item struct {
	Group, Kind, Namespace, Name string
	Phase                        string
	Wave                         int
	// Hook says that it is run by a sync, and no part of what the Application is.
	Hook bool
	// Application is set for an Application, Children for the Applications of an ApplicationSet; it is not nil for one.
	Application *Application
	Children    []*Application
	// Unknown says why the Applications of an ApplicationSet are not known, "" if they are.
	Unknown string
	// Position and Repository are where it is, as far as it is in a file as it is.
	Position   manifest.Position
	Repository string
	// Waits says whether the next wave waits until it is healthy, Why what decides that.
	Waits bool
	Why   string
}

// Finding is something that the reader should know.
type Finding struct {
	Subject string // an Application, or a file
	Message string
}

// Plan is a boot.
type Plan struct {
	Root     *Application
	Findings []Finding
	// Applications are all of them, in the order in which they are found.
	Applications []*Application
	// SyncAware says that the health check of Applications also waits for the end of their syncs, SeesBroken that it does not call one
	// healthy whose manifests cannot be made, as Argo CD does.
	SyncAware, SeesBroken bool
}

// Limits of a plan.
const (
	maxApplications = 50_000
	maxDepth        = 50
)

// New plans the boot of a root Application.
func New(ctx context.Context, cfg Config, root manifest.Document) (*Plan, error) {
	l := &loader{ctx: ctx, cfg: cfg, plan: &Plan{}, parents: map[Ref][]string{}, known: map[Ref]*Application{}, specs: map[Ref]map[string]any{}, checks: cfg.Customizations}
	if !argo.IsApplication(root.Object) {
		return nil, fmt.Errorf("%s: it must be an Application of %s, it is %s of %q", root.Position, argo.Group, manifest.String(root.Object, "kind"), manifest.String(root.Object, "apiVersion"))
	}
	l.plan.Root = l.application(root, nil)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.gates()
	l.advise()
	for _, app := range l.plan.Applications {
		if parents := l.parents[app.Ref]; len(parents) > 1 {
			slices.Sort(parents)
			l.find(app.Name, "it is deployed by several, which will take it from each other: %s", strings.Join(parents, ", "))
		}
	}
	return l.plan, nil
}

type loader struct {
	ctx     context.Context
	cfg     Config
	plan    *Plan
	parents map[Ref][]string
	known   map[Ref]*Application
	specs   map[Ref]map[string]any
	checks  health.Customizations
	found   bool // checks were found in what is deployed
	objects map[*Item]manifest.Object
	stopped bool
}

func (l *loader) find(subject, format string, args ...any) {
	l.plan.Findings = append(l.plan.Findings, Finding{subject, fmt.Sprintf(format, args...)})
}

// application plans one Application. Its ancestors are those that it is deployed by.
func (l *loader) application(d manifest.Document, ancestors []Ref) *Application {
	o := d.Object
	app := &Application{Ref: Ref{manifest.String(o, "metadata", "namespace"), manifest.String(o, "metadata", "name")}, Project: manifest.String(o, "spec", "project"), position: d.Position}
	app.Namespace = cmp.Or(app.Namespace, l.cfg.Namespace)
	destination := manifest.Map(o, "spec", "destination")
	app.Destination = cmp.Or(manifest.String(destination, "name"), manifest.String(destination, "server")) + "/" + manifest.String(destination, "namespace")
	app.Needs = argo.Dependencies(o)
	automated, _ := manifest.Map(o, "spec", "syncPolicy")["automated"].(map[string]any)
	enabled, stated := automated["enabled"].(bool)
	app.Automated = automated != nil && (enabled || !stated)
	app.Retry = newRetry(manifest.Map(o, "spec", "syncPolicy", "retry"))
	if i := slices.Index(ancestors, app.Ref); i >= 0 {
		app.Itself = true
		if i < len(ancestors)-1 { // a root that contains itself is a custom
			l.find(app.Name, "it is deployed by one that it deploys: %s", chain(append(slices.Clip(ancestors[i:]), app.Ref)))
		}
		return app
	}
	if len(ancestors) > 0 {
		by := ancestors[len(ancestors)-1].Name
		if !slices.Contains(l.parents[app.Ref], by) {
			l.parents[app.Ref] = append(l.parents[app.Ref], by)
		}
	}
	if known := l.known[app.Ref]; known != nil {
		if !reflect.DeepEqual(l.specs[app.Ref], manifest.Map(o, "spec")) {
			l.find(app.Name, "%s: it is another one of the same name than at %s", d.Position, known.position)
		}
		return known
	}
	l.known[app.Ref], l.specs[app.Ref] = app, manifest.Map(o, "spec")
	// The API server would refuse it.
	wrong := argo.Application().Check(argo.KindApplication, map[string]any{"spec": o["spec"]})
	for i, err := range wrong {
		if i == 0 {
			app.Sources = []Source{{Unknown: err.Error()}}
		}
		l.find(app.Name, "%s: %v", d.Position, err)
	}
	l.plan.Applications = append(l.plan.Applications, app)
	if app.Namespace != l.cfg.Namespace {
		l.find(app.Name, "it is in namespace %s; Argo CD, which is in %s, looks at others only if its settings say so (application.namespaces)", app.Namespace, l.cfg.Namespace)
	}
	switch {
	case l.ctx.Err() != nil, len(wrong) > 0:
		return app
	case len(l.plan.Applications) > maxApplications:
		if !l.stopped {
			l.find(app.Name, "there are more than %d Applications; the plan ends here", maxApplications)
		}
		l.stopped = true
		return app
	case len(ancestors) > maxDepth:
		l.find(app.Name, "Applications are nested more than %d deep; the plan ends here", maxDepth)
		return app
	}
	l.deploy(app, o, append(slices.Clip(ancestors), app.Ref))
	return app
}

func chain(refs []Ref) string {
	var names []string
	for _, r := range refs {
		names = append(names, r.Name)
	}
	return strings.Join(names, " → ")
}

// deploy finds what an Application deploys.
func (l *loader) deploy(app *Application, o manifest.Object, ancestors []Ref) {
	c := &content{loader: l, app: app, spec: manifest.Map(o, "spec")}
	for _, found := range c.load() {
		d := found.Document
		items := l.items(app, d)
		if len(items) == 0 {
			continue
		}
		item := items[0]
		item.Position, item.Repository = d.Position, found.repository
		app.Items = append(app.Items, items...)
		switch {
		case c.remote() && (argo.IsApplication(d.Object) || argo.IsApplicationSet(d.Object)):
			l.find(app.Name, "%s: %s %s is for another cluster (%s), whose own Argo CD deploys it; it is not planned", d.Position, item.Kind, item.Name, app.Destination)
		case argo.IsApplication(d.Object):
			child := d
			if manifest.String(d.Object, "metadata", "namespace") == "" {
				child.Object = manifest.Copy(d.Object).(map[string]any)
				if meta := manifest.Map(child.Object, "metadata"); meta != nil {
					meta["namespace"] = manifest.String(c.spec, "destination", "namespace")
				}
			}
			item.Application = l.application(child, ancestors)
		case argo.IsApplicationSet(d.Object):
			l.set(item, d, ancestors)
		}
	}
	slices.SortStableFunc(app.Items, compare)
	l.needs(app)
}

// needs compares what Applications need with the waves that they are in: without the plugin appset, which assigns waves, the annotation
// alone does nothing.
func (l *loader) needs(app *Application) {
	waves := map[string]int{}
	var order []*Application
	var byHand []string
	for _, item := range app.Items {
		children := item.Children
		if item.Application != nil {
			children = []*Application{item.Application}
		}
		for _, child := range children {
			waves[child.Name] = item.Wave
			order = append(order, child)
			if !child.Automated && !child.Itself && item.Application != nil && app.Items[len(app.Items)-1].Wave > item.Wave {
				byHand = append(byHand, child.Name)
			}
		}
	}
	if len(byHand) > 0 {
		l.find(app.Name, "%s will not be synced automatically, so the waves behind wait until somebody does", strings.Join(byHand, ", "))
	}
	for _, child := range order {
		for _, need := range child.Needs {
			switch wave, ok := waves[need]; {
			case !ok:
				l.find(child.Name, "it needs %s (%s), which %s does not deploy", need, argo.DependsAnnotation, app.Name)
			case wave >= waves[child.Name]:
				l.find(child.Name, "it needs %s (%s), which is in wave %d, and is in wave %d itself, so it does not wait for it", need, argo.DependsAnnotation, wave, waves[child.Name])
			}
		}
	}
}

// set plans the Applications of a set that the controller makes.
func (l *loader) set(item *Item, d manifest.Document, ancestors []Ref) {
	item.Children = []*Application{}
	x := appset.Expansion{Engine: l.cfg.Engine, Namespace: cmp.Or(item.Namespace, l.cfg.Namespace)}
	res, err := x.Expand(l.ctx, []manifest.Document{d})
	if err != nil {
		for _, e := range problem.All(err) {
			item.Unknown = cmp.Or(item.Unknown, e.Error())
			l.find(item.Name, "%v", e)
		}
		return
	}
	for _, o := range res.Objects {
		item.Children = append(item.Children, l.application(manifest.Document{Object: o, Position: d.Position}, ancestors))
	}
}

// items reads the places of an object in the order: a hook can have several, what is not deployed has none.
func (l *loader) items(app *Application, d manifest.Document) []*Item {
	o := d.Object
	phases, wave, problem := place(o)
	var out []*Item
	for _, phase := range phases {
		i := &Item{
			Group: manifest.Group(o), Kind: manifest.String(o, "kind"), Namespace: manifest.String(o, "metadata", "namespace"),
			Name: cmp.Or(manifest.String(o, "metadata", "name"), manifest.String(o, "metadata", "generateName")+"*"), Phase: phase, Wave: wave, Hook: isHook(o),
		}
		if l.objects == nil {
			l.objects = map[*Item]manifest.Object{}
		}
		l.objects[i] = o
		out = append(out, i)
	}
	if len(out) > 0 {
		if problem != "" {
			l.find(app.Name, "%s: %s %s: %s", d.Position, out[0].Kind, out[0].Name, problem)
		}
		l.settings(app, o)
	}
	return out
}
