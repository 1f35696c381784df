package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
)

// ParseThing reads GROUP/KIND, Namespace/NAME, AppProject/NAME, or KIND/NAME of something else that objects name, such as a StorageClass.
// It is a thing of every cluster.
func ParseThing(text string) (Thing, error) {
	what, name, _ := strings.Cut(text, "/")
	_, err := path.Match(text, "")
	switch {
	case name == "" || strings.Contains(name, "/") || err != nil:
	case what == ThingNamespace || what == ThingProject || isNamed(what):
		return Thing{What: what, Name: name}, nil
	case strings.Contains(what, ".") && (name[0] >= 'A' && name[0] <= 'Z' || name[0] == '*'):
		return Thing{What: ThingKind, Name: text}, nil
	}
	return Thing{}, fmt.Errorf("%q must be GROUP/KIND, such as cert-manager.io/Certificate, Namespace/NAME, AppProject/NAME or "+
		"StorageClass/NAME", text)
}

// exists reports whether a thing exists before the boot, by Config.Exists, whose names may be patterns.
func (c *Config) exists(t Thing) bool {
	return slices.ContainsFunc(c.Exists, func(e Thing) bool {
		if e.What != t.What || e.Cluster != "" && e.Cluster != t.Cluster {
			return false
		}
		matched, _ := path.Match(e.Name, t.Name)
		return matched || e.Name == t.Name
	})
}

// place is an item of an Application; without an item, the Application itself.
type place struct {
	app  *Application
	item *Item
}

// demand is a thing and the Applications that need it, each with its first item that does.
type demand struct {
	Thing
	users []place
	items []*Item
	// unchecked are users whose syncs begin without the thing.
	unchecked map[*Application]bool
}

// prerequisites collects the things that a plan needs, and those that it provides.
type prerequisites struct {
	*loader
	providers map[Thing][]place
	demands   map[Thing]*demand
	inOrder   []*demand
	doubts    []*doubt
	// scopes are whether custom kinds are namespaced, made are kinds that controllers make from objects of the plan, by cluster, and makers
	// those that may make any.
	scopes map[string]bool
	made   map[Thing]bool
	makers map[string]string
	// unknown are Applications and sets that may deploy more to a cluster; those of "" to any. hiding are those that may have projects.
	unknown   map[string][]string
	hiding    []string
	broken    []string
	deployers map[*Application]place
	objects   map[string][]*Item // by cluster: StorageClasses and claims
	// permitted are destinations that projects permit, or not: project, server, name of the cluster, namespace.
	permitted map[[4]string]bool
	rules     argo.Installation // of projects
}

// prerequisites finds the things that must exist before others can be deployed, their providers, and those that come too late.
func (l *loader) prerequisites() {
	p := &prerequisites{
		loader: l, providers: map[Thing][]place{}, demands: map[Thing]*demand{}, scopes: map[string]bool{}, made: map[Thing]bool{},
		makers: map[string]string{}, unknown: map[string][]string{},
		deployers: map[*Application]place{}, objects: map[string][]*Item{}, permitted: map[[4]string]bool{},
	}
	for _, app := range l.plan.Applications {
		p.collect(app)
	}
	for _, app := range l.plan.Applications {
		if !app.Applied {
			p.requirements(app)
		}
	}
	for _, d := range p.inOrder {
		p.judge(d)
	}
	p.doubtful()
	p.permissions()
	p.volumes()
	l.plan.References = p.references()
}

// collect records the things that an Application provides, and its unknown parts.
func (p *prerequisites) collect(app *Application) {
	cluster := p.server(app)
	p.gap(app, cluster)
	for _, item := range app.Items {
		for _, child := range append(slices.Clone(item.Children), item.Application) {
			if child != nil && !child.Itself && p.deployers[child].app == nil && child != p.plan.Root {
				p.deployers[child] = place{app, item}
			}
		}
		if item.Unknown != "" && !item.Broken {
			p.unknown[""], p.hiding = append(p.unknown[""], item.Name), append(p.hiding, item.Name)
		}
		p.provide(app, item, cluster)
	}
	if namespace := app.namespace(); namespace != "" && app.hasOption("CreateNamespace=true") {
		t := Thing{ThingNamespace, cluster, namespace}
		app.Provides = append(app.Provides, t)
		p.providers[t] = append(p.providers[t], place{app, nil})
	}
}

// gap records an Application that may deploy more than the plan has. Argo CD deploys nothing of a broken one.
func (p *prerequisites) gap(app *Application, cluster string) {
	if app.Verdict() == source.Broken {
		p.broken = append(p.broken, app.Name)
		return
	}
	if app.Hides {
		p.unknown[""], p.hiding = append(p.unknown[""], app.Name), append(p.hiding, app.Name)
		return
	}
	if app.Verdict() == source.Known {
		return
	}
	p.unknown[cluster] = append(p.unknown[cluster], app.Name)
	if app.namespace() == p.cfg.Namespace && cluster == argo.InClusterServer {
		p.hiding = append(p.hiding, app.Name)
	}
}

// hasOption reports whether an Application has a sync option.
func (a *Application) hasOption(option string) bool {
	options, _ := manifest.Map(a.Object, "spec", "syncPolicy")["syncOptions"].([]any)
	return slices.Contains(options, any(option))
}

