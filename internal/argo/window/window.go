// Package window evaluates the sync windows of AppProjects as Argo CD does: which are for an Application, which are active at a time,
// whether a sync may begin, and when that changes.
package window

import (
	"fmt"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Kind is what a window does with syncs. Argo CD ignores other kinds.
type Kind string

// Kinds of windows.
const (
	Allow Kind = "allow"
	Deny  Kind = "deny"
)

// Window is a sync window.
type Window struct {
	Kind                               Kind
	Schedule, Duration, TimeZone       string
	ManualSync                         bool // syncs by hand are allowed while it blocks others
	And                                bool // all of the following that are set must match
	Applications, Namespaces, Clusters []string
}

// String is the window as a person would name it.
func (w *Window) String() string {
	zone := ""
	if w.TimeZone != "" && w.TimeZone != "UTC" {
		zone = " " + w.TimeZone
	}
	return fmt.Sprintf("%s %q%s for %s", w.Kind, w.Schedule, zone, w.Duration)
}

// Of are the windows of an AppProject.
func Of(project manifest.Object) []*Window {
	var out []*Window
	list, _ := manifest.Map(project, "spec")["syncWindows"].([]any)
	for _, item := range list {
		o, _ := item.(map[string]any)
		if o == nil {
			continue
		}
		out = append(out, &Window{
			Kind: Kind(manifest.String(o, "kind")), Schedule: manifest.String(o, "schedule"), Duration: manifest.String(o, "duration"),
			TimeZone: manifest.String(o, "timeZone"), ManualSync: o["manualSync"] == true, And: o["andOperator"] == true,
			Applications: manifest.Strings(o["applications"]), Namespaces: manifest.Strings(o["namespaces"]),
			Clusters: manifest.Strings(o["clusters"]),
		})
	}
	return out
}

// App has the fields that windows select by. Server and Cluster are the URL and the name of its destination; one of them is empty.
type App struct{ Name, Namespace, Server, Cluster string }

// For are the windows that are for an Application (SyncWindows.Matches).
func For(windows []*Window, a App) []*Window {
	var out []*Window
	for _, w := range windows {
		if w.matches(a) {
			out = append(out, w)
		}
	}
	return out
}

func (w *Window) matches(a App) bool {
	matched := false
	for _, by := range []struct {
		patterns []string
		values   []string
	}{
		{w.Applications, []string{a.Name}}, {w.Clusters, notEmpty(a.Cluster, a.Server)}, {w.Namespaces, []string{a.Namespace}},
	} {
		if len(by.patterns) == 0 {
			continue
		}
		if matched = anyMatch(by.patterns, by.values); matched != w.And {
			break // one element decides
		}
	}
	return matched
}

func notEmpty(values ...string) (out []string) {
	for _, v := range values {
		if v != "" {
			out = append(out, v)
		}
	}
	return out
}

func anyMatch(patterns, values []string) bool {
	for _, pattern := range patterns {
		re, err := argo.Glob(pattern, "")
		for _, value := range values {
			if pattern == "*" || err == nil && re.MatchString(value) {
				return true
			}
		}
	}
	return false
}

// times are a window's schedule, read.
type times struct {
	schedule schedule
	duration time.Duration
	zone     *time.Location
}

func (w *Window) times() (t times, err error) {
	if t.schedule, err = parseSchedule(w.Schedule); err != nil {
		return t, err
	}
	if t.duration, err = time.ParseDuration(w.Duration); err != nil {
		return t, fmt.Errorf("duration %q is not one", w.Duration)
	}
	if t.zone, err = time.LoadLocation(w.TimeZone); err != nil {
		// Argo CD takes UTC for a zone that does not exist. A machine without zones cannot know.
		if _, err := time.LoadLocation("Europe/London"); err != nil {
			return t, fmt.Errorf("time zone %q is not known on this machine", w.TimeZone)
		}
		t.zone = time.UTC
	}
	return t, nil
}

// wall returns the local time of the zone as if it were UTC; at is the inverse.
func (t times) wall(at time.Time) time.Time {
	_, offset := at.In(t.zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

func (t times) at(wall time.Time) time.Time {
	return time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), t.zone)
}

// active reports whether a window is open. A window that never opens counts as open: Argo CD takes its zero next time for a past one.
func (t times) active(at time.Time) bool {
	wall := t.wall(at)
	return t.schedule.next(wall.Add(-t.duration)).Before(wall)
}

// maxOpenings bounds the openings of a window that follow each other, maxChanges how often windows open and close until a sync may begin,
// maxWindows the windows for which that is looked for, and horizon the time until then.
const (
	maxOpenings = 1000
	maxChanges  = 100
	maxWindows  = 100
	horizon     = 365 * 24 * time.Hour
)

// change returns when an open window closes, or a closed one opens. It is zero if that is never, or not soon.
func (t times) change(at time.Time) time.Time {
	wall := t.wall(at)
	opened := t.schedule.next(wall.Add(-t.duration))
	if !opened.Before(wall) {
		return t.at(opened)
	}
	if opened.IsZero() {
		return opened
	}
	// The next opening may be before the end of this one.
	for range maxOpenings {
		next, end := t.schedule.next(opened), opened.Add(t.duration)
		if next.IsZero() || next.After(end) {
			return t.at(end)
		}
		if opened = next; opened.Sub(wall) > horizon {
			break
		}
	}
	return time.Time{}
}

// Verdict is whether a sync may begin.
type Verdict struct {
	Allowed bool
	// By are the windows that block it: the deny windows that are open, or the allow windows that are closed.
	By []*Window
	// Until is when a sync may begin, if it is blocked. Zero is that no such time was found.
	Until time.Time
}

// At decides whether a sync may begin at a time (SyncWindows.CanSync), by hand or not. The windows are those For an Application. A window
// that cannot be read is an error, and Argo CD does not sync.
func At(windows []*Window, manual bool, at time.Time) (Verdict, error) {
	all := make([]times, len(windows))
	for i, w := range windows {
		var err error
		if all[i], err = w.times(); err != nil {
			return Verdict{}, err
		}
	}
	began, v := at, decide(windows, all, manual, at)
	if v.Allowed || len(windows) > maxWindows {
		return v, nil
	}
	for range maxChanges {
		var next time.Time
		for _, t := range all {
			if c := t.change(at); !c.IsZero() && (next.IsZero() || c.Before(next)) {
				next = c
			}
		}
		if next.IsZero() || next.Sub(began) > horizon {
			break
		}
		// A window is open after the time at which it opens.
		if at = next.Add(time.Second); decide(windows, all, manual, at).Allowed {
			v.Until = next
			break
		}
	}
	return v, nil
}

func decide(windows []*Window, all []times, manual bool, at time.Time) Verdict {
	var denies, closed []*Window
	allowed := false
	for i, w := range windows {
		switch open := all[i].active(at); {
		case w.Kind == Deny && open:
			denies = append(denies, w)
		case w.Kind == Allow && open:
			allowed = true
		case w.Kind == Allow:
			closed = append(closed, w)
		}
	}
	by := denies
	if len(denies) == 0 && !allowed {
		by = closed
	}
	if len(by) == 0 || manual && allManual(by) {
		return Verdict{Allowed: true}
	}
	return Verdict{By: by}
}

func allManual(windows []*Window) bool {
	for _, w := range windows {
		if !w.ManualSync {
			return false
		}
	}
	return true
}
