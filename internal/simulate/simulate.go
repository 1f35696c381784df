// Package simulate predicts when each step of a boot happens, from a plan, a model of durations, and faults. It also simulates a new
// revision in a booted cluster.
//
// It follows the rules of the version of Argo CD that the plan is for. A sync begins only if the kinds of all objects are there and its
// project allows them. It applies its waves one after the other; the next one starts when all objects of the wave before it that have a
// health check are healthy, and two seconds after that wave was applied at the earliest. A sync does not wait for its last wave, unless
// that has hooks. An object that cannot be applied fails the sync at once; one that is Degraded fails it when the rest of its wave is
// done. A sync that failed is retried with a backoff, from its first wave, as often as the Application says; then it stays failed. An
// Application is as healthy as what it deploys. The Applications that the controller makes of an ApplicationSet belong to no wave.
//
// The same input gives the same boot.
package simulate

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/health"
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
	refs   map[argo.Ref]*app
	items  map[*plan.Item]*item
	claims map[*plan.Item][]*item // that wait for a consumer, by consumer
	names  map[*plan.Application]string
	random *rand.Rand
	aware  bool // the health check of Applications looks at syncs, too
	sees   bool // and at manifests that cannot be made
	knows  bool // and knows an Application that deploys itself
	// lenient says that missing objects do not count for the health of an Application.
	lenient bool
	// present are the things in the cluster; awaited are Applications that wait for their project.
	present map[plan.Thing]bool
	awaited map[plan.Thing][]*app
}

// app is an Application on its way.
type app struct {
	*Run
	plan    *plan.Application
	waves   []wave
	several bool // waves, so that all of them are waited for
	items   []*item
	parent  *app
	set     *item   // that made it
	shown   []*item // that are this Application, in its parents
	there   bool
	// The sync: which wave, whether its objects are applied, and whether one runs at all.
	running bool
	ok      bool // the last one, of this revision
	tries   int  // of this revision
	mended  bool // by a commit
	fresh   bool // there is a commit that was not tried
	// respecified says that an update gives it another source or destination, which comes with the sync of its parent, or of its set.
	respecified bool
	applied     bool
	wave        int
	step        int // in boot.Steps
	health      health.Status
	// compared says that Argo CD has compared it; since is when its wave was applied.
	compared bool
	since    time.Duration
}

// wave is one wave of a sync.
type wave struct {
	phase  string
	number int
	items  []*item
	hooks  bool
}

// result is the result of an object in a sync.
type result int

const (
	pending result = iota
	running
	succeeded
	failed
)

// item is an object on its way.
type item struct {
	*plan.Item
	app     *app // that deploys it
	checked bool // it has a health check
	applied bool
	changed bool // by an update
	result  result
	health  health.Status
	since   time.Duration // when it was applied in this wave
	first   time.Duration // when it was applied first
	child   *app          // it is this Application, and may be itself or one that others deploy, too
}

func (i *item) String() string { return i.Kind + " " + i.Name }

// itself reports whether it is the Application that deploys it.
func (i *item) itself() bool { return i.child == i.app }

// looksInto reports whether its health depends on the Applications of a set.
func (i *item) looksInto() bool { return i.Awaits && !i.Broken && len(i.Children) > 0 }

// Simulate boots a plan.
func Simulate(p *plan.Plan, m Model, faults ...Fault) (*Boot, error) {
	s, err := newSimulation(p, m, faults)
	if err != nil {
		return nil, err
	}
	s.create(s.apps[p.Root])
	s.run()
	return s.boot, nil
}

