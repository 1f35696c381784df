// Package simulate runs a boot before it happens: a plan, how long things take, and what goes wrong, to what happens when.
//
// It follows Argo CD's rules. A sync applies its waves one after the other; the next one starts when everything of the last one that
// has a health check is healthy, and two seconds after it was applied at the earliest. The last wave is not waited for, except for hooks. Something Degraded fails the sync, which is tried
// again with a backoff, from its first wave, as often as the Application says; then it stays failed. An Application is as healthy
// as what it deploys. The Applications of an ApplicationSet that the controller makes are nobody's wave.
//
// The same input gives the same boot.
package simulate

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/argosy-cd/argosy/internal/plan"
)

// simulation is a boot on its way.
type simulation struct {
	model  Model
	faults map[string][]Fault
	boot   *Boot
	now    time.Duration
	queue  queue
	serial int
	apps   map[*plan.Application]*app
	names  map[*plan.Application]string
	random *rand.Rand
	aware  bool // the health check of Applications looks at syncs, too
	sees   bool // and at manifests that cannot be made
}

// app is an Application on its way.
type app struct {
	*Run
	plan   *plan.Application
	waves  []wave
	items  []*item
	parent *app
	own    *item // in the parent
	// The sync: which wave, whether its objects are applied, and whether one runs at all.
	running bool
	tries   int  // of this revision
	mended  bool // by a commit
	fresh   bool // there is a commit that was not tried
	applied bool
	wave    int
	step    int // in boot.Steps
	health  Health
	// compared says that Argo CD has looked at it; since is when its wave was applied.
	compared bool
	since    time.Duration
}

// wave is one wave of a sync.
type wave struct {
	phase  string
	number int
	items  []*item
}

// item is an object on its way.
type item struct {
	*plan.Item
	applied bool
	health  Health
	since   time.Duration // when it was applied in this wave
	first   time.Duration // when it was applied first
	child   *app
}

func (i *item) String() string { return i.Kind + " " + i.Name }

// Simulate boots a plan.
func Simulate(p *plan.Plan, m Model, faults ...Fault) (*Boot, error) {
	s := &simulation{
		model: m, faults: map[string][]Fault{}, boot: &Boot{by: map[string]*Run{}}, apps: map[*plan.Application]*app{},
		random: rand.New(rand.NewPCG(m.Seed, 0)), //nolint:gosec // a simulation that can be repeated
	}
	s.aware, s.sees = p.SyncAware, p.SeesBroken
	s.names = Names(p)
	known := map[string]bool{}
	for _, name := range s.names {
		known[name] = true
	}
	for _, f := range faults {
		if !known[f.App] {
			return nil, fmt.Errorf("there is no Application %q in the plan", f.App)
		}
		s.faults[f.App] = append(s.faults[f.App], f)
	}
	for name := range m.Applications {
		if !known[name] {
			return nil, fmt.Errorf("there is no Application %q in the plan", name)
		}
	}
	s.prepare(p.Root, nil, nil, 0, "")
	s.create(s.apps[p.Root])
	for len(s.queue) > 0 {
		next := heap.Pop(&s.queue).(*task)
		if next.at > m.Horizon {
			s.boot.Cut = true
			break
		}
		s.now = next.at
		next.do()
	}
	s.finish()
	return s.boot, nil
}

// after does something later.
func (s *simulation) after(d time.Duration, do func()) {
	s.serial++
	d = max(d, 0)
	heap.Push(&s.queue, &task{at: s.now + d, serial: s.serial, do: do})
}

func (s *simulation) event(a *app, what, format string, args ...any) {
	s.boot.Events = append(s.boot.Events, Event{s.now, a.Name, what, fmt.Sprintf(format, args...)})
}

// create is the Application object itself.
func (s *simulation) create(a *app) {
	if a.Created >= 0 {
		return
	}
	a.Created = s.now
	s.event(a, Created, "%s", a.Parent)
	s.rate(a)
	s.after(s.model.Refresh, func() {
		if a.Broken != "" {
			s.event(a, CannotMake, "%s", a.Broken)
			s.after(s.model.Grace, func() {
				a.compared = true
				s.rate(a)
			})
			return
		}
		a.compared = true
		if a.byHand {
			s.rate(a)
			return
		}
		s.start(a)
	})
}

