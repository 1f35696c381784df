package simulate

import (
	"reflect"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/plan"
)

// Update simulates a new revision in a cluster that has booted with an old one and is healthy. An Application that follows the branch is
// synced as soon as Argo CD sees the revision; one that is pinned to a commit, when the sync of its parent gives it the new one.
func Update(before, after *plan.Plan, m Model, faults ...Fault) (*Boot, error) {
	s, err := newSimulation(after, m, faults)
	if err != nil {
		return nil, err
	}
	s.boot.Update = true
	s.adoptAll(before, after)
	root := s.apps[after.Root]
	s.touch(root, map[*app]bool{})
	if !root.there {
		s.create(root)
	}
	for _, p := range after.Applications {
		if a := s.apps[p]; a != nil && a.there {
			s.notice(a, a == root)
		}
	}
	s.run()
	return s.boot, nil
}

// adoptAll puts the plan from before the update into the cluster, with everything healthy.
func (s *simulation) adoptAll(before, after *plan.Plan) {
	old := map[argo.Ref]*plan.Application{}
	for _, a := range before.Applications {
		old[a.Ref] = a
		// The cluster is healthy, so all requirements of its Applications exist.
		s.provide(a.Requires)
		s.provide(a.Provides)
		for _, i := range a.Items {
			s.provide(i.Requires)
			s.provide(i.Provides)
		}
	}
	for _, p := range after.Applications {
		if a, was := s.apps[p], old[p.Ref]; a != nil && was != nil {
			s.adopt(a, was)
		}
	}
	for _, p := range after.Applications {
		if a, was := s.apps[p], old[p.Ref]; a != nil && was != nil {
			a.respecified = !sameSpec(p, was) && (a.set == nil || a.set.changed)
		}
	}
	for _, a := range before.Applications {
		if s.refs[a.Ref] == nil && !a.Applied {
			s.boot.Removed = append(s.boot.Removed, a.Name)
		}
	}
}

// notice has Argo CD see the new revision of an Application that is there, by itself.
func (s *simulation) notice(a *app, root bool) {
	if root && a.existed || !root && a.Touched && !a.plan.Pinned && !a.respecified {
		s.after(s.model.Refresh, func() { s.arrive(a) })
	}
	for _, x := range a.items {
		// The controller evaluates generators by itself, without a sync of the parent.
		if x.Children != nil && x.applied && !x.changed && slices.ContainsFunc(x.Children, func(c *plan.Application) bool {
			return s.apps[c] != nil && !s.apps[c].there
		}) {
			s.after(s.model.Refresh, func() { s.generate(a, x) })
		}
	}
}

// key names an object in the plan of an Application.
type key struct{ group, kind, namespace, name, phase string }

func keyOf(i *plan.Item) key { return key{i.Group, i.Kind, i.Namespace, i.Name, i.Phase} }

// adopt puts an Application into the cluster as it was before the update.
func (s *simulation) adopt(a *app, was *plan.Application) {
	a.there, a.existed, a.compared, a.ok, a.health, a.Healthy = true, true, true, true, health.Healthy, 0
	items := map[key]*plan.Item{}
	for _, i := range was.Items {
		items[keyOf(i)] = i
	}
	for _, x := range a.items {
		i := items[keyOf(x.Item)]
		if i == nil && !placeholder(x.Kind) {
			a.Touched = true
			continue
		}
		delete(items, keyOf(x.Item))
		x.applied = true
		if x.checked {
			x.health = health.Healthy
		}
		x.changed = i != nil && !x.Hook && !reflect.DeepEqual(i.Object, x.Object)
		a.Touched = a.Touched || x.changed
	}
	a.Touched = a.Touched || len(items) > 0 || a.Broken != was.Broken || a.plan.Refused != was.Refused ||
		forbidden(a.plan) != forbidden(was)
	other := !sameSources(a.plan, was) || !sameGaps(a.plan, was)
	for _, x := range a.items {
		// Unknown content changes with its sources or gaps, and in a changed Application that has a fault.
		if placeholder(x.Kind) && (other || a.Touched && len(s.faults[a.Name]) > 0) {
			x.changed, a.Touched = true, true
		}
	}
}

// forbidden says why a project does not allow an object of an Application, "" if it allows all.
func forbidden(a *plan.Application) string {
	for _, i := range a.Items {
		if i.Forbidden != "" {
			return i.Forbidden
		}
	}
	return ""
}

// sameSpec reports whether an Application has the same sources and destination, so that only their content can have changed.
func sameSpec(a, b *plan.Application) bool {
	return sameSources(a, b) && a.Destination == b.Destination
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

// sameGaps reports whether the sources of two Applications are unknown for the same reasons. A reason names a chart and its version.
func sameGaps(a, b *plan.Application) bool {
	return slices.EqualFunc(a.Sources, b.Sources, func(x, y plan.Source) bool { return x.Unknown == y.Unknown })
}

// touch finds what a new revision changes. Children come first: a pinned one gets a new spec, which changes its parent.
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

// arrive lets Argo CD see a new revision by itself.
func (s *simulation) arrive(a *app) {
	if a.Created < 0 && a.Touched && !a.byHand {
		a.Created = s.now
		s.event(a, Changed, "")
	}
	s.compare(a)
}

// renew gives an Application the new spec from its parent's sync.
func (s *simulation) renew(a *app) {
	if a.Created < 0 && !a.byHand {
		a.Created = s.now
		s.event(a, Changed, "%s", a.Parent)
	}
	if s.aware && !a.running { // the health check sees that Argo CD has not compared it yet; other checks keep the former state
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
	case !a.Touched || a.byHand || a.ok && a.Synced >= 0: // it runs the new revision already
		s.rate(a)
	case a.running:
		a.fresh = a.fresh || a.respecified || a.plan.Pinned // the running sync has an older spec or revision
	default:
		s.start(a)
	}
}
