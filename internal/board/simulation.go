package board

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/board/scene"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/retry"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/source"
)

// Simulation is a boot that did not happen: a plan, or a simulation of it.
type Simulation struct {
	plan  *plan.Plan
	found *lint.Report
	model simulate.Model
	usual *simulate.Boot
	only  bool              // it is a plan
	ui    string            // the URL of Argo CD's own page
	keys  map[string]string // by the name of a run
	names map[string]string // the other way round

	mu      sync.Mutex
	faults  []simulate.Fault
	boot    *simulate.Boot
	whole   *scene.Scene
	paced   bool
	passed  time.Duration
	speed   float64
	pace    func(speed float64)
	changed chan struct{}
}

// Checked is a plan with its lint report. A nil Report runs all rules without the files.
type Checked struct {
	*plan.Plan
	Report *lint.Report
}

// FromPlan shows a plan, with the times of its simulated boot.
func FromPlan(p Checked, m simulate.Model) (*Simulation, error) {
	s, err := FromSimulation(p, m)
	if err == nil {
		s.only = true
	}
	return s, err
}

// FromSimulation shows a simulated boot, whose time the page moves.
func FromSimulation(c Checked, m simulate.Model, faults ...simulate.Fault) (*Simulation, error) {
	p := c.Plan
	if c.Report == nil {
		c.Report = lint.New(p, lint.Options{Files: func(_, _ string) (string, []byte, bool) { return "", nil, false }})
	}
	usual, err := simulate.Simulate(p, m)
	if err != nil {
		return nil, err
	}
	// A sync can be retried for ever; the outcome is clear long before.
	m.Horizon = 2*min(usual.Total, m.Horizon) + 15*time.Minute
	mended := time.Duration(0)
	for _, f := range faults {
		mended = max(mended, f.Mended)
	}
	m.Horizon += mended
	s := &Simulation{
		plan: p, found: c.Report, model: m, usual: usual, changed: make(chan struct{}),
		keys: map[string]string{}, names: map[string]string{},
	}
	for app, name := range simulate.Names(p) {
		key := scene.Key(false, app.Namespace, app.Name)
		s.keys[name], s.names[key] = key, name
	}
	return s, s.simulate(faults)
}

// Pace makes the caller move the time of the boot, by At. Set is called when a viewer changes the speed.
func (s *Simulation) Pace(speed float64, set func(speed float64)) {
	s.paced, s.speed, s.pace = true, speed, set
}

// Links sets the URL of Argo CD's own page.
func (s *Simulation) Links(ui string) *Simulation {
	s.ui, s.whole.ArgoCD = ui, ui
	return s
}

// simulate runs the boot again with other faults.
func (s *Simulation) simulate(faults []simulate.Fault) error {
	boot, err := simulate.Simulate(s.plan, s.model, faults...)
	if err != nil {
		return err
	}
	s.faults, s.boot = faults, boot
	s.whole = scene.Simulate(s.plan, s.found, s.usual, boot)
	s.whole.ArgoCD = s.ui
	for _, f := range faults {
		if f.To == 0 && f.Mended == 0 {
			s.whole.Faults = append(s.whole.Faults, s.keys[f.App])
		}
	}
	s.wake()
	return nil
}

func (s *Simulation) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Boot returns the current boot. A viewer who changes the faults replaces its future; the past stays the same.
func (s *Simulation) Boot() *simulate.Boot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.boot
}

// At moves the time of the boot.
func (s *Simulation) At(passed time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passed = passed
	s.wake()
}

// Planned is the plan, to compare with.
func (s *Simulation) Planned() *scene.Scene {
	out := scene.FromPlan(s.plan, s.found, s.usual)
	out.ArgoCD = s.ui
	return out
}

// tick is how often the scene of a boot that is paced is published.
const tick = 150 * time.Millisecond

// Run implements Source.
func (s *Simulation) Run(ctx context.Context, publish func(*scene.Scene)) error {
	for ctx.Err() == nil {
		s.mu.Lock()
		changed, now := s.changed, s.whole
		switch {
		case s.only:
			now = s.Planned()
		case s.paced:
			now = s.whole.Until(s.passed.Milliseconds())
			now.Paced, now.Speed = true, s.speed
		}
		s.mu.Unlock()
		publish(now)
		select {
		case <-ctx.Done():
		case <-changed:
			retry.Wait(ctx, time.After(tick))
		}
	}
	return nil
}

// Limits of controls.
const (
	minSpeed, maxSpeed = 0.1, 10_000
	maxFaults          = 20
)

// Control implements Controls.
func (s *Simulation) Control(c Control) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.only:
		return fmt.Errorf("a plan cannot be changed; start the board with --simulate")
	case c.Speed != 0 && !s.paced:
		return fmt.Errorf("the page itself moves the time of this boot")
	case c.Speed != 0 && !(c.Speed >= minSpeed && c.Speed <= maxSpeed):
		return fmt.Errorf("speed must be %g to %d", minSpeed, maxSpeed)
	case c.Speed != 0:
		s.speed = c.Speed
		s.pace(c.Speed)
		s.wake()
		return nil
	case c.Reset:
		return s.simulate(nil)
	}
	at := time.Duration(max(c.At, 0)) * time.Millisecond
	if s.paced {
		at = s.passed
	}
	faults := slices.Clone(s.faults)
	if name := s.names[c.Break]; name != "" {
		faults = slices.DeleteFunc(faults, func(f simulate.Fault) bool { return f.App == name })
		if len(faults) >= maxFaults {
			return fmt.Errorf("at most %d faults fit into one boot", maxFaults)
		}
		return s.simulate(append(faults, s.fault(name, at)))
	}
	if name := s.names[c.Repair]; name != "" {
		return s.simulate(s.repaired(faults, name, at))
	}
	return fmt.Errorf("there is no such Application")
}

