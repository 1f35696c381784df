package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/plan"
)

// start begins a sync, or another attempt at it.
func (s *simulation) start(a *app) {
	a.Attempts++
	a.tries++
	if a.Started < 0 {
		a.Started = s.now
	}
	a.running, a.ok, a.wave, a.applied, a.Failure = true, false, -1, false, ""
	s.happens(a, Event{What: SyncStarted, Detail: fmt.Sprintf("attempt %d", a.Attempts), Attempt: a.Attempts})
	for _, x := range a.items {
		x.result = pending
		if x.Hook && x.applied { // hooks are run again
			x.applied, x.health = false, health.Missing
		}
	}
	if why := s.invalid(a); why != "" {
		s.fail(a, why)
		return
	}
	s.provide(a.plan.Provides)
	s.rate(a)
	s.next(a)
}

// invalid says why Argo CD does not begin a sync, "" if it does.
func (s *simulation) invalid(a *app) string {
	for _, x := range a.items {
		if x.Forbidden != "" {
			return fmt.Sprintf("%s is not allowed: %s", x, x.Forbidden)
		}
		if missing, ok := s.missing(x); ok && missing.What == plan.ThingKind && !x.Unchecked {
			return fmt.Sprintf("there is no %s, which %s needs", missing, x)
		}
	}
	return ""
}

// missing is something that an object needs and that is not there.
func (s *simulation) missing(x *item) (plan.Thing, bool) {
	i := slices.IndexFunc(x.Requires, func(t plan.Thing) bool { return !s.present[t] })
	if i < 0 {
		return plan.Thing{}, false
	}
	return x.Requires[i], true
}

// next begins the next wave.
func (s *simulation) next(a *app) {
	a.wave++
	if a.wave >= len(a.waves) {
		s.synced(a)
		return
	}
	w := a.waves[a.wave]
	a.applied = false
	a.step = len(s.boot.Steps)
	s.boot.Steps = append(s.boot.Steps, Step{
		App: a.Name, Phase: w.phase, Wave: w.number, Start: s.now, End: -1,
		Last: a.wave == len(a.waves)-1,
	})
	detail := strconv.Itoa(w.number)
	if w.phase != plan.Sync {
		detail += " " + w.phase
	}
	s.happens(a, Event{What: WaveStarted, Detail: detail, Wave: w.number, Phase: w.phase})
	s.after(s.model.Apply, func() { s.apply(a) })
}

// apply applies the objects of a wave. An object that cannot be applied does not stop the others.
func (s *simulation) apply(a *app) {
	a.applied, a.since = true, s.now
	why := ""
	for _, x := range a.waves[a.wave].items {
		x.since, x.result = s.now, running
		if missing, ok := s.missing(x); ok {
			x.result = failed
			if why == "" {
				why = fmt.Sprintf("there is no %s, which %s needs", missing, x)
			}
			continue
		}
		s.provide(x.Provides)
		if !x.applied || x.changed {
			s.put(a, x)
		}
	}
	s.rate(a)
	if why != "" {
		s.fail(a, why)
		return
	}
	s.check(a)
}

// put brings an object into the cluster, or a new version of it.
func (s *simulation) put(a *app, x *item) {
	if !x.applied {
		x.first = s.now
	}
	again := x.applied || x.child != nil && x.child.existed && x.child.Created < 0
	x.applied, x.changed = true, false
	switch {
	case x.child != nil:
		if again {
			s.renew(x.child)
		}
		s.create(x.child)
		if x.checked {
			s.become(a, x, s.shows(x))
		}
	case x.Children != nil:
		s.generate(a, x)
	case x.checked:
		x.first = s.now
		s.become(a, x, health.Progressing)
		if !x.FirstConsumer {
			s.ripen(a, x)
		}
	}
	for _, claim := range s.claims[x.Item] {
		s.claim(claim)
	}
	s.claim(x)
}

