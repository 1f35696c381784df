package scene

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/words"
)

// Limits of what a tracker remembers.
const (
	maxHistory = 200 // states of one Application
	maxNote    = 300 // bytes of a note
	// longAgo is the age at which the boot of a root counts as over: the scene then begins now.
	longAgo = 6 * time.Hour
)

// Tracker turns snapshots of a boot into scenes. It remembers the states of each Application. The zero value is ready.
type Tracker struct {
	// Mode is the mode of the scenes; "" is Live.
	Mode Mode

	start time.Time
	apps  map[string]*App
}

// Observe returns the scene of a snapshot, which must not be older than the one before.
func (t *Tracker) Observe(snap *live.Snapshot) *Scene {
	if t.apps == nil {
		t.apps = map[string]*App{}
	}
	if t.start.IsZero() && len(snap.Nodes) > 0 {
		t.start = begin(snap)
	}
	s := &Scene{Mode: cmp.Or(t.Mode, Live), Title: title(snap), Unknown: report.Unseen(snap), Apps: []App{}}
	if !t.start.IsZero() {
		s.Start, s.Now = t.start.UnixMilli(), t.ms(snap.At)
	}
	states := newStates(snap)
	there := map[string]bool{}
	for _, n := range snap.Nodes {
		key := keyOf(n)
		there[key] = true
		s.Apps = append(s.Apps, *t.observe(key, n, states[n], s.Now))
	}
	for key := range t.apps {
		if !there[key] {
			delete(t.apps, key)
		}
	}
	s.End = s.Now
	s.Stale = stale(snap)
	s.arrange()
	s.Path = s.criticalPath()
	return s
}

// begin is when a boot began: when its oldest root was created, or when its watch began if that is long ago.
func begin(snap *live.Snapshot) time.Time {
	var first time.Time
	for _, root := range snap.Roots {
		if !root.Created.IsZero() && (first.IsZero() || root.Created.Before(first)) && snap.At.Sub(root.Created) < longAgo {
			first = root.Created
		}
	}
	if first.IsZero() {
		return snap.At
	}
	return first
}

func (t *Tracker) ms(at time.Time) int64 { return at.Sub(t.start).Milliseconds() }

func title(snap *live.Snapshot) string {
	var names []string
	for _, root := range snap.Roots {
		if len(root.Children) > 0 {
			names = append(names, snap.Title(root))
		}
	}
	switch len(names) {
	case 0:
		return snap.Namespace()
	case 1, 2:
		return strings.Join(names, ", ")
	}
	return snap.Namespace()
}

// stale is why a source of Applications is not watched any more, "" if all are, or if some never were.
func stale(snap *live.Snapshot) string {
	for _, source := range snap.Sources {
		if source.Listed && source.Lost != nil {
			return source.String() + ": " + live.Brief(source.Lost)
		}
	}
	return ""
}

func keyOf(n *live.Node) string { return Key(n.Set, n.Namespace, n.Name) }

// observe adds the state of a node to its history.
func (t *Tracker) observe(key string, n *live.Node, state State, now int64) *App {
	a := &App{
		Key: key, Name: n.Name, Namespace: n.Namespace, Set: n.Set, Project: n.Project, Wave: n.Wave, Phase: n.Phase,
		Source: strings.TrimSuffix(n.Repository+" @ "+n.Target, " @ "),
	}
	if n.Parent != nil {
		a.Parent = keyOf(n.Parent)
	}
	old := t.apps[key]
	state.At = now
	switch {
	case old == nil:
		a.History = t.remembered(n, state)
	case old.Last().same(state):
		a.History = old.History
	default:
		a.History = append(slices.Clip(old.History), state)
		if len(a.History) > maxHistory {
			// The first states say when it was created and synced; those in the middle are least missed.
			a.History = slices.Delete(a.History, maxHistory/4, maxHistory/4+1)
		}
	}
	t.apps[key] = a
	return a
}

// remembered reconstructs the states of a node from before the watch, by its own timestamps.
func (t *Tracker) remembered(n *live.Node, state State) []State {
	if n.Missing {
		state.At = 0
		return []State{state}
	}
	var out []State
	add := func(at time.Time, s State) {
		if !at.IsZero() && t.ms(at) < state.At && (len(out) == 0 || t.ms(at) >= out[len(out)-1].At) {
			s.At = t.ms(at)
			out = append(out, s)
		}
	}
	if !n.Created.IsZero() && t.ms(n.Created) > 0 {
		out = append(out, State{Is: Waiting})
	}
	add(n.Created, State{Is: Running, Health: string(health.Progressing)})
	if op := n.Operation; op != nil && op.Phase == argo.PhaseSucceeded && n.Sync == argo.Synced {
		add(op.Finished, State{Is: Running, Health: string(health.Progressing), Sync: n.Sync, Operation: op.Phase})
	}
	if n.HealthSince.IsZero() || t.ms(n.HealthSince) >= state.At {
		return append(out, state)
	}
	state.At = t.ms(n.HealthSince)
	if len(out) > 0 {
		state.At = max(state.At, out[len(out)-1].At)
	}
	return append(out, state)
}

