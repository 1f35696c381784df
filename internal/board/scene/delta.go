package scene

import (
	"reflect"
	"slices"
)

// Delta is the difference between two scenes.
type Delta struct {
	Now     int64    `json:"now"`
	End     int64    `json:"end"`
	Title   string   `json:"title"`
	Stale   string   `json:"stale,omitempty"`
	Unknown []string `json:"unknown,omitempty"`
	Speed   float64  `json:"speed,omitempty"`
	// Apps are the new and changed Applications.
	Apps []Change `json:"apps,omitempty"`
	Gone []string `json:"gone,omitempty"`
	// Sections are the new ones. Nil is unchanged.
	Sections []Section `json:"sections,omitempty"`
	Path     []Leg     `json:"path,omitempty"`
}

// Change is an Application with its new states.
type Change struct {
	App
	// From is how many of the states before are still true; History follows them.
	From int `json:"from"`
}

// Diff returns the changes between two scenes, and false if only the whole new scene has them.
func Diff(before, after *Scene) (*Delta, bool) {
	if before == nil || before.Start != after.Start || before.Mode != after.Mode || !slices.Equal(before.Faults, after.Faults) ||
		before.Plan != after.Plan || before.Total != after.Total {
		return nil, false
	}
	d := &Delta{
		Now: after.Now, End: after.End, Title: after.Title, Stale: after.Stale, Unknown: after.Unknown, Speed: after.Speed,
		Path: after.Path,
	}
	old := make(map[string]*App, len(before.Apps))
	for i := range before.Apps {
		old[before.Apps[i].Key] = &before.Apps[i]
	}
	for i := range after.Apps {
		a := &after.Apps[i]
		was := old[a.Key]
		delete(old, a.Key)
		if change, ok := changed(was, a); ok {
			d.Apps = append(d.Apps, change)
		}
	}
	for i := range before.Apps {
		if old[before.Apps[i].Key] != nil {
			d.Gone = append(d.Gone, before.Apps[i].Key)
		}
	}
	if !reflect.DeepEqual(before.Sections, after.Sections) {
		d.Sections = after.Sections
	}
	return d, true
}

// Same reports whether nothing but the time has changed since a scene.
func (d *Delta) Same(before *Scene) bool {
	return len(d.Apps)+len(d.Gone) == 0 && d.Sections == nil && d.Title == before.Title && d.Stale == before.Stale &&
		d.Speed == before.Speed && slices.Equal(d.Unknown, before.Unknown) && slices.Equal(d.Path, before.Path)
}

// changed compares an Application with its former state; nil if it is new.
func changed(was, is *App) (Change, bool) {
	c := Change{App: *is}
	if was == nil {
		return c, true
	}
	n := 0
	for n < len(was.History) && n < len(is.History) && was.History[n].At == is.History[n].At && was.History[n].same(is.History[n]) {
		n++
	}
	c.From, c.History = n, is.History[n:]
	if n == len(was.History) && n == len(is.History) {
		a, b := *was, *is
		a.History, b.History = nil, nil
		return c, !reflect.DeepEqual(a, b)
	}
	return c, true
}

// Hidden replaces notes that may name Applications the viewer may not see.
const Hidden = "an Application that you may not see"

// Only returns the scene with the visible Applications. A set is visible if one of its Applications is.
func (s *Scene) Only(visible func(key string) bool) *Scene {
	shown, sets := map[string]bool{}, map[string]bool{}
	for _, a := range s.Apps { // parents are before their children
		sets[a.Key] = a.Set
		if !a.Set && visible(a.Key) {
			shown[a.Key] = true
			shown[a.Parent] = shown[a.Parent] || sets[a.Parent]
		}
	}
	out := *s
	out.Apps, out.Path, out.Findings, out.Unknown, out.Faults = []App{}, nil, nil, nil, nil
	for _, a := range s.Apps {
		if !shown[a.Key] {
			continue
		}
		if !shown[a.Parent] {
			a.Parent = ""
		}
		hidden := func(key string) bool { return !shown[key] }
		a.Needs = slices.DeleteFunc(slices.Clone(a.Needs), hidden)
		a.History = slices.Clone(a.History)
		for i := range a.History {
			st := &a.History[i]
			if slices.ContainsFunc(st.Waits, hidden) || st.Is == Waiting && a.Parent == "" {
				st.Note = Hidden
			}
			st.Waits = slices.DeleteFunc(slices.Clone(st.Waits), hidden)
		}
		out.Apps = append(out.Apps, a)
	}
	out.Total = 0
	for _, a := range out.Apps {
		if a.Planned != nil {
			out.Total = max(out.Total, a.Planned.Healthy)
		}
	}
	out.End = max(out.Now, out.Total)
	if out.Stale != "" {
		out.Stale = "the cluster cannot be watched" // the reason may name others
	}
	for _, leg := range s.Path {
		if shown[leg.App] {
			out.Path = append(out.Path, leg)
		}
	}
	for _, key := range s.Faults {
		if shown[key] {
			out.Faults = append(out.Faults, key)
		}
	}
	if len(out.Apps) == len(s.Apps) {
		out.Findings = s.Findings
	} else {
		out.Title = "your Applications"
		for i := range out.Apps {
			out.Apps[i].Findings = 0 // a finding may name others
		}
	}
	out.arrange()
	return &out
}

// Until returns the scene as it was at a time. Data from the plan stays.
func (s *Scene) Until(now int64) *Scene {
	out := *s
	out.Now, out.Apps = min(now, s.Now), slices.Clone(s.Apps)
	for i := range out.Apps {
		a := &out.Apps[i]
		n, _ := slices.BinarySearchFunc(a.History, out.Now, func(st State, at int64) int {
			if st.At <= at {
				return -1
			}
			return 1
		})
		a.History = a.History[:n:n]
	}
	if out.Now < s.Now {
		out.End, out.Path = max(out.Now, out.Total), nil
	}
	return &out
}
