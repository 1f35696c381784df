package simulate

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/plan"
)

// prepare makes the state of an Application and of all that it deploys.
func (s *simulation) prepare(p *plan.Application, parent *app, own *item, number int, set string) *app {
	if a := s.apps[p]; a != nil {
		return a
	}
	a := &app{
		Run:  &Run{Name: s.names[p], Wave: number, Set: set, Created: -1, Started: -1, Synced: -1, Healthy: -1, Objects: len(p.Items), byHand: !p.Automated && parent != nil, Broken: p.Broken},
		plan: p, parent: parent, own: own, health: Missing,
	}
	a.leaf = true
	if parent != nil {
		a.Parent, a.Depth = parent.Name, parent.Depth+1
		a.waits = own != nil && own.Waits
		if own != nil {
			a.phase = own.Phase
		}
		parent.leaf = false
	}
	s.apps[p] = a
	s.boot.Runs = append(s.boot.Runs, a.Run)
	s.boot.by[a.Name] = a.Run
	for _, w := range p.Waves() {
		if w.Phase == plan.SyncFail {
			continue // nothing comes after it
		}
		next := wave{phase: w.Phase, number: w.Wave}
		for _, i := range w.Items {
			x := &item{Item: i, health: Missing}
			if !i.Waits {
				x.health = None
			}
			next.items, a.items = append(next.items, x), append(a.items, x)
		}
		a.waves = append(a.waves, next)
	}
	unknown := slices.ContainsFunc(p.Sources, func(s plan.Source) bool { return s.Unknown != "" })
	if unknown || len(s.faults[a.Name]) > 0 && !slices.ContainsFunc(a.items, func(x *item) bool { return x.Waits && x.Application == nil && s.model.workload(x.Kind) }) {
		// What is not known takes time, and what has nothing that could go wrong is asked to.
		x := &item{Item: &plan.Item{Kind: Unknown, Name: a.Name, Phase: plan.Sync, Waits: true}, health: Missing}
		a.items = append(a.items, x)
		if len(a.waves) == 0 {
			a.waves = []wave{{phase: plan.Sync}}
		}
		last := &a.waves[len(a.waves)-1]
		last.items = append(last.items, x)
	}
	for _, x := range a.items {
		i := x.Item
		if i.Application != nil && !i.Application.Itself {
			child := s.prepare(i.Application, a, x, i.Wave, "")
			if child.own == x {
				x.child = child
			}
		}
		for _, c := range i.Children {
			if !c.Itself {
				s.prepare(c, a, nil, i.Wave, i.Name)
			}
		}
	}
	return a
}

// Names are the names of Applications; those that are there in several namespaces have theirs before it.
func Names(p *plan.Plan) map[*plan.Application]string {
	times := map[string]int{}
	for _, a := range p.Applications {
		times[a.Name]++
	}
	out := map[*plan.Application]string{}
	for _, a := range p.Applications {
		out[a] = a.Name
		if times[a.Name] > 1 {
			out[a] = a.Namespace + "/" + a.Name
		}
	}
	return out
}