// newStates are the states of all nodes.
func newStates(snap *live.Snapshot) map[*live.Node]State {
	out := make(map[*live.Node]State, len(snap.Nodes))
	for _, n := range snap.Nodes {
		out[n] = stateOf(snap, n)
	}
	// A node that waits for a failing node is blocked, directly or through others.
	blocked := map[*live.Node]bool{}
	var fails func(n *live.Node, depth int) bool
	fails = func(n *live.Node, depth int) bool {
		if known, ok := blocked[n]; ok {
			return known
		}
		blocked[n] = false // a loop ends here
		own := out[n].Is == Failing
		for _, w := range n.Waits {
			if w.Node != nil && w.Node != n && !w.Node.Missing && depth < 100 && fails(w.Node, depth+1) {
				own = true
			}
		}
		blocked[n] = own
		return own
	}
	for _, n := range snap.Nodes {
		if out[n].Is == Waiting || out[n].Is == Healthy || out[n].Is == Manual {
			continue
		}
		for _, w := range n.Waits {
			if w.Node != nil && w.Node != n && !w.Node.Missing && !w.Node.Good() && fails(w.Node, 0) {
				s := out[n]
				s.Is = Blocked
				out[n] = s
			}
		}
	}
	return out
}

// stateOf returns the state of a node without regard to its parents and children.
func stateOf(snap *live.Snapshot, n *live.Node) State {
	s := State{Health: string(n.Health), Sync: n.Sync, Note: report.WaitsFor(snap, n)}
	if op := n.Operation; op != nil {
		s.Operation = op.Phase
		if op.Retrying() {
			s.Operation = Retrying
		}
	}
	if wave, ok := n.Running(); ok {
		s.Wave = &wave
	}
	s.Waits = waits(n)
	s.Is = word(n)
	switch {
	case n.Unseen != "":
		s.Note = "it cannot be watched: " + n.Unseen
	case s.Is == Failing:
		s.Note = cmp.Or(trouble(n), s.Note)
	}
	s.Note = words.Shorten(s.Note, maxNote)
	return s
}

// maxWaits bounds the keys of a state: a parent of thousands has a new list with each that becomes healthy.
const maxWaits = 60

// waits returns the keys of the Applications that a node waits for, failing ones first. It always has those named in the note, so that the
// note is hidden from viewers who may not see one of them.
func waits(n *live.Node) []string {
	var bad, other []string
	for _, w := range n.Waits {
		switch {
		case w.Node == nil:
		case w.Node.Health == health.Degraded || word(w.Node) == Failing:
			bad = append(bad, keyOf(w.Node))
		case len(other) < maxWaits:
			other = append(other, keyOf(w.Node))
		}
	}
	bad = bad[:min(len(bad), maxWaits-min(len(other), report.MostWaits))]
	bad = append(bad, other...)
	return bad[:min(len(bad), maxWaits)]
}

// word is the state of a node without regard to others.
func word(n *live.Node) Is {
	op := n.Operation
	switch {
	case n.Unseen != "":
		return Unknown
	case n.Missing:
		return Waiting
	case n.Good():
		return Healthy
	case n.Health == health.Degraded, trouble(n) != "", op.Retrying():
		return Failing
	case op.InWindow():
		return Manual
	case op.Running(), n.Requested, !n.Deleting.IsZero():
		return Running
	case n.Health == health.Suspended, slices.ContainsFunc(n.Waits, func(w live.Wait) bool { return w.Reason == live.ForNobody }):
		return Manual
	case n.Health == "" || n.Health == health.Unknown:
		return Unknown
	}
	return Running
}

// trouble is the first error that Argo CD reports about a node, "" if there is none.
func trouble(n *live.Node) string {
	if what, message := n.Trouble(); what != "" {
		return cmp.Or(message, what)
	}
	if op := n.Operation; op.Retrying() {
		return op.Message
	}
	return ""
}

// Limits of a recording: the moments that are looked at before fewer are, and the Applications and sets in it.
const (
	maxSteps = 1500
	maxApps  = 20_000
)

// Replay reads a recording. name is its name in errors, namespace Argo CD's. The model has its final state.
func Replay(name string, r io.Reader, namespace string) (*Scene, *live.Model, error) {
	model := live.New(namespace)
	t := Tracker{Mode: Recorded}
	var last time.Time
	step, steps := 500*time.Millisecond, 0
	listed := false
	apps := map[live.Key]bool{}
	err := live.Read(name, r, func(e live.Event) {
		// The first listing is the initial state, not a series of events.
		if listed && e.At.Sub(last) >= step {
			t.Observe(model.Snapshot())
			last = e.At
			if steps++; steps%maxSteps == 0 {
				step *= 4 // a recording of days
			}
		}
		listed = listed || e.What == live.Listed
		if k := live.KeyOf(e.Object); k.Group == argo.Group && len(apps) <= maxApps {
			apps[k] = true
		}
		if len(apps) <= maxApps {
			model.Apply(e)
		}
	})
	if err == nil && len(apps) > maxApps {
		err = fmt.Errorf("%s: it has more than %d Applications and sets", name, maxApps)
	}
	if err != nil {
		return nil, nil, err
	}
	s := t.Observe(model.Snapshot())
	s.Stale = "" // it is not expected to change
	return s, model, nil
}
