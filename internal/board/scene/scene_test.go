package scene_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/board/scene"
	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
)

// tree is a root with longhorn in wave 1 and apps in wave 2.
func tree() *plan.Plan {
	application := func(name string, items ...*plan.Item) *plan.Application {
		return &plan.Application{Ref: argo.Ref{Namespace: "argocd", Name: name}, Project: "default", Items: items, Automated: true}
	}
	workload := func() *plan.Item {
		return &plan.Item{Group: "apps", Kind: "Deployment", Namespace: "x", Name: "x", Phase: plan.Sync, Waits: true}
	}
	child := func(a *plan.Application, wave int) *plan.Item {
		return &plan.Item{
			Group: argo.Group, Kind: argo.KindApplication, Namespace: "argocd", Name: a.Name, Phase: plan.Sync, Wave: wave, Application: a,
			Waits: true,
		}
	}
	longhorn, fast, slow := application("longhorn", workload()), application("fast", workload()), application("slow", workload())
	root := application("root", child(longhorn, 1), child(fast, 2), child(slow, 2))
	return &plan.Plan{Root: root, Applications: []*plan.Application{root, longhorn, fast, slow}, Namespace: "argocd"}
}

func simulated(t *testing.T, faults ...simulate.Fault) *scene.Scene {
	t.Helper()
	p, m := tree(), simulate.DefaultModel()
	m.Horizon = time.Hour
	usual, err := simulate.Simulate(p, m)
	if err != nil {
		t.Fatal(err)
	}
	boot, err := simulate.Simulate(p, m, faults...)
	if err != nil {
		t.Fatal(err)
	}
	return scene.Simulate(p, nil, usual, boot)
}

