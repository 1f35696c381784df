package simulate

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/plan"
)

// prepare makes the state of an Application and of all that it deploys. Own is the item that it is, or the set that makes it.
func (s *simulation) prepare(p *plan.Application, parent *app, own *item, number int) *app {
	if a := s.apps[p]; a != nil {
		return a
	}
	a := &app{
		Run: &Run{
			Name: s.names[p], Wave: number, Created: -1, Started: -1, Synced: -1, Healthy: -1, Objects: len(p.Items),
			applied: p.Applied, byHand: !p.Automated && parent != nil, Broken: p.Broken,
		},
		plan: p, parent: parent, health: health.Missing,
	}
	a.leaf = true
	if parent != nil {
		a.Parent, a.Depth = parent.Name, parent.Depth+1
		parent.leaf = false
		if own.Children != nil {
			a.Set, a.set, a.Awaited = own.Name, own, own.Waits && own.Awaits
		} else {
			a.waits, a.phase = own.Waits, own.Phase
		}
	}
	s.apps[p], s.refs[p.Ref] = a, a
	s.boot.Runs = append(s.boot.Runs, a.Run)
	s.boot.by[a.Name] = a.Run
	for _, w := range p.Waves() {
		if w.Phase == plan.SyncFail { // it has no place in the order of waves
			a.several = true
			continue
		}
		next := wave{phase: w.Phase, number: w.Wave}
		for _, i := range w.Items {
			x := s.item(a, i)
			next.items, next.hooks = append(next.items, x), next.hooks || i.Hook
		}
		a.waves = append(a.waves, next)
	}
	a.several = a.several || len(a.waves) > 1
	unknown := slices.ContainsFunc(p.Sources, func(s plan.Source) bool { return s.Unknown != "" })
	if unknown || len(s.faults[a.Name]) > 0 && !slices.ContainsFunc(a.items, func(x *item) bool {
		return x.checked && x.Application == nil && workload(x.Kind)
	}) {
		// An Application with an unknown source, or with a fault and no workload, gets one placeholder workload.
		kind := AssumedWorkload
		if unknown {
			kind = UnknownContent
		}
		x := s.item(a, &plan.Item{Kind: kind, Name: a.Name, Phase: plan.Sync, Waits: true})
		if len(a.waves) == 0 {
			a.waves = []wave{{phase: plan.Sync}}
		}
		last := &a.waves[len(a.waves)-1]
		last.items = append(last.items, x)
	}
	for _, x := range a.items {
		i := x.Item
		if i.Application != nil {
			if x.child = s.refs[i.Application.Ref]; x.child == nil {
				x.child = s.prepare(i.Application, a, x, i.Wave)
			}
			x.child.shown = append(x.child.shown, x)
		}
		for _, c := range i.Children {
			if !c.Itself {
				s.prepare(c, a, x, i.Wave)
			}
		}
	}
	return a
}

func (s *simulation) item(a *app, i *plan.Item) *item {
	x := &item{Item: i, app: a, health: health.Missing, checked: i.Waits || i.Children != nil && !a.plan.Applied}
	if !x.checked {
		x.health = none
	}
	a.items, s.items[i] = append(a.items, x), x
	for _, c := range i.Consumers {
		s.claims[c] = append(s.claims[c], x)
	}
	return x
}

// Names returns the name of each Application, with NAMESPACE/ in front if several have the same name.
func Names(p *plan.Plan) map[*plan.Application]string {
	refs := make([]argo.Ref, len(p.Applications))
	for i, a := range p.Applications {
		refs[i] = a.Ref
	}
	out := map[*plan.Application]string{}
	for i, name := range argo.Names(refs) {
		out[p.Applications[i]] = name
	}
	return out
}
