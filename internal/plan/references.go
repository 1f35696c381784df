package plan

import (
	"cmp"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo/order"
)

// Named names an object by the kind and the name that another object has for it.
type Named struct{ Group, Kind, Namespace, Name string }

func (n Named) String() string { return n.Kind + " " + n.Name }

// Reference is something that an object names and does not work without: a claim and its StorageClass, a Pod and its Secret.
type Reference struct {
	Named
	App  *Application
	Item *Item
	// Field is where the item names it.
	Field []string
	// By is its first provider; the zero Place if there is none. Later says that no provider is in time.
	By    Place
	Later bool
	// At is the Application below which the item and By are in different waves, those of User and of Other. It is set if Later is.
	At          *Application
	User, Other *Item
	// Holds says that By waits for the item: a deadlock. It is set only if Later is. InDoubt says that this depends on unknown settings of
	// Argo CD; Holds is false then.
	Holds, InDoubt bool
	// Blocks says that something waits until the item is healthy.
	Blocks bool
	// Exists says that the cluster has it, according to the caller. Unknown says why it may be deployed if By is zero; "" if it cannot be.
	Exists  bool
	Unknown string
}

// Place is an item of an Application; without an item, the Application itself.
type Place struct {
	App  *Application
	Item *Item
}

// inCluster is an object of a cluster.
type inCluster struct {
	cluster string
	Named
}

// references finds the objects that others name, with their providers, and when these are deployed.
func (p *prerequisites) references() []Reference {
	providers := map[inCluster][]place{}
	for _, app := range p.plan.Applications {
		cluster := p.server(app)
		for _, item := range app.Items {
			for _, n := range brings(item) {
				key := inCluster{cluster, settle(n, app.namespace())}
				providers[key] = append(providers[key], place{app, item})
			}
		}
	}
	var out []Reference
	seen := map[Named]bool{}
	for _, app := range p.plan.Applications {
		if app.Applied {
			continue
		}
		cluster := p.server(app)
		for _, item := range app.Items {
			if item.Phase == SyncFail {
				continue
			}
			clear(seen)
			for _, l := range linksOf(item) {
				n := settle(l.Named, app.spaceOf(item))
				if _, ok := nameable[[2]string{n.Group, n.Kind}]; !ok || seen[n] {
					continue
				}
				seen[n] = true
				r := Reference{Named: n, App: app, Item: item, Field: l.field, Blocks: p.holds(app, item)}
				p.bring(&r, place{app, item}, providers[inCluster{cluster, n}])
				if r.By.App == nil {
					r.Exists = p.cfg.ExistsAll || p.cfg.exists(Thing{What: n.Kind, Name: n.Name})
					r.Unknown = p.whoMay(cluster)
				}
				out = append(out, r)
			}
		}
	}
	return out
}

// settle gives a name the namespace that it means, none for kinds that are not namespaced.
func settle(n Named, namespace string) Named {
	if nameable[[2]string{n.Group, n.Kind}] {
		n.Namespace = cmp.Or(n.Namespace, namespace)
	} else {
		n.Namespace = ""
	}
	return n
}

// bring sets the provider of a reference, and whether it comes too late.
func (p *prerequisites) bring(r *Reference, user place, providers []place) {
	for i, provider := range providers {
		when, m := p.when(&demand{Thing: Thing{What: ThingNamespace}}, user, provider)
		if when == inTime {
			*r = Reference{Named: r.Named, App: r.App, Item: r.Item, Field: r.Field, Blocks: r.Blocks, By: Place{
				provider.app,
				provider.item,
			}}
			return
		}
		if i == 0 {
			r.By, r.Later, r.At, r.User, r.Other = Place{provider.app, provider.item}, true, m.app, m.user, m.other
			r.Holds, r.InDoubt = p.waitsUp(user, m.app)
		}
	}
}

// waitsUp reports whether an Application waits until an item is healthy: all items on the way to it are waited for. It may be in doubt
// because of settings that are not known.
func (p *prerequisites) waitsUp(user place, app *Application) (waits, inDoubt bool) {
	for _, at := range slices.Backward(p.way(user)) {
		switch {
		case at.item == nil || !at.item.Waits && !at.item.InDoubt:
			return false, false
		case at.item.InDoubt:
			inDoubt = true
		}
		if at.app == app {
			return !inDoubt, inDoubt
		}
	}
	return false, false
}

// whoMay says why a missing object may still be deployed to the cluster; "" if it cannot be.
func (p *prerequisites) whoMay(cluster string) string {
	unknown := slices.Concat(p.unknown[cluster], p.unknown[""])
	switch {
	case len(unknown) > 0:
		return some(unknown) + " may deploy it, from sources that are not known completely"
	case p.makers[cluster] != "":
		return p.makers[cluster] + " may deploy it"
	case !p.resolved(cluster):
		return "the cluster may have another name"
	}
	return ""
}

// At says when an item is deployed.
func (i *Item) At() string { return order.Position(i.Phase, i.Wave) }