func find(t *testing.T, s *scene.Scene, name string) *scene.App {
	t.Helper()
	i := slices.IndexFunc(s.Apps, func(a scene.App) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return &s.Apps[i]
}

// sound checks what every scene promises.
func sound(t *testing.T, s *scene.Scene) {
	t.Helper()
	seen, placed := map[string]bool{}, 0
	for _, a := range s.Apps {
		if seen[a.Key] || a.Parent != "" && !seen[a.Parent] {
			t.Errorf("%s is there twice, or before its parent", a.Key)
		}
		seen[a.Key] = true
		if !slices.IsSortedFunc(a.History, func(x, y scene.State) int { return int(x.At - y.At) }) {
			t.Errorf("%s: states are not in order: %+v", a.Key, a.History)
		}
		if n := len(a.History); n > 0 && a.History[n-1].At > s.Now {
			t.Errorf("%s: a state is newer than the scene", a.Key)
		}
	}
	for _, section := range s.Sections {
		for _, lane := range section.Lanes {
			for _, key := range lane.Apps {
				placed++
				if !seen[key] {
					t.Errorf("%s is in a lane and not in the scene", key)
				}
			}
		}
	}
	if len(s.Apps) > 0 && placed == 0 {
		t.Error("no Application is in a lane")
	}
}

func TestSimulatedBoot(t *testing.T) {
	s := simulated(t)
	sound(t, s)
	for _, a := range s.Apps {
		if a.Last().Is != scene.Healthy || a.Planned == nil || a.History[len(a.History)-1].At != a.Planned.Healthy {
			t.Errorf("%s ends %+v, planned %+v", a.Name, a.Last(), a.Planned)
		}
	}
	want := []scene.Section{{Root: "argocd/root", Lanes: []scene.Lane{
		{Phase: plan.Sync, Wave: 1, Apps: []string{"argocd/longhorn"}}, {Phase: plan.Sync, Wave: 2, Apps: []string{"argocd/fast", "argocd/slow"}},
	}}}
	if diff := cmp.Diff(want, s.Sections); diff != "" {
		t.Error(diff)
	}
	if len(s.Path) == 0 || s.Path[0].From != 0 || s.Path[len(s.Path)-1].To != s.Now {
		t.Errorf("the critical path is not the boot: %+v", s.Path)
	}
	// In the middle, longhorn runs, the root waits for it, and the rest waits for its wave.
	half := s.Until(find(t, s, "longhorn").Planned.Healthy - 1000)
	if root := find(t, half, "root").Last(); root.Is != scene.Running || !slices.Equal(root.Waits, []string{"argocd/longhorn"}) {
		t.Errorf("the root is %+v", root)
	}
	if fast := find(t, half, "fast").Last(); fast.Is != scene.Waiting || fast.Note != "wave 2 of root" {
		t.Errorf("fast is %+v", fast)
	}
}

func TestFailure(t *testing.T) {
	s := simulated(t, simulate.Fault{App: "longhorn", Kind: simulate.Fail})
	sound(t, s)
	if l := find(t, s, "longhorn").Last(); l.Is != scene.Failing || !strings.Contains(l.Note, "Deployment x") {
		t.Errorf("longhorn is %+v", l)
	}
	if root := find(t, s, "root").Last(); root.Is != scene.Blocked || !slices.Equal(root.Waits, []string{"argocd/longhorn"}) {
		t.Errorf("the root is %+v", root)
	}
	if slow := find(t, s, "slow").Last(); slow.Is != scene.Waiting {
		t.Errorf("slow is %+v", slow)
	}
	if len(s.Path) > 0 {
		t.Error("a boot that does not end has no critical path")
	}
}

// recorded is a boot of the lab.
func recorded(t *testing.T) *scene.Scene {
	t.Helper()
	f, err := os.Open("../../live/testdata/boot.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, _, err := scene.Replay("boot.jsonl", f, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReplay(t *testing.T) {
	s := recorded(t)
	sound(t, s)
	if s.Mode != scene.Recorded || s.Start == 0 || s.Stale != "" {
		t.Errorf("%s from %d, %q", s.Mode, s.Start, s.Stale)
	}
	// Somebody was waiting before, and is not at the end.
	changes := 0
	for _, a := range s.Apps {
		changes += len(a.History)
	}
	if changes <= len(s.Apps) {
		t.Errorf("%d states of %d Applications: nothing happens", changes, len(s.Apps))
	}
}

// apply does what the page does with a change.
func apply(s *scene.Scene, d *scene.Delta) *scene.Scene {
	out := *s
	out.Now, out.End, out.Title, out.Stale, out.Unknown, out.Speed, out.Path = d.Now, d.End, d.Title, d.Stale, d.Unknown, d.Speed, d.Path
	if d.Sections != nil {
		out.Sections = d.Sections
	}
	out.Apps = slices.Clone(s.Apps)
	out.Apps = slices.DeleteFunc(out.Apps, func(a scene.App) bool { return slices.Contains(d.Gone, a.Key) })
	for _, c := range d.Apps {
		app := c.App
		i := slices.IndexFunc(out.Apps, func(a scene.App) bool { return a.Key == c.Key })
		if i < 0 {
			out.Apps = append(out.Apps, app)
			continue
		}
		app.History = append(slices.Clone(out.Apps[i].History[:c.From]), app.History...)
		out.Apps[i] = app
	}
	return &out
}

func TestDelta(t *testing.T) {
	for name, s := range map[string]*scene.Scene{
		"simulated": simulated(t, simulate.Fault{App: "longhorn", Kind: simulate.Fail, Mended: time.Minute}), "recorded": recorded(t),
	} {
		t.Run(name, func(t *testing.T) {
			before := s.Until(0)
			for now := int64(0); now <= s.Now+1000; now += 700 {
				after := s.Until(now)
				d, ok := scene.Diff(before, after)
				if !ok {
					t.Fatal("only the whole scene tells it")
				}
				if diff := cmp.Diff(after, apply(before, d)); diff != "" {
					t.Fatalf("at %d: %s", now, diff)
				}
				before = after
			}
		})
	}
	if _, ok := scene.Diff(nil, recorded(t)); ok {
		t.Error("the first scene is a change")
	}
}

func TestOnly(t *testing.T) {
	s := simulated(t, simulate.Fault{App: "longhorn", Kind: simulate.Fail})
	s.Faults = []string{"argocd/longhorn"}
	s.Unknown = []string{"longhorn"}
	s.Findings = []scene.Finding{{Subject: "longhorn", Message: "longhorn"}, {Apps: []string{"argocd/slow"}, Subject: "slow", Message: "after longhorn"}}
	s.Stale, s.Total = "longhorn is gone", s.Total+1
	for _, visible := range [][]string{{"argocd/slow"}, {"argocd/slow", "argocd/root"}, nil} {
		t.Run(fmt.Sprint(visible), func(t *testing.T) {
			only := s.Only(func(key string) bool { return slices.Contains(visible, key) })
			sound(t, only)
			data, err := json.Marshal(only)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(data), "longhorn") || strings.Contains(string(data), "fast") {
				t.Errorf("it names others: %s", data)
			}
			if len(only.Apps) != len(visible) {
				t.Errorf("%d Applications are shown", len(only.Apps))
			}
		})
	}
}

func TestFindings(t *testing.T) {
	found := []lint.Finding{
		{Rule: lint.Rule{Rule: plan.Rule{Name: "note", Cure: "c"}}, Severity: plan.Info, Subjects: []string{"root"}, Message: "m"},
		{
			Rule: lint.Rule{Rule: plan.Rule{Name: "bad"}}, Severity: plan.Error, Subjects: []string{"argocd/slow", "fast", "gone"}, File: "x.yaml", Line: 7,
			Message: "https://u:hunter2@git.example.com is away",
		},
	}
	s := scene.FromPlan(tree(), &lint.Report{
		Findings: found, NotChecked: []lint.NotChecked{{Rule: lint.Rule{Rule: plan.Rule{Name: "blind"}}, Reason: "no settings", More: 2}},
	}, nil)
	want := []scene.Finding{
		{
			Apps: []string{"argocd/slow", "argocd/fast"}, Subject: "argocd/slow, fast, gone", Rule: "bad", Severity: "error", File: "x.yaml:7",
			Message: "https://git.example.com/ is away",
		},
		{Apps: []string{"argocd/root"}, Subject: "root", Rule: "note", Severity: "info", Message: "m", Cure: "c"},
		{Rule: "blind", Severity: "not checked", Message: "no settings; and 2 more"},
	}
	if diff := cmp.Diff(want, s.Findings); diff != "" {
		t.Error(diff)
	}
	for name, n := range map[string]int{"root": 0, "slow": 1, "fast": 1, "longhorn": 0} {
		if got := find(t, s, name).Findings; got != n {
			t.Errorf("%s has %d findings", name, got)
		}
	}
	// Who may not see all Applications gets none, because one may name others.
	if only := s.Only(func(key string) bool { return key != "argocd/longhorn" }); len(only.Findings) > 0 || find(t, only, "slow").Findings > 0 {
		t.Errorf("%+v", only)
	}
	if all := s.Only(func(string) bool { return true }); len(all.Findings) != 3 {
		t.Errorf("%+v", all)
	}
}

// endless is a reader that never ends.
type endless string

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e[i%len(e)]
	}
	return len(p), nil
}

