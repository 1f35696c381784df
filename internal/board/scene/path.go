package scene

import (
	"fmt"
	"slices"
)

// criticalPath shows where a real boot spent its time: from the Application that became healthy last back to the beginning. It is empty if
// a root is not healthy.
func (s *Scene) criticalPath() []Leg {
	if len(s.Sections) == 0 || s.Sections[0].Root == "" {
		return nil
	}
	by := map[string]*App{}
	children := map[string][]*App{}
	for i := range s.Apps {
		a := &s.Apps[i]
		by[a.Key] = a
		children[a.Parent] = append(children[a.Parent], a)
	}
	root := by[s.Sections[0].Root]
	if root.Last().Is != Healthy {
		return nil
	}
	w := pathWalk{by, children, map[string]bool{}, nil}
	w.healthy(root)
	slices.Reverse(w.legs)
	return w.legs
}

// pathWalk goes back in time.
type pathWalk struct {
	by       map[string]*App
	children map[string][]*App
	seen     map[string]bool
	legs     []Leg
}

func (w *pathWalk) leg(a *App, what string, from, to int64) {
	if to > from {
		w.legs = append(w.legs, Leg{a.Key, what, from, to})
	}
}

// healthy is how an Application became healthy: by its last child, or by itself.
func (w *pathWalk) healthy(a *App) {
	if w.seen[a.Key] {
		return
	}
	w.seen[a.Key] = true
	t := a.times()
	if last := latest(w.children[a.Key], t.Healthy); last != nil && last.times().Healthy > t.Created {
		w.leg(a, "sees it", last.times().Healthy, t.Healthy)
		w.healthy(last)
		return
	}
	w.leg(a, "becomes healthy", max(t.Created, 0), t.Healthy)
	w.created(a)
}

// created is why an Application was created when it was: the last of an earlier wave, or its parent.
func (w *pathWalk) created(a *App) {
	parent := w.by[a.Parent]
	at := a.times().Created
	if parent == nil || at <= 0 {
		return
	}
	var before []*App
	for _, sibling := range w.children[a.Parent] {
		if sibling.Phase == a.Phase && sibling.Wave < a.Wave {
			before = append(before, sibling)
		}
	}
	// The clock of Argo CD has seconds.
	if last := latest(before, at+1000); last != nil {
		w.leg(parent, fmt.Sprintf("goes on to wave %d", a.Wave), last.times().Healthy, at)
		w.healthy(last)
		return
	}
	w.leg(parent, "begins", max(parent.times().Created, 0), at)
	w.created(parent)
}

// latest is the Application that became healthy last, up to a time.
func latest(apps []*App, until int64) *App {
	var out *App
	for _, a := range apps {
		if t := a.times(); t.Healthy >= 0 && t.Healthy <= until && (out == nil || t.Healthy > out.times().Healthy) {
			out = a
		}
	}
	return out
}
