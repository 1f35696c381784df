package plan

import (
	"cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// items adds the objects that an Application deploys.
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
			if order.IsPostDelete(d.Object) {
				hook := manifest.String(d.Object, "kind") + " " + manifest.String(d.Object, "metadata", "name")
				app.DeleteHooks = append(app.DeleteHooks, hook)
			}
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
			"it deploys Applications or sets (%d) to the cluster %s, which may be Argo CD's own; they are not planned: list the "+
				"clusters with --clusters", away, app.Destination)
	case away > 0:
		l.find(RuleOtherCluster, app,
			"it deploys Applications or sets (%d) to another cluster, %s, whose own Argo CD deploys them; they are not planned", away,
			app.Destination)
	}
	app.sort()
	l.needs(app)
}

// deployed drops the objects that Argo CD's settings exclude, and renders sets.
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

// places returns the items of an object, one for each phase: a hook can have several, an object that is not deployed has none.
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
		l.findAt(RuleWaveNotANumber, app, d.Position, "%s %s: %s", out[0].Kind, out[0].Name, problem)
	}
	return out
}