// start begins a sync, or another attempt at it.
func (s *simulation) start(a *app) {
	a.Attempts++
	a.tries++
	if a.Started < 0 {
		a.Started = s.now
	}
	a.running, a.wave = true, -1
	s.event(a, SyncStarted, "attempt %d", a.Attempts)
	for _, x := range a.items {
		if x.Hook && x.applied { // hooks are run again
			x.applied, x.health = false, Missing
		}
	}
	s.rate(a)
	s.next(a)
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
	s.boot.Steps = append(s.boot.Steps, Step{App: a.Name, Phase: w.phase, Wave: w.number, Start: s.now, End: -1, Last: a.wave == len(a.waves)-1})
	detail := strconv.Itoa(w.number)
	if w.phase != plan.Sync {
		detail += " " + w.phase
	}
	s.event(a, WaveStarted, "%s", detail)
	s.after(s.model.Apply, func() { s.apply(a) })
}

// apply applies the objects of a wave.
func (s *simulation) apply(a *app) {
	a.applied, a.since = true, s.now
	for _, x := range a.waves[a.wave].items {
		i := x.Item
		x.since = s.now
		if x.applied {
			continue
		}
		x.applied, x.first = true, s.now
		switch {
		case x.child != nil:
			s.create(x.child)
			if i.Waits {
				s.become(a, x, x.child.health)
			}
		case i.Waits:
			s.become(a, x, Progressing)
			s.ripen(a, x)
		}
		for _, c := range i.Children {
			if child := s.apps[c]; child != nil && child.Set != "" {
				s.after(s.model.Generate, func() { s.create(child) })
			}
		}
	}
	s.rate(a)
	s.check(a)
}

// check sees whether a sync can go on.
func (s *simulation) check(a *app) {
	if !a.running || !a.applied {
		return
	}
	w := a.waves[a.wave]
	last := a.wave == len(a.waves)-1
	// Hooks are waited for in the last wave, too.
	for _, x := range w.items {
		if x.health == Degraded && (!last || x.Hook) {
			s.fail(a, x)
			return
		}
	}
	if slices.ContainsFunc(w.items, func(x *item) bool { return x.health != None && x.health != Healthy && (!last || x.Hook) }) {
		return
	}
	step := &s.boot.Steps[a.step]
	step.End = s.now
	for _, x := range w.items {
		if x.health == None || last && !x.Hook {
			continue
		}
		waited := Waited{Object: x.String(), Took: s.now - x.since}
		if x.child != nil {
			waited.App = x.child.Name
			waited.Took = max(x.child.Healthy-step.Start, 0)
		} else {
			waited.Took = max(min(waited.Took, s.model.base(a.Name, x.Kind)), 0)
		}
		step.Waited = append(step.Waited, waited)
	}
	slices.SortStableFunc(step.Waited, func(a, b Waited) int { return int(b.Took - a.Took) })
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

// fail ends an attempt of a sync.
func (s *simulation) fail(a *app, x *item) {
	a.running, a.applied = false, false
	defer s.rate(a)
	s.event(a, SyncFailed, "%s is Degraded", x)
	retry := a.plan.Retry
	if retry.Limit >= 0 && a.tries > retry.Limit {
		a.GivenUp = true
		s.event(a, SyncGivenUp, "after %s: %s is Degraded", attempts(a.Attempts), x)
		if a.fresh { // there is a commit that it has not tried
			s.again(a)
		}
		return
	}
	s.after(retry.Wait(a.tries), func() { s.start(a) })
}

func (s *simulation) synced(a *app) {
	a.running = false
	if a.Synced < 0 {
		a.Synced = s.now
	}
	s.event(a, Synced, "")
	s.rate(a)
}

// finish says what is left.
func (s *simulation) finish() {
	for _, a := range s.apps {
		a.Health = a.health
		switch {
		case a.Created < 0:
			a.Health = Missing
		case a.Broken != "":
			a.Health = Broken
		}
		for _, x := range a.items {
			if x.applied && x.child == nil && (x.health == Progressing || x.health == Degraded) {
				a.Unhealthy = append(a.Unhealthy, x.String()+" is "+string(x.health))
			}
		}
		if a.running && a.wave < len(a.waves) {
			for _, x := range a.waves[a.wave].items {
				if last := a.wave == len(a.waves)-1; x.health != None && x.health != Healthy && (!last || x.Hook) {
					a.WaitsFor = append(a.WaitsFor, x.String())
				}
			}
		}
		s.boot.Total = max(s.boot.Total, a.Healthy)
	}
	if !s.boot.Done() && len(s.boot.Events) > 0 {
		s.boot.Total = s.boot.Events[len(s.boot.Events)-1].At
	}
}