// claim binds a PersistentVolumeClaim that waits for its first consumer, if it and one of its consumers are there.
func (s *simulation) claim(x *item) {
	used := slices.ContainsFunc(x.Consumers, func(i *plan.Item) bool { return s.items[i] != nil && s.items[i].applied })
	if x.FirstConsumer && x.applied && x.health == health.Progressing && used {
		s.ripen(x.app, x)
	}
}

// awaits reports whether a sync waits for an object of its wave: of the last one only if there are hooks, and then for all if there are
// several waves.
func (a *app) awaits(x *item) bool {
	w := a.waves[a.wave]
	return x.checked && (a.wave < len(a.waves)-1 || w.hooks && (x.Hook || a.several))
}

// check is Argo CD's look at a running sync: can it go on?
func (s *simulation) check(a *app) {
	if !a.running || !a.applied {
		return
	}
	w := a.waves[a.wave]
	last := a.wave == len(a.waves)-1
	if !last || w.hooks {
		for _, x := range w.items {
			switch {
			case x.result != running:
			case x.health == health.Degraded:
				x.result = failed
			case !x.checked || x.health == health.Healthy:
				x.result = succeeded
			}
		}
		if slices.ContainsFunc(w.items, func(x *item) bool { return x.result == running && a.awaits(x) }) {
			return
		}
		if i := slices.IndexFunc(w.items, func(x *item) bool { return x.result == failed }); i >= 0 {
			s.fail(a, fmt.Sprintf("%s is Degraded", w.items[i]))
			return
		}
	}
	s.passed(a)
	a.applied = false
	if last {
		s.next(a)
		return
	}
	// Argo CD pauses when a wave was applied, however long it then waits.
	s.after(max(a.since+s.model.Pause-s.now, 0), func() {
		if a.running {
			s.next(a)
		}
	})
}

// passed records the objects that a wave has waited for.
func (s *simulation) passed(a *app) {
	step := &s.boot.Steps[a.step]
	step.End = s.now
	for _, x := range a.waves[a.wave].items {
		if !a.awaits(x) || x.Children != nil && !x.Waits { // a set takes no time worth a word
			continue
		}
		waited := Waited{Object: x.String(), Took: s.now - x.since}
		switch {
		case x.child != nil:
			waited.App = x.child.Name
			waited.Took = max(x.child.Healthy-step.Start, 0)
		case x.Children == nil:
			waited.Took = max(min(waited.Took, s.model.base(a.Name, x.Kind)), 0)
		}
		step.Waited = append(step.Waited, waited)
	}
	slices.SortStableFunc(step.Waited, func(a, b Waited) int { return int(b.Took - a.Took) })
}

// fail ends an attempt of a sync.
func (s *simulation) fail(a *app, why string) {
	a.running, a.applied, a.Failure = false, false, why
	defer s.rate(a)
	s.event(a, SyncFailed, "%s", why)
	retry := a.plan.Retry
	if retry.Limit >= 0 && a.tries > retry.Limit {
		a.GivenUp = true
		s.event(a, SyncGivenUp, "after %s: %s", attempts(a.Attempts), why)
		if a.fresh { // there is a commit that it has not tried
			s.again(a)
		}
		return
	}
	s.attempt(a, retry.Wait(a.tries))
}

// attempt starts a sync later, unless another one has been started until then.
func (s *simulation) attempt(a *app, wait time.Duration) {
	before := a.Attempts
	s.after(wait, func() {
		if a.Attempts == before {
			s.start(a)
		}
	})
}

func (s *simulation) synced(a *app) {
	a.running, a.ok = false, true
	if a.Synced < 0 {
		a.Synced = s.now
	}
	s.event(a, Synced, "")
	s.rate(a)
	if a.fresh && s.boot.Update { // changed again while it was synced
		s.again(a)
	}
}

// again tries a new revision.
func (s *simulation) again(a *app) {
	a.GivenUp, a.fresh, a.tries = false, false, 0
	s.attempt(a, s.model.Refresh+s.model.Notice)
}