// fault breaks an Application from now on: a new one fails until a commit repairs it, the workloads of an existing one become Degraded.
func (s *Simulation) fault(name string, at time.Duration) simulate.Fault {
	if r := s.boot.Find(name); r == nil || r.Created < 0 || r.Created >= at {
		return simulate.Fault{App: name, Kind: simulate.Fail}
	}
	return simulate.Fault{App: name, Kind: simulate.Degrade, From: at}
}

// repaired ends the fault of an Application.
func (s *Simulation) repaired(faults []simulate.Fault, name string, at time.Duration) []simulate.Fault {
	failed := time.Duration(-1)
	for _, e := range s.boot.Events {
		if e.App == name && e.What == simulate.BecameState && e.Health == health.Degraded {
			failed = e.At
			break
		}
	}
	out := faults[:0]
	for _, f := range faults {
		if f.App == name {
			switch {
			case failed < 0 || at <= failed:
				continue // it has not happened
			case f.Kind == simulate.Degrade:
				f.To = max(at, f.From+time.Second)
			default:
				f.Kind, f.Mended = simulate.Fail, at-failed
			}
		}
		out = append(out, f)
	}
	return out
}

// Why implements Source: it names what is wrong at the end of the simulation, or, for a plan alone, what Argo CD cannot render.
func (s *Simulation) Why(_ context.Context, key string, visible func(string) bool) (any, error) {
	boot := s.Boot()
	causes, members, good := []any{}, map[string]bool{}, true
	below := func(name string) bool {
		for r := boot.Find(name); r != nil; r = boot.Find(r.Parent) {
			if key == "" || s.keys[r.Name] == key || members[r.Name] {
				return true
			}
		}
		return false
	}
	unknown := s.unknown(key, members, below, visible)
	for _, r := range boot.Runs {
		good = good && (r.Done() || !below(r.Name))
	}
	for _, c := range boot.Causes() {
		if !below(c.App) {
			continue
		}
		good = false
		k := s.keys[c.App]
		if s.only && boot.Find(c.App).Health != simulate.Broken || c.Waits || visible != nil && !visible(k) {
			continue
		}
		namespace, name, _ := strings.Cut(k, "/")
		causes = append(causes, map[string]any{
			"kind": "simulated", "application": map[string]any{"namespace": namespace, "name": name}, "path": []any{c.App},
			"text": c.String(), "blocks": true,
		})
	}
	good = good && len(unknown) == 0
	return map[string]any{"good": good, "asked": []any{}, "causes": causes, "notLookedAt": report.Texts(unknown)}, nil
}

// unknown lists the unknown parts of the plan below an Application or a set. It adds the Applications of that set to members.
func (s *Simulation) unknown(key string, members map[string]bool, below func(string) bool, visible func(string) bool) []string {
	names := simulate.Names(s.plan)
	for _, app := range s.plan.Applications {
		for _, i := range app.Items {
			if i.Children != nil && scene.Key(true, i.Namespace, i.Name) == key {
				for _, c := range i.Children {
					members[names[c]] = true
				}
			}
		}
	}
	var out []string
	hidden := false
	note := func(app *plan.Application, format string, args ...any) {
		if visible != nil && !visible(scene.Key(false, app.Namespace, app.Name)) {
			hidden = true
			return
		}
		out = append(out, names[app]+": "+fmt.Sprintf(format, args...))
	}
	for _, app := range s.plan.Applications {
		for _, src := range app.Sources {
			if src.Unknown != "" && src.Verdict != source.Broken && below(names[app]) {
				note(app, "%s", src.Unknown)
			}
		}
		for _, i := range app.Items {
			if i.Children != nil && i.Unknown != "" && (below(names[app]) || scene.Key(true, i.Namespace, i.Name) == key) {
				note(app, "ApplicationSet %s: %s", i.Name, i.Unknown)
			}
		}
	}
	if hidden {
		out = append(out, "parts of "+scene.Hidden)
	}
	return out
}

// App implements Source.
func (s *Simulation) App(_ context.Context, key string) (*Detail, error) {
	for _, app := range s.plan.Applications {
		if scene.Key(false, app.Namespace, app.Name) != key {
			continue
		}
		d := &Detail{Note: app.Broken, Spec: specOf(app.Object)}
		for _, src := range app.Sources {
			d.Note = cmp.Or(d.Note, src.Unknown)
		}
		for _, i := range app.Items {
			d.Objects = append(d.Objects, Object{
				Phase: i.Phase, Wave: i.Wave, Group: i.Group, Kind: i.Kind, Namespace: i.Namespace, Name: i.Name, Hook: i.Hook,
				Waits: i.Waits, Message: i.Unknown,
			})
		}
		sortObjects(d.Objects)
		return d, nil
	}
	return s.set(key), nil
}

// set is an ApplicationSet of the plan.
func (s *Simulation) set(key string) *Detail {
	for _, app := range s.plan.Applications {
		for _, i := range app.Items {
			if i.Children != nil && scene.Key(true, i.Namespace, i.Name) == key {
				d := &Detail{Note: i.Unknown, Spec: specOf(i.Object)}
				for _, c := range i.Children {
					d.Objects = append(d.Objects, Object{Kind: argo.KindApplication, Namespace: c.Namespace, Name: c.Name})
				}
				return d
			}
		}
	}
	return nil
}

// sortObjects puts objects into the order of their sync.
func sortObjects(list []Object) {
	slices.SortStableFunc(list, func(a, b Object) int {
		return cmp.Or(order.Compare(cmp.Or(a.Phase, order.Sync), a.Wave, cmp.Or(b.Phase, order.Sync), b.Wave),
			strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}