func TestHostileRecordings(t *testing.T) {
	many := func(yield func(string) bool) {
		for i := range 20_002 {
			if !yield(fmt.Sprintf(`{"at":"2026-03-01T12:00:00Z","what":"seen","object":{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"namespace":"argocd","name":"a%d"}}}`+"\n", i)) {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		r    io.Reader
		want string
	}{
		"garbage":      {strings.NewReader("\x00\xff{\n"), "x:1: not an event of a recording"},
		"endless line": {endless("{"), "x: a line has more than 8 MiB"},
		"zeros":        {endless("\x00"), "x: a line has more than 8 MiB"},
		"deep":         {strings.NewReader(strings.Repeat(`{"object":`, 20_000) + "\n"), "x:1: not an event of a recording"},
		"too many":     {strings.NewReader(strings.Join(slices.Collect(many), "")), "x: it has more than 20000 Applications and sets"},
		"wrong types":  {strings.NewReader(`{"what":"seen","object":{"kind":7,"metadata":[]}}` + "\n"), "x:1: "},
		"no times": {strings.NewReader(`{"what":"seen","object":{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"a","creationTimestamp":"never"},` +
			`"status":{"health":7,"resources":{"a":1},"operationState":[]},"spec":"x"}}` + "\n"), ""},
		"empty": {strings.NewReader(""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, err := scene.Replay("x", c.r, "argocd")
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				sound(t, s)
			} else if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
