// Package course follows how a boot goes: from one snapshot of package live to the next, what has happened to the Applications below some
// roots and to their waves, when each of them was there, synced and healthy, and in the end how that differs from the plan.
//
// It has no clock: times are those of the snapshots. What was there before the course began has no times, and no events.
package course

import (
	"cmp"
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/live"
)

// What is the kind of an event.
type What string

// Kinds of events.
const (
	Created      What = "created"
	Synced       What = "synced"
	Healthy      What = "healthy" // itself and everything that it deploys
	Degraded     What = "degraded"
	Gone         What = "gone"
	WaveStarted  What = "wave-started"  // the first Application of a wave exists
	WaveFinished What = "wave-finished" // all Applications of a wave are healthy
)

// Event is something that happened to an Application or a set, or to a wave of one.
type Event struct {
	At   time.Time
	What What
	Key  live.Key
	// Title is its name for people.
	Title string
	// Wave is its own wave in its parent, or for events of a wave the number of the wave; Phase likewise.
	Wave  int
	Phase string
	// Parent is the title of the Application that deploys it, "" for a root.
	Parent string
	// Applications are the titles of a wave's Applications.
	Applications []string
}

// Record holds what is known about an Application or a set that exists, or existed.
type Record struct {
	Key   live.Key
	Title string
	// Parent is the Application that deploys it; the zero Key for a root.
	Parent live.Key
	Wave   int
	Phase  string
	// Before says that it existed when the course began.
	Before bool
	// Deploys says that it deploys other Applications.
	Deploys bool
	// Made is when the cluster says that it was created; whole seconds.
	Made time.Time
	// Created is when it was seen first, Applied when its first sync ended well, First when it called itself Healthy first, Healthy when it
	// was, with everything below it. Zero is not yet, or before the course began.
	Created, Applied, First, Healthy time.Time

	state state
}

// state is compared to find events.
type state struct{ synced, healthy, degraded, gone bool }

// Course follows a boot. It is not safe for concurrent use.
type Course struct {
	roots   []live.Key
	records map[live.Key]*Record
	waves   map[wave]*state
	began   bool
}

// wave is a wave of an Application.
type wave struct {
	parent live.Key
	phase  string
	number int
}

// New returns the course of the boot of some roots.
func New(roots ...live.Key) *Course {
	return &Course{roots: roots, records: map[live.Key]*Record{}, waves: map[wave]*state{}}
}

// Next takes the next snapshot, and returns the events since the previous one, in the order of the tree. The first one has no events.
func (c *Course) Next(s *live.Snapshot) []Event {
	var out []Event
	there := map[live.Key]bool{}
	for _, key := range c.roots {
		if root := s.Get(key); root != nil {
			root.All(func(n *live.Node) {
				if !n.Missing {
					there[n.Key()] = true
					out = append(out, c.node(s, n)...)
				}
			})
			root.All(func(n *live.Node) { out = append(out, c.wavesOf(s, n)...) })
		}
	}
	for _, r := range c.Records() {
		if !there[r.Key] && !r.state.gone {
			r.state = state{gone: true}
			out = append(out, r.event(s.At, Gone))
		}
	}
	if !c.began {
		c.began = true
		return nil
	}
	return out
}

// node records a node that exists, and returns its events.
func (c *Course) node(s *live.Snapshot, n *live.Node) []Event {
	r := c.records[n.Key()]
	var out []Event
	if r == nil || r.state.gone {
		r = &Record{Key: n.Key(), Title: s.Title(n), Before: !c.began, Made: n.Created}
		c.records[r.Key] = r
		r.place(n)
		if !r.Before {
			r.Created = s.At
		}
		out = append(out, r.event(s.At, Created))
	}
	r.place(n)
	was, now := r.state, state{
		synced:  !n.Set && n.Sync == argo.Synced && n.Settled(),
		healthy: settled(n), degraded: n.Health == health.Degraded,
	}
	r.state = now
	if applied := n.Operation != nil && n.Operation.Phase == argo.PhaseSucceeded || n.Set && n.Health == health.Healthy; applied {
		r.Applied = r.first(r.Applied, s.At)
	}
	if n.Health == health.Healthy {
		r.First = r.first(r.First, s.At)
	}
	if now.synced && !was.synced {
		out = append(out, r.event(s.At, Synced))
	}
	if now.healthy && !was.healthy {
		r.Healthy = r.first(r.Healthy, s.At)
		out = append(out, r.event(s.At, Healthy))
	}
	if now.degraded && !was.degraded {
		out = append(out, r.event(s.At, Degraded))
	}
	return out
}

// first returns a time that is set only once; zero if the node existed before the course began.
func (r *Record) first(known, now time.Time) time.Time {
	if r.Before {
		return time.Time{}
	}
	if known.IsZero() {
		return now
	}
	return known
}

func (r *Record) place(n *live.Node) {
	r.Wave, r.Phase, r.Deploys = n.Wave, n.Phase, r.Deploys || len(n.Children) > 0
	if n.Parent != nil {
		r.Parent = n.Parent.Key()
	}
}

func (r *Record) event(at time.Time, what What) Event {
	return Event{At: at, What: what, Key: r.Key, Title: r.Title, Wave: r.Wave, Phase: r.Phase, Parent: r.Parent.Name}
}

// settled reports whether a node and everything below it is healthy and has nothing to do.
func settled(n *live.Node) bool {
	// An OutOfSync Application counts as done once Argo CD has compared it after its last successful sync.
	op := n.Operation
	done := n.Set || n.Sync == argo.Synced || op != nil && op.Phase == argo.PhaseSucceeded && n.Compared.After(op.Finished)
	if !n.Settled() || n.Health != health.Healthy || !done {
		return false
	}
	return !slices.ContainsFunc(n.Children, func(child *live.Node) bool { return !settled(child) })
}

// wavesOf records the waves of a node, and returns their events.
func (c *Course) wavesOf(s *live.Snapshot, n *live.Node) []Event {
	if n.Set {
		return nil // its Applications come at once
	}
	children := map[wave][]*live.Node{}
	var inOrder []wave
	for _, child := range n.Children {
		w := wave{n.Key(), child.Phase, child.Wave}
		if children[w] == nil {
			inOrder = append(inOrder, w)
		}
		children[w] = append(children[w], child)
	}
	slices.SortFunc(inOrder, func(a, b wave) int { return order.Compare(a.phase, a.number, b.phase, b.number) })
	var out []Event
	for _, w := range inOrder {
		event := Event{At: s.At, Key: n.Key(), Title: s.Title(n), Wave: w.number, Phase: w.phase}
		started, finished := false, true
		for _, child := range children[w] {
			event.Applications = append(event.Applications, s.Title(child))
			started = started || !child.Missing
			finished = finished && settled(child)
		}
		was := c.waves[w]
		if was == nil {
			was = &state{}
			c.waves[w] = was
		}
		if started && !was.synced {
			event.What = WaveStarted
			out = append(out, event)
		}
		if finished && !was.healthy {
			event.What = WaveFinished
			out = append(out, event)
		}
		was.synced, was.healthy = was.synced || started, finished
	}
	return out
}

// Records returns all that are or were there, by when they came.
func (c *Course) Records() []*Record {
	out := make([]*Record, 0, len(c.records))
	for _, r := range c.records {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Record) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name),
			cmp.Compare(a.Key.Kind, b.Key.Kind))
	})
	return out
}
