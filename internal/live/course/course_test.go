package course_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/course"
	"github.com/argosy-cd/argosy/internal/plan"
)

var root = live.Key{Group: argo.Group, Kind: argo.KindApplication, Namespace: "argocd", Name: "root"}

// replay feeds a course with each state of a recording.
func replay(t *testing.T, c *course.Course, file string) []course.Event {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := live.New("argocd")
	events := c.Next(m.Snapshot())
	if err := live.Read(file, f, func(e live.Event) {
		m.Apply(e)
		events = append(events, c.Next(m.Snapshot())...)
	}); err != nil {
		t.Fatal(err)
	}
	return events
}

func planned(apps ...*plan.Application) *plan.Plan {
	return &plan.Plan{Namespace: "argocd", Applications: apps}
}

func app(name string, items ...*plan.Item) *plan.Application {
	return &plan.Application{Ref: argo.Ref{Namespace: "argocd", Name: name}, Items: items}
}

// TestCourse replays a boot of the lab: a root, image in wave 1 that is broken for a while, later in wave 2.
func TestCourse(t *testing.T) {
	c := course.New(root)
	var got []string
	for _, e := range replay(t, c, "../testdata/boot.jsonl") {
		switch e.What {
		case course.WaveStarted, course.WaveFinished:
			got = append(got, fmt.Sprintf("%s %s %d: %s", e.What, e.Title, e.Wave, strings.Join(e.Applications, " ")))
		default:
			got = append(got, fmt.Sprintf("%s %s", e.What, e.Title))
		}
	}
	want := []string{
		"created root", "created image", "wave-started root 1: image", "synced image", "synced image", "healthy image",
		"wave-finished root 1: image", "created later", "wave-started root 2: later", "synced root", "synced later", "healthy later",
		"wave-finished root 2: later", "healthy root",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	image, later := app("image"), app("later")
	items := []*plan.Item{{Application: image, Wave: 1, Waits: true}, {Application: later, Wave: 2}}
	r := c.Compare(planned(app("root", items...), image, later), time.Time{})
	if !r.Same() || r.Planned != 3 || r.Real != 3 || len(r.Times) != 3 {
		t.Errorf("%+v", r)
	}
	for _, x := range r.Times {
		if x.Healthy < x.Created || x.Took < 0 || x.Deploys != (x.Title == "root") {
			t.Errorf("%+v", x)
		}
	}
	r = c.Compare(planned(app("root"), image, app("other")), time.Time{})
	if diff := cmp.Diff([2][]string{{"other"}, {"later"}}, [2][]string{r.Absent, r.Unplanned}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestAgain: what was healthy when the course began is no event, and has no times.
func TestAgain(t *testing.T) {
	m := live.New("argocd")
	f, err := os.Open("../testdata/boot.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := live.Read("boot.jsonl", f, m.Apply); err != nil {
		t.Fatal(err)
	}
	c := course.New(root)
	for range 2 {
		if events := c.Next(m.Snapshot()); len(events) > 0 {
			t.Errorf("%+v", events)
		}
	}
	if r := c.Compare(planned(app("root"), app("image"), app("later")), time.Time{}); !r.Same() || len(r.Times) > 0 {
		t.Errorf("%+v", r)
	}
}

func seen(name, wave, health, made string) live.Event {
	return live.Event{What: live.Seen, Object: map[string]any{
		"apiVersion": argo.APIVersion, "kind": argo.KindApplication, "metadata": map[string]any{
			"namespace": "argocd", "name": name, "creationTimestamp": made, "annotations": map[string]any{
				"argocd.argoproj.io/sync-wave": wave, argo.TrackingAnnotation: "root:argoproj.io/Application:argocd/" + name,
			},
		}, "status": map[string]any{"health": map[string]any{"status": health}, "sync": map[string]any{"status": "Synced"}},
	}}
}

// TestOrder: an Application of a later wave that came first, or before one that its parent waits for was healthy.
func TestOrder(t *testing.T) {
	const early, late = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"
	for name, c := range map[string]struct {
		events []live.Event
		waits  bool
		want   []string
	}{
		"in order": {events: []live.Event{
			seen("a", "1", "Progressing", early), seen("a", "1", "Healthy", early), seen("b", "2", "Healthy", late),
		}, waits: true},
		"before": {events: []live.Event{seen("b", "2", "Healthy", early), seen("a", "1", "Healthy", late)}, want: []string{
			"b (wave 2) was created before a (wave 1)",
		}},
		"did not wait": {events: []live.Event{
			seen("a", "1", "Progressing", early), seen("b", "2", "Healthy", late), seen("a", "1", "Healthy", early),
		}, waits: true, want: []string{"b (wave 2) was created before a (wave 1) was healthy"}},
		"need not wait": {events: []live.Event{
			seen("a", "1", "Progressing", early), seen("b", "2", "Healthy", late),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m, x := live.New("argocd"), course.New(root)
			x.Next(m.Snapshot())
			for i, e := range append([]live.Event{seen("root", "", "Healthy", early)}, c.events...) {
				e.At = time.Unix(int64(i), 0)
				m.Apply(e)
				x.Next(m.Snapshot())
			}
			a, b := app("a"), app("b")
			items := []*plan.Item{{Application: a, Wave: 1, Waits: c.waits}, {Application: b, Wave: 2}}
			r := x.Compare(planned(app("root", items...), a, b), time.Time{})
			if diff := cmp.Diff(c.want, r.Order); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestGone: one that is deleted and comes again is two events.
func TestGone(t *testing.T) {
	m, x := live.New("argocd"), course.New(root)
	m.Apply(seen("root", "", "Healthy", ""))
	x.Next(m.Snapshot())
	var got []course.What
	for _, what := range []live.What{live.Seen, live.Gone, live.Seen} {
		e := seen("a", "1", "Degraded", "")
		e.What = what
		m.Apply(e)
		for _, e := range x.Next(m.Snapshot()) {
			if e.Title == "a" {
				got = append(got, e.What)
			}
		}
	}
	want := []course.What{course.Created, course.Synced, course.Degraded, course.Gone, course.Created, course.Synced, course.Degraded}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestUnhydrated: an Application whose source was not hydrated has what its last commit has. It is not done.
func TestUnhydrated(t *testing.T) {
	m, x := live.New("argocd"), course.New(root)
	m.Apply(seen("root", "", "Healthy", ""))
	x.Next(m.Snapshot())
	e := seen("a", "1", "Healthy", "")
	e.Object["spec"] = map[string]any{"sourceHydrator": map[string]any{"drySource": map[string]any{}}}
	e.Object["status"].(map[string]any)["sourceHydrator"] = map[string]any{"currentOperation": map[string]any{"phase": "Failed"}}
	m.Apply(e)
	for _, e := range x.Next(m.Snapshot()) {
		if e.What == course.Healthy || e.What == course.Synced || e.What == course.WaveFinished {
			t.Errorf("%s %s", e.What, e.Title)
		}
	}
}
