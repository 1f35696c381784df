package scene

import (
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// player turns the events of a simulation into states.
type player struct {
	*builder
	boot     *simulate.Boot
	now      int64
	children map[string][]int // by key
	changed  map[int]bool
}

// play adds the states of a boot.
func (b *builder) play(boot *simulate.Boot) {
	p := &player{builder: b, boot: boot, children: map[string][]int{}, changed: map[int]bool{}}
	for i, a := range b.scene.Apps {
		p.children[a.Parent] = append(p.children[a.Parent], i)
		p.put(i, State{Is: Waiting, Note: p.waitsFor(a)})
	}
	for n, e := range boot.Events {
		p.now = e.At.Milliseconds()
		if i, ok := b.index[b.key(e.App)]; ok {
			p.event(i, e)
		}
		if n+1 == len(boot.Events) || boot.Events[n+1].At != e.At {
			p.settle()
		}
	}
}

func (p *player) waitsFor(a App) string {
	if i, ok := p.index[a.Parent]; ok && !p.scene.Apps[i].Set {
		return fmt.Sprintf("wave %d of %s", a.Wave, p.scene.Apps[i].Name)
	}
	return ""
}

// put adds a state. Two at one moment are one.
func (p *player) put(i int, s State) {
	a := &p.scene.Apps[i]
	s.At = p.now
	n := len(a.History)
	switch {
	case n > 0 && a.History[n-1].At == s.At:
		a.History[n-1] = s
		if n > 1 && a.History[n-2].same(s) {
			a.History = a.History[:n-1]
		}
	case n > 0 && a.History[n-1].same(s):
		return
	default:
		a.History = append(a.History, s)
	}
	p.changed[i] = true
}

// syncs is a note that says no more than the operation. A reason takes its place.
const syncs = "syncs"

// event is something that happens to an Application.
func (p *player) event(i int, e simulate.Event) {
	s := p.scene.Apps[i].Last()
	s.Waits = nil
	switch e.What {
	case simulate.Created:
		s = State{Is: Running, Health: string(health.Progressing), Sync: argo.OutOfSync}
	case simulate.SyncStarted:
		s.Is, s.Operation, s.Note = Running, argo.PhaseRunning, syncs
		if e.Attempt > 1 {
			s.Note = syncs + ", " + e.Detail
		}
	case simulate.WaveStarted:
		s.Wave = &e.Wave
	case simulate.Synced:
		s.Sync, s.Operation, s.Wave, s.Note = argo.Synced, argo.PhaseSucceeded, nil, ""
		if s.Health == string(health.Healthy) {
			s.Is = Healthy
		}
	case simulate.SyncFailed:
		s.Is, s.Operation, s.Note, s.Wave = Failing, Retrying, "its sync failed: "+e.Detail, nil
	case simulate.SyncGivenUp:
		s.Is, s.Operation, s.Note, s.Wave = Failing, argo.PhaseFailed, "its sync is given up "+e.Detail, nil
	case simulate.CannotMake:
		s.Is, s.Health, s.Sync, s.Note = Failing, string(health.Unknown), argo.SyncUnknown, "Argo CD cannot render its manifests: "+e.Detail
	case simulate.Refused:
		s.Is, s.Note = Failing, "Argo CD does not deploy it: "+e.Detail
	case simulate.Mended:
		s.Is, s.Note = Running, "a commit repairs it"
	case simulate.BecameState:
		s = p.became(e, s)
	}
	p.put(i, s)
}

// became is a new health.
func (p *player) became(e simulate.Event, s State) State {
	now := e.Health
	app := p.names[e.App]
	if now == health.Healthy && app.DeploysOthers() && e.At != p.boot.Find(e.App).Healthy {
		now = health.Progressing // all that are there are healthy, but more come
	}
	s.Health = string(now)
	switch {
	case now == health.Degraded:
		s.Is = Failing
		if own := p.boot.Find(e.App).Unhealthy; len(own) > 0 {
			s.Note = words.Some(own)
		} else if s.Note == "" || s.Note == syncs {
			s.Note = "its workloads are Degraded"
		}
	case s.Operation == Retrying || s.Operation == argo.PhaseFailed:
		s.Is = Failing
	case now == health.Healthy && s.Operation != argo.PhaseRunning:
		s.Is, s.Note = Healthy, ""
	default:
		s.Is = Running
	}
	return s
}

// settle updates what parents wait for, after all events of a moment.
func (p *player) settle() {
	touched := map[int]bool{}
	for i := range p.changed {
		for n, ok := i, true; ok && !touched[n]; n, ok = p.index[p.scene.Apps[n].Parent] {
			touched[n] = true
		}
	}
	p.changed = map[int]bool{}
	order := make([]int, 0, len(touched))
	for i := range touched {
		order = append(order, i)
	}
	slices.Sort(order)
	for _, i := range slices.Backward(order) { // children are behind their parents
		p.judge(i)
	}
	p.changed = map[int]bool{}
}

// judge derives the state of a parent from its children.
func (p *player) judge(i int) {
	a := &p.scene.Apps[i]
	children := p.children[a.Key]
	if len(children) == 0 {
		return
	}
	if a.Set {
		p.put(i, p.set(children))
		return
	}
	s := a.Last()
	s.Waits = nil
	fails := false
	var names []string
	for _, c := range children {
		child := &p.scene.Apps[c]
		if last := child.Last(); last.Is != Waiting && last.Is != Healthy {
			s.Waits = append(s.Waits, child.Key)
			names = append(names, child.Name)
			fails = fails || last.Is == Failing || last.Is == Blocked
		}
	}
	if s.Is == Waiting || s.Is == Healthy {
		s.Waits = nil
	} else if len(names) > 0 {
		s.Note = words.Some(names)
		if fails {
			s.Is = Blocked
		} else if s.Is == Blocked {
			s.Is = Running
		}
	} else if s.Is == Blocked {
		s.Is = Running
	}
	p.put(i, s)
}

// set is the state of an ApplicationSet: healthy as soon as its Applications exist.
func (p *player) set(children []int) State {
	for _, c := range children {
		if p.scene.Apps[c].Last().Is != Waiting {
			return State{Is: Healthy, Health: string(health.Healthy)}
		}
	}
	return State{Is: Waiting}
}
