package simulate

import (
	"reflect"

	"github.com/argosy-cd/argosy/internal/plan"
)

// Update runs what a new revision does to a cluster that has booted with an old one and is healthy. An Application that follows the branch is
// synced as soon as Argo CD sees the revision; one that is pinned to a commit, when the sync of its parent gives it the new one.
func Update(before, after *plan.Plan, m Model, faults ...Fault) (*Boot, error) {
	s, err := newSimulation(after, m, faults)
	if err != nil {
		return nil, err
	}
	s.boot.Update = true
	old := map[plan.Ref]*plan.Application{}
	for _, a := range before.Applications {
		old[a.Ref] = a
		s.provide(a.Provides)
		for _, i := range a.Items {
			s.provide(i.Provides)
		}
	}
	for _, p := range after.Applications {
		if a, was := s.apps[p], old[p.Ref]; a != nil && was != nil {
			s.adopt(a, was)
		}
	}
	root := s.apps[after.Root]
	s.touch(root, map[*app]bool{})
	if !root.there {
		s.create(root)
	}
	for _, p := range after.Applications {
		if a := s.apps[p]; a != nil && a.there && a.Touched && !p.Pinned && a != root || a == root && root.existed {
			s.after(m.Refresh, func() { s.arrive(a) })
		}
	}
	s.run()
	return s.boot, nil
}

// key names an object in the plan of an Application.
type key struct{ group, kind, namespace, name, phase string }

func keyOf(i *plan.Item) key { return key{i.Group, i.Kind, i.Namespace, i.Name, i.Phase} }

// adopt puts an Application into the cluster as it was before the update.
func (s *simulation) adopt(a *app, was *plan.Application) {
	a.there, a.existed, a.compared, a.ok, a.health, a.Healthy = true, true, true, true, Healthy, 0
	items := map[key]*plan.Item{}
	for _, i := range was.Items {
		items[keyOf(i)] = i
	}
	for _, x := range a.items {
		i := items[keyOf(x.Item)]
		if i == nil && x.Kind != UnknownContent {
			a.Touched = true
			continue
		}
		delete(items, keyOf(x.Item))
		x.applied = true
		if x.checked {
			x.health = Healthy
		}
		x.changed = i != nil && !x.Hook && !reflect.DeepEqual(i.Object, x.Object)
		a.Touched = a.Touched || x.changed
	}
	a.Touched = a.Touched || len(items) > 0 || a.Broken != was.Broken
	if a.Touched || !sameSources(a.plan, was) {
		for _, x := range a.items {
			// What is asked to go wrong is new, whatever it is.
			x.changed = x.changed || x.Kind == UnknownContent && (len(s.faults[a.Name]) > 0 || !sameSources(a.plan, was))
		}
	}
}

func sameSources(a, b *plan.Application) bool {
	if len(a.Sources) != len(b.Sources) {
		return false
	}
	for i := range a.Sources {
		if !reflect.DeepEqual(a.Sources[i].Spec, b.Sources[i].Spec) {
			return false
		}
	}
	return true
}

// touch finds what a new revision changes: first in what an Application deploys, because those that are pinned get a new spec.
func (s *simulation) touch(a *app, seen map[*app]bool) {
	if seen[a] {
		return
	}
	seen[a] = true
	for _, x := range a.items {
		for _, c := range x.Children {
			if child := s.apps[c]; child != nil {
				s.touch(child, seen)
			}
		}
		if x.child == nil || x.itself() {
			continue
		}
		s.touch(x.child, seen)
		if p := x.child.plan; x.applied && p.Pinned && (!p.KeepsPin || x.child.Touched) {
			x.changed, a.Touched = true, true
		}
	}
}

// arrive is a new revision that Argo CD sees by itself.
func (s *simulation) arrive(a *app) {
	if a.Created < 0 && a.Touched {
		a.Created = s.now
		s.event(a, Changed, "")
	}
	s.compare(a)
}

// renew is a new spec that the parent's sync gives to an Application.
func (s *simulation) renew(a *app) {
	if a.Created < 0 {
		a.Created = s.now
		s.event(a, Changed, "%s", a.Parent)
	}
	if s.aware && !a.running { // the health check sees that Argo CD has not looked at it yet; another one repeats what it was
		a.compared = false
		s.rate(a)
	}
	s.after(s.model.Refresh, func() {
		a.compared = true
		s.compare(a)
	})
}

// compare syncs what has changed.
func (s *simulation) compare(a *app) {
	if !s.allowed(a) {
		return
	}
	if a.Broken != "" {
		s.event(a, CannotMake, "%s", a.Broken)
		s.rate(a)
		return
	}
	switch {
	case !a.Touched || a.byHand:
		s.rate(a)
	case a.running:
		a.fresh = true
	default:
		s.start(a)
	}
}