func newSimulation(p *plan.Plan, m Model, faults []Fault) (*simulation, error) {
	s := &simulation{
		model: m, faults: map[string][]Fault{}, boot: &Boot{by: map[string]*Run{}}, apps: map[*plan.Application]*app{},
		refs: map[argo.Ref]*app{}, items: map[*plan.Item]*item{}, claims: map[*plan.Item][]*item{},
		random:  rand.New(rand.NewPCG(m.Seed, 0)), // a simulation that can be repeated
		present: map[plan.Thing]bool{}, awaited: map[plan.Thing][]*app{},
	}
	s.aware, s.sees, s.knows, s.lenient = p.SyncAware, p.SeesBroken, p.KnowsItself, p.Version.Has(versions.MissingNotCounted)
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
	s.prepare(p.Root, nil, nil, 0)
	return s, nil
}

// run handles all events in order of time, until there are none, or until the horizon.
func (s *simulation) run() {
	for len(s.queue) > 0 {
		next := heap.Pop(&s.queue).(*task)
		if next.at > s.model.Horizon {
			s.boot.Cut = true
			break
		}
		s.now = next.at
		next.do()
	}
	s.finish()
}

// after does something later.
func (s *simulation) after(d time.Duration, do func()) {
	s.serial++
	d = max(d, 0)
	heap.Push(&s.queue, &task{at: s.now + d, serial: s.serial, do: do})
}

func (s *simulation) event(a *app, what What, format string, args ...any) {
	s.happens(a, Event{What: what, Detail: fmt.Sprintf(format, args...)})
}

func (s *simulation) happens(a *app, e Event) {
	e.At, e.App = s.now, a.Name
	s.boot.Events = append(s.boot.Events, e)
}

// create is the Application object itself.
func (s *simulation) create(a *app) {
	if a.there {
		return
	}
	a.there, a.Created = true, s.now
	s.event(a, Created, "%s", a.Parent)
	s.rate(a)
	s.after(s.model.Refresh, func() { s.look(a) })
}

// look is Argo CD's first look at an Application: may it be deployed at all, and can its manifests be made?
func (s *simulation) look(a *app) {
	if !s.allowed(a) {
		return
	}
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
}

// allowed reports whether Argo CD compares an Application with its source. If it does not, and its project comes, it looks again some time.
func (s *simulation) allowed(a *app) bool {
	why := a.plan.Refused
	for _, t := range a.plan.Requires {
		if !s.present[t] && why == "" {
			why = fmt.Sprintf("%s is not there", t)
			s.awaited[t] = append(s.awaited[t], a)
		}
	}
	a.Refused = why
	if why != "" {
		s.event(a, Refused, "%s", why)
		s.rate(a)
	}
	return why == ""
}

// provide puts things into the cluster.
func (s *simulation) provide(things []plan.Thing) {
	for _, t := range things {
		s.present[t] = true
		for _, a := range s.awaited[t] {
			s.after(s.model.Resync, func() { s.look(a) })
		}
		delete(s.awaited, t)
	}
}

// finish records the final state.
func (s *simulation) finish() {
	for _, a := range s.apps {
		a.Health = a.health
		switch {
		case !a.there:
			a.Health = health.Missing
		case a.Broken != "":
			a.Health = Broken
		}
		if s.boot.Update && a.Created >= 0 && a.Healthy >= 0 { // also if it was healthy all the time
			a.Healthy = max(a.Healthy, a.Created, a.Synced)
		}
		for _, x := range a.items {
			if x.applied && x.child == nil && !x.looksInto() && (x.health == health.Progressing || x.health == health.Degraded) {
				a.Unhealthy = append(a.Unhealthy, x.String()+" is "+string(x.health))
			}
		}
		if a.running && a.wave < len(a.waves) {
			a.relays = true
			for _, x := range a.waves[a.wave].items {
				if x.result == running && a.awaits(x) {
					a.WaitsFor = append(a.WaitsFor, x.String())
					a.relays = a.relays && (x.child != nil && !x.itself() || x.looksInto())
				}
			}
		}
		s.boot.Total = max(s.boot.Total, a.Healthy)
	}
	if !s.boot.Done() && len(s.boot.Events) > 0 {
		s.boot.Total = s.boot.Events[len(s.boot.Events)-1].At
	}
}