// provide records the thing that an item provides.
func (p *prerequisites) provide(app *Application, item *Item, cluster string) {
	o := item.Object
	var t Thing
	switch {
	case order.IsNamespace(o):
		t = Thing{ThingNamespace, cluster, item.Name}
	case order.DefinedKind(o) != "":
		t = Thing{ThingKind, cluster, order.DefinedKind(o)}
		p.scopes[t.Name] = manifest.String(o, "spec", "scope") != "Cluster"
	case argo.IsAppProject(o):
		if cluster != argo.InClusterServer || app.spaceOf(item) != p.cfg.Namespace {
			return
		}
		t = Thing{ThingProject, cluster, item.Name}
	default:
		p.controllers(item, cluster)
		return
	}
	item.Provides = append(item.Provides, t)
	p.providers[t] = append(p.providers[t], place{app, item})
}

// controllers notes kinds that a controller makes from an object, and objects from which it may make any.
func (p *prerequisites) controllers(item *Item, cluster string) {
	o, kind := item.Object, item.Group+"/"+item.Kind
	switch kind {
	case "storage.k8s.io/StorageClass", "/PersistentVolumeClaim":
		p.objects[cluster] = append(p.objects[cluster], item)
	case "templates.gatekeeper.sh/ConstraintTemplate":
		p.made[Thing{ThingKind, cluster, "constraints.gatekeeper.sh/" + manifest.String(o, "spec", "crd", "spec", "names", "kind")}] = true
	case "apiextensions.crossplane.io/CompositeResourceDefinition":
		for _, names := range []string{"names", "claimNames"} {
			p.made[Thing{ThingKind, cluster, manifest.String(o, "spec", "group") + "/" + manifest.String(o, "spec", names, "kind")}] = true
		}
	case "operators.coreos.com/Subscription", "olm.operatorframework.io/ClusterExtension", "pkg.crossplane.io/Provider",
		"pkg.crossplane.io/Configuration", "helm.cattle.io/HelmChart",
		"helm.toolkit.fluxcd.io/HelmRelease", "kustomize.toolkit.fluxcd.io/Kustomization", "kro.run/ResourceGraphDefinition",
		"operator.cluster.x-k8s.io/InfrastructureProvider":
		p.makers[cluster] = item.Kind + " " + item.Name
	}
}

// spaceOf is the namespace that an item is deployed to, if its kind is namespaced.
func (a *Application) spaceOf(item *Item) string {
	if item.Namespace != "" {
		return item.Namespace
	}
	return a.namespace()
}

// namespaced reports whether the kind of an item is namespaced, and whether that is known.
func (p *prerequisites) namespaced(item *Item) (namespaced, known bool) {
	switch {
	case order.ClusterScoped(item.Group, item.Kind):
		return false, true
	case order.BuiltIn(item.Group) || order.OfArgoCD(item.Group, item.Kind):
		return true, true
	}
	namespaced, known = p.scopes[item.Group+"/"+item.Kind]
	return namespaced, known
}

// requirements records the things that the items of an Application need and that do not exist before the boot.
func (p *prerequisites) requirements(app *Application) {
	cluster, own := p.server(app), map[string]bool{}
	for _, item := range app.Items {
		if kind := order.DefinedKind(item.Object); kind != "" {
			own[kind] = true
		}
	}
	if name := app.Project; name != "" && name != argo.DefaultProject {
		p.need(Thing{ThingProject, argo.InClusterServer, name}, place{app, nil})
	}
	skips := app.hasOption(skipDryRun)
	for _, item := range app.Items {
		kind := item.Group + "/" + item.Kind
		// An unknown cluster may be Argo CD's own.
		ofArgoCD := order.OfArgoCD(item.Group, item.Kind) && (cluster == argo.InClusterServer || !p.resolved(cluster))
		if !order.BuiltIn(item.Group) && !ofArgoCD {
			item.Unchecked = skips || own[kind] || order.HasOption(item.Object, skipDryRun)
			p.need(Thing{ThingKind, cluster, kind}, place{app, item})
		}
		if namespaced, known := p.namespaced(item); known && namespaced && app.spaceOf(item) != "" {
			p.need(Thing{ThingNamespace, cluster, app.spaceOf(item)}, place{app, item})
		}
	}
}

// skipDryRun is the sync option by which a sync begins although a kind is missing.
const skipDryRun = "SkipDryRunOnMissingResource=true"

func (p *prerequisites) need(t Thing, by place) {
	if p.isThere(t) || slices.Contains(by.app.Provides, t) {
		return
	}
	d := p.demands[t]
	if d == nil {
		d = &demand{Thing: t, unchecked: map[*Application]bool{}}
		p.demands[t] = d
		p.inOrder = append(p.inOrder, d)
	}
	if by.item != nil {
		d.items = append(d.items, by.item)
	}
	if n := len(d.users); n == 0 || d.users[n-1].app != by.app {
		d.users = append(d.users, by)
		d.unchecked[by.app] = true
	}
	if t.What == ThingKind && !by.item.Unchecked {
		d.unchecked[by.app] = false
	}
}

// isThere reports whether a thing is there at the beginning.
func (p *prerequisites) isThere(t Thing) bool {
	if p.cfg.exists(t) {
		return true
	}
	if t.What != ThingNamespace {
		return false
	}
	return t.Cluster == argo.InClusterServer && t.Name == p.cfg.Namespace ||
		slices.Contains([]string{"default", "kube-system", "kube-public", "kube-node-lease"}, t.Name)
}

// resolved reports whether a cluster is known by its address. Others may be one cluster under two names.
func (p *prerequisites) resolved(cluster string) bool {
	return cluster == argo.InClusterServer || slices.ContainsFunc(p.cfg.Clusters, func(c generator.Cluster) bool {
		return c.Server == cluster
	})
}
