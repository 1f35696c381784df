package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// Leg is a part of the critical path: something that the boot waited for, with its times.
type Leg struct {
	App      string
	What     string
	From, To time.Duration
}

// CriticalPath returns the critical path of the boot, from its beginning to the Application that became healthy last. A shorter leg makes
// the boot shorter. It is empty if the boot does not end.
func (b *Boot) CriticalPath() []Leg {
	if !b.Done() || len(b.Runs) == 0 {
		return nil
	}
	w := &walk{boot: b, steps: map[string][]Step{}}
	for _, s := range b.Steps {
		w.steps[s.App] = append(w.steps[s.App], s)
	}
	last := slices.MaxFunc(b.Runs, func(x, y *Run) int { return cmp.Compare(x.Healthy, y.Healthy) })
	w.healthy(last)
	slices.Reverse(w.legs)
	return w.legs
}

// walk goes back in time.
type walk struct {
	boot  *Boot
	steps map[string][]Step
	legs  []Leg
}

func (w *walk) leg(app, what string, from, to time.Duration) {
	if to > from {
		w.legs = append(w.legs, Leg{app, what, from, to})
	}
}

// healthy is how an Application became healthy.
func (w *walk) healthy(r *Run) {
	for r.last.App != "" {
		child := w.boot.Find(r.last.App)
		w.leg(r.Name, "sees it", child.Healthy, r.Healthy)
		r = child
	}
	if r.last.Object == "" { // none of its objects has a health check
		w.before(r, r.Healthy)
		return
	}
	w.leg(r.Name, r.last.Object, r.lastSince, r.Healthy)
	w.before(r, r.lastSince)
}

// before adds the legs of a sync before a time.
func (w *walk) before(r *Run, t time.Duration) {
	steps := w.steps[r.Name]
	k := len(steps) - 1
	for k > 0 && steps[k].Start > t {
		k--
	}
	for ; k > 0; k-- {
		prev := steps[k-1]
		if len(prev.Waited) > 0 && prev.Waited[0].App != "" {
			child := w.boot.Find(prev.Waited[0].App)
			if child.Healthy < 0 || child.Healthy > t { // it was healthy before, for a while
				w.leg(r.Name, fmt.Sprintf("wave %d", prev.Wave), prev.Start, t)
				t = prev.Start
				continue
			}
			w.leg(r.Name, fmt.Sprintf("goes on from wave %d", prev.Wave), child.Healthy, t)
			w.healthy(child)
			return
		}
		what := fmt.Sprintf("wave %d", prev.Wave)
		if len(prev.Waited) > 0 {
			what += ", " + prev.Waited[0].Object
		}
		w.leg(r.Name, what, prev.Start, t)
		t = prev.Start
	}
	w.leg(r.Name, "begins", r.Created, t)
	if parent := w.boot.Find(r.Parent); parent != nil {
		w.before(parent, r.Created)
	}
}

// Radius has the Applications that one Application blocks if it never becomes healthy.
type Radius struct {
	App    string
	Blocks []string // others, in the order of the plan
}

// Blast returns the Applications that each Application blocks if it never becomes healthy, those that block most first. Applications of one
// wave block the same, so one simulation serves all of them.
func Blast(p *plan.Plan, m Model) ([]Radius, error) {
	base, err := Simulate(p, m)
	if err != nil {
		return nil, err
	}
	if !base.Done() {
		return nil, fmt.Errorf("the boot does not end, though nothing fails: %s", strings.Join(base.Blocked(), "; "))
	}
	type class struct {
		parent, set string
		phase       string
		wave        int
		waits       bool
	}
	blocked := map[class][]string{}
	var out []Radius
	for _, r := range base.Applications() {
		c := class{r.Parent, r.Set, r.phase, r.Wave, r.waits}
		names, ok := blocked[c]
		if leaf := r.leaf; !ok || !leaf {
			b, err := Simulate(p, m, Fault{App: r.Name, Kind: Never})
			if err != nil {
				return nil, err
			}
			names = nil
			for i, x := range b.Runs {
				// A parent is unhealthy through its child, and not blocked by it.
				if x.Health != health.Healthy && base.Runs[i].Health == health.Healthy && x.Name != r.Name && !ancestor(b, x.Name, r.Name) {
					names = append(names, x.Name)
				}
			}
			if leaf {
				blocked[c] = names
			}
		}
		out = append(out, Radius{r.Name, names})
	}
	slices.SortStableFunc(out, func(a, b Radius) int { return len(b.Blocks) - len(a.Blocks) })
	return out, nil
}

// ancestor reports whether an Application deploys another, directly or not.
func ancestor(b *Boot, above, name string) bool {
	for r := b.Find(name); r != nil && r.Parent != ""; r = b.Find(r.Parent) {
		if r.Parent == above {
			return true
		}
	}
	return false
}

// Cost is a wave that costs time which one Application alone needs.
type Cost struct {
	App     string // the parent of the wave
	Wave    int
	Slowest Waited
	Saves   time.Duration // if it were not in this wave
}

// Costs returns the waves in which one object is slower than all others, the most expensive first, and the waves that wait for nothing.
func (b *Boot) Costs() (slow []Cost, idle []Step) {
	for _, s := range b.Steps {
		switch {
		case s.Last || s.End < 0:
		case len(s.Waited) == 0:
			idle = append(idle, s)
		case len(s.Waited) > 1 && s.Waited[0].Took > s.Waited[1].Took:
			slow = append(slow, Cost{s.App, s.Wave, s.Waited[0], s.Waited[0].Took - s.Waited[1].Took})
		}
	}
	slices.SortStableFunc(slow, func(a, b Cost) int { return cmp.Compare(b.Saves, a.Saves) })
	return slow, idle
}

// Cause is the reason why an Application is not healthy.
type Cause struct {
	App, Text string
	// Waits says that it only waits for another Application, or has not been reached, so that the reason is elsewhere.
	Waits bool
}

func (c Cause) String() string { return c.App + ": " + c.Text }

// Causes returns the reasons why Applications did not become healthy, or are not synced.
func (b *Boot) Causes() []Cause {
	var out []Cause
	for _, r := range b.Runs {
		add := func(waits bool, format string, args ...any) {
			out = append(out, Cause{r.Name, fmt.Sprintf(format, args...), waits})
		}
		switch {
		case r.Health == Broken:
			add(false, "Argo CD cannot render its manifests: %s", r.Broken)
		case r.Refused != "":
			add(false, "Argo CD does not deploy it: %s", r.Refused)
		case r.GivenUp:
			add(strings.HasPrefix(r.Failure, argo.KindApplication+" "),
				"its sync was given up after %s, because %s; Argo CD does not retry the same revision", attempts(r.Attempts), r.Failure)
		case len(r.WaitsFor) > 0:
			add(r.relays, "its sync waits for %s", words.First(r.WaitsFor, 3))
		case r.Old() && r.byHand:
			add(false, "it keeps its old revision until somebody syncs it; it has no automated sync")
		case r.Old():
			add(true, "it keeps its old revision")
		case r.Created < 0 && !r.existed && b.Update:
			add(true, "it is never created")
		case r.byHand && r.Created >= 0 && r.Health != health.Healthy:
			add(false, "nobody syncs it; it has no automated sync")
		}
		if len(r.Unhealthy) > 0 {
			add(false, "%s", words.First(r.Unhealthy, 3))
		}
	}
	return out
}

// Blocked is Causes as text.
func (b *Boot) Blocked() []string {
	var out []string
	for _, c := range b.Causes() {
		out = append(out, c.String())
	}
	return out
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}
