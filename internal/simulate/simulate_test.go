package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
)

const s = time.Second

// tree makes plans by hand.
type tree struct{ apps []*plan.Application }

func (t *tree) app(name string, items ...*plan.Item) *plan.Application {
	a := &plan.Application{
		Ref: argo.Ref{Namespace: "argocd", Name: name}, Automated: true, Items: items,
		Retry: plan.Retry{Limit: 5, First: 5 * s, Factor: 2, Most: 3 * time.Minute},
	}
	t.apps = append(t.apps, a)
	return a
}

func (t *tree) plan(root *plan.Application) *plan.Plan {
	return &plan.Plan{Root: root, Applications: t.apps}
}

func object(kind string, wave int) *plan.Item {
	return &plan.Item{Kind: kind, Name: strings.ToLower(kind), Phase: plan.Sync, Wave: wave, Waits: kind != "ConfigMap", Counts: kind != "ConfigMap"}
}

func child(a *plan.Application, wave int) *plan.Item {
	return &plan.Item{Group: "argoproj.io", Kind: "Application", Name: a.Name, Phase: plan.Sync, Wave: wave, Application: a, Waits: true}
}

func set(name string, wave int, children ...*plan.Application) *plan.Item {
	return &plan.Item{Group: "argoproj.io", Kind: "ApplicationSet", Name: name, Phase: plan.Sync, Wave: wave, Children: children}
}

func run(t *testing.T, p *plan.Plan, m simulate.Model, faults ...simulate.Fault) *simulate.Boot {
	t.Helper()
	b, err := simulate.Simulate(p, m, faults...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// lines is a boot as text.
func lines(b *simulate.Boot) string {
	var out strings.Builder
	for _, e := range b.Events {
		fmt.Fprintf(&out, "%s %s %s %s\n", e.At, e.App, e.What, e.Detail)
	}
	return out.String()
}

// two is a root with x in wave 1, y in wave 2, and z of a set in wave 2.
func two() (*tree, *plan.Plan) {
	t := &tree{}
	x, y, z := t.app("x", object("ConfigMap", 0), object("Deployment", 0)), t.app("y", object("Deployment", 0)),
		t.app("z", object("Job", 0))
	root := t.app("root", child(x, 1), child(y, 2), set("zs", 2, z))
	slices.Reverse(t.apps)
	return t, t.plan(root)
}

func TestBoot(t *testing.T) {
	_, p := two()
	b := run(t, p, simulate.DefaultModel())
	want := `0s root created 
0s root health Progressing
1s root sync attempt 1
1s root health Missing
1s root wave 1
2s x created root
2s x health Progressing
2s root health Progressing
3s x sync attempt 1
3s x health Missing
3s x wave 0
4s root health Healthy
4s x health Progressing
4s x synced 
5s root health Progressing
24s x health Healthy
25s root health Healthy
26s root wave 2
27s y created root
27s y health Progressing
27s root health Progressing
27s root synced 
28s y sync attempt 1
28s y health Missing
28s y wave 0
29s z created root
29s z health Progressing
29s root health Healthy
29s y health Progressing
29s y synced 
30s z sync attempt 1
30s z health Missing
30s z wave 0
30s root health Progressing
31s z health Progressing
31s z synced 
49s y health Healthy
50s root health Healthy
1m1s z health Healthy
`
	got := lines(b)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if b.Total != 61*s || !b.Done() {
		t.Errorf("%s, %t", b.Total, b.Done())
	}
	var legs []string
	for _, l := range b.CriticalPath() {
		legs = append(legs, fmt.Sprintf("%s-%s %s %s", l.From, l.To, l.App, l.What))
	}
	if diff := cmp.Diff([]string{
		"0s-2s root begins", "2s-4s x begins", "4s-24s x Deployment deployment",
		"24s-29s root goes on from wave 1", "29s-31s z begins", "31s-1m1s z Job job",
	}, legs); diff != "" {
		t.Error(diff)
	}
}

// TestNever: nothing comes after what never becomes healthy, except what no wave waits for.
func TestNever(t *testing.T) {
	_, p := two()
	b := run(t, p, simulate.DefaultModel(), simulate.Fault{App: "x", Kind: simulate.Never})
	if b.Done() || b.Find("y").Created >= 0 || b.Find("z").Created >= 0 || b.Find("x").Health != health.Progressing {
		t.Error(lines(b))
	}
	if got := strings.Join(b.Blocked(), "; "); got != "root: its sync waits for Application x; x: Deployment deployment is Progressing" {
		t.Error(got)
	}
	// A set is healthy as soon as it is there: the gap.
	tr := &tree{}
	x, y := tr.app("x", object("Deployment", 0)), tr.app("y", object("Deployment", 0))
	root := tr.app("root", set("xs", 1, x), child(y, 2))
	b = run(t, tr.plan(root), simulate.DefaultModel(), simulate.Fault{App: "x", Kind: simulate.Never})
	if b.Find("y").Health != health.Healthy || b.Find("root").Health != health.Healthy || b.Find("x").Health != health.Progressing {
		t.Error(lines(b))
	}
}

// TestFail: something Degraded fails the sync, which is tried again with a backoff, and given up.
func TestFail(t *testing.T) {
	tr := &tree{}
	x, y := tr.app("x", object("Deployment", 0)), tr.app("y", object("Deployment", 0))
	root := tr.app("root", child(x, 1), child(y, 2))
	p := tr.plan(root)
	b := run(t, p, simulate.DefaultModel(), simulate.Fault{App: "x", Kind: simulate.Fail})
	var at []time.Duration
	for _, e := range b.Events {
		if e.App == "root" && e.What == simulate.SyncStarted {
			at = append(at, e.At)
		}
	}
	// Degraded is seen at 26 s; each attempt applies for a second, and then fails at once.
	want := []time.Duration{1 * s, 31 * s, 42 * s, 63 * s, 104 * s, 185 * s}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Error(diff)
	}
	if r := b.Find("root"); !r.GivenUp || r.Attempts != 6 || b.Find("y").Created >= 0 {
		t.Errorf("%+v", r)
	}
	if got := strings.Join(b.Blocked(), "; "); !strings.Contains(got, "root: its sync was given up after 6 attempts") {
		t.Error(got)
	}
	// With a repair in time the boot goes on; too late, it does not.
	for until, healthy := range map[time.Duration]bool{100 * s: true, 10 * time.Minute: false} {
		b := run(t, p, simulate.DefaultModel(), simulate.Fault{App: "x", Kind: simulate.Degrade, From: 10 * s, To: until})
		if b.Find("x").Health != health.Healthy || b.Done() != healthy {
			t.Errorf("until %s: %t\n%s", until, b.Done(), lines(b))
		}
	}
	root.Retry.Limit = -1
	if b := run(t, p, simulate.DefaultModel(), simulate.Fault{App: "x", Kind: simulate.Degrade, From: 10 * s, To: time.Hour}); !b.Done() {
		t.Error("tried for ever, but not done")
	}
	// Degraded for a while after the wave has passed hurts nobody.
	if b := run(t, p, simulate.DefaultModel(), simulate.Fault{App: "x", Kind: simulate.Degrade, From: 60 * s, To: 70 * s}); !b.Done() ||
		b.Find("root").Attempts != 1 {
		t.Error(lines(b))
	}
}

// TestMended: a commit mends what failed, while Argo CD still tries, or when it has given up: a new revision is tried again.
func TestMended(t *testing.T) {
	tr := &tree{}
	w := tr.app("w", object("Deployment", 0), object("StatefulSet", 0), object("ConfigMap", 1))
	x, y := tr.app("x", child(w, 0), object("ConfigMap", 1)), tr.app("y", object("Deployment", 0))
	p := tr.plan(tr.app("root", child(x, 1), child(y, 2)))
	slices.Reverse(p.Applications)
	p.SyncAware = true
	before := time.Duration(0)
	for _, mended := range []time.Duration{1 * s, 30 * s, 5 * time.Minute, 2 * time.Hour} {
		b := run(t, p, simulate.DefaultModel(), simulate.Fault{App: "w", Kind: simulate.Fail, Mended: mended})
		if !b.Done() || b.Total < before || b.Total < mended {
			t.Errorf("%s: done %t after %s, before it was %s\n%s", mended, b.Done(), b.Total, before, lines(b))
		}
		if n := strings.Count(lines(b), " w mended "); n != 1 {
			t.Errorf("%s: %d commits", mended, n)
		}
		if given, late := strings.Contains(lines(b), " sync given up "), mended > 3*time.Minute; given != late {
			t.Errorf("%s: given up: %t", mended, given)
		}
		if y, x := b.Find("y"), b.Find("x"); y.Created < x.Healthy-2*s && y.Created < mended {
			t.Errorf("%s: y is made at %s", mended, y.Created)
		}
		before = b.Total
	}
}

// TestMendedAtAnyTime: also when Argo CD gives up in the same moment, and also a hook, which is run again.
func TestMendedAtAnyTime(t *testing.T) {
	for _, limit := range []int{-1, 0, 1, 5} {
		for mended := 100 * time.Millisecond; mended < 4*time.Minute; mended += 250 * time.Millisecond {
			for _, hook := range []bool{false, true} {
				tr := &tree{}
				job := object("Job", 0)
				if hook {
					job.Hook, job.Phase = true, plan.PreSync
				}
				w, y := tr.app("w", job, object("ConfigMap", 1)), tr.app("y", object("Deployment", 0))
				w.Retry.Limit = limit
				root := tr.app("root", child(w, 1), child(y, 2))
				root.Retry.Limit = limit
				p := tr.plan(root)
				slices.Reverse(p.Applications)
				p.SyncAware = mended%500 == 0
				b := run(t, p, simulate.DefaultModel(), simulate.Fault{App: "w", Kind: simulate.Fail, Mended: mended})
				if !b.Done() || b.Cut || b.Total > 15*time.Minute {
					t.Fatalf("limit %d, mended after %s, hook %t: %s, %v\n%s", limit, mended, hook, b.Total, b.Blocked(), lines(b))
				}
				single(t, uint64(mended), b)
			}
		}
	}
}

// TestPathPastNested: a wave that passes a parent of others too early is on the critical path as such, and not the time that the parent
// takes.
func TestPathPastNested(t *testing.T) {
	tr := &tree{}
	inner := tr.app("inner", object("Deployment", 0))
	nested, last := tr.app("nested", child(inner, 0)), tr.app("last", object("StatefulSet", 0))
	p := tr.plan(tr.app("root", child(nested, 1), child(last, 2)))
	b := run(t, p, simulate.DefaultModel())
	if b.Find("last").Created > b.Find("nested").Healthy {
		t.Fatalf("it waited\n%s", lines(b))
	}
	path := b.CriticalPath()
	for i, leg := range path[1:] {
		if leg.From < path[i].To {
			t.Errorf("%v overlaps %v", leg, path[i])
		}
	}
	if path[len(path)-1].To != b.Total {
		t.Errorf("it ends at %s, the boot at %s", path[len(path)-1].To, b.Total)
	}
}

// TestBroken: what Argo CD cannot make the manifests of is Healthy to it, so a wave passes it, unless the health check knows better.
func TestBroken(t *testing.T) {
	tr := &tree{}
	x, y := tr.app("x", object("Deployment", 0)), tr.app("y", object("Deployment", 0))
	x.Broken = "x.yaml:3: nonsense"
	p := tr.plan(tr.app("root", child(x, 1), child(y, 2)))
	for _, sees := range []bool{false, true} {
		p.SyncAware, p.SeesBroken = sees, sees
		b := run(t, p, simulate.DefaultModel())
		if r := b.Find("x"); b.Done() || r.Health != simulate.Broken || r.Started >= 0 || (b.Find("y").Created < 0) != sees {
			t.Errorf("sees %t: %+v\n%s", sees, r, lines(b))
		}
		if got := strings.Join(b.Blocked(), "; "); !strings.Contains(got, "x: Argo CD cannot render its manifests: x.yaml:3: nonsense") {
			t.Error(got)
		}
	}
	// One that nobody syncs does not keep a boot from being done, if nothing waits for it.
	x.Broken, y.Automated = "", false
	if b := run(t, p, simulate.DefaultModel()); !b.Done() || len(b.Blocked()) != 1 {
		t.Errorf("%v\n%s", b.Blocked(), lines(b))
	}
}

// TestHooks: hooks are waited for wherever they are, and are no part of the Application's health; those for failures are not run.
func TestHooks(t *testing.T) {
	hook := func(phase string) *plan.Item {
		return &plan.Item{Kind: "Job", Name: strings.ToLower(phase), Phase: phase, Hook: true, Waits: true}
	}
	tr := &tree{}
	x := tr.app("x", hook(plan.PreSync), object("Deployment", 0), hook(plan.PostSync), hook(plan.SyncFail))
	y := tr.app("y", object("Deployment", 0))
	p := tr.plan(tr.app("root", child(x, 1), child(y, 2)))
	b := run(t, p, simulate.DefaultModel())
	r := b.Find("x")
	// Two Jobs of 30 s, with a Deployment of 20 s between them, which is all that counts for health.
	if !b.Done() || r.Healthy != 56*s || r.Synced != 89*s {
		t.Errorf("healthy %s, synced %s\n%s", r.Healthy, r.Synced, lines(b))
	}
	b = run(t, p, simulate.DefaultModel(), simulate.Fault{App: "x", Kind: simulate.Never})
	if got := strings.Join(b.Blocked(), "; "); !strings.Contains(got, "x: its sync waits for Job presync") {
		t.Error(got)
	}
}

// TestMissingChild: an Application that is not there does not lower its parent's health, so a health check that looks at nothing else lets
// the next wave of the grandparent go on too early; one that looks at syncs does not.
func TestMissingChild(t *testing.T) {
	for aware, want := range map[bool]bool{true: true, false: false} {
		tr := &tree{}
		first, second, late := tr.app("first", object("Deployment", 0)), tr.app("second", object("Deployment", 0)),
			tr.app("late", object("Deployment", 0))
		mid := tr.app("mid", child(first, 0), child(second, 1))
		p := tr.plan(tr.app("root", child(mid, 0), child(late, 1)))
		p.SyncAware = aware
		b := run(t, p, simulate.DefaultModel())
		if waited := b.Find("second").Healthy <= b.Find("late").Created; waited != want || !b.Done() {
			t.Errorf("aware %t: %t\n%s", aware, waited, lines(b))
		}
	}
}

// TestSameName: Applications of one name in two namespaces are two.
func TestSameName(t *testing.T) {
	tr := &tree{}
	a, other, c := tr.app("a", object("Deployment", 0)), tr.app("a", object("Deployment", 0)), tr.app("c", object("Deployment", 0))
	other.Namespace = "other"
	second := child(other, 1)
	second.Namespace = "other"
	p := tr.plan(tr.app("root", child(a, 0), second, child(c, 2)))
	b := run(t, p, simulate.DefaultModel())
	if b.Find("argocd/a") == nil || b.Find("other/a") == nil || len(b.CriticalPath()) == 0 {
		t.Error(lines(b))
	}
	if b := run(t, p, simulate.DefaultModel(), simulate.Fault{
		App:  "other/a",
		Kind: simulate.Never,
	}); b.Find("argocd/a").Health != health.Healthy || b.Find("c").Created >= 0 {
		t.Error(lines(b))
	}
}

// TestUnknownContent: what is not known takes time, which can be given.
func TestUnknownContent(t *testing.T) {
	tr := &tree{}
	chart := tr.app("chart")
	chart.Sources = []plan.Source{{Unknown: "a chart in a repository of charts"}}
	p := tr.plan(tr.app("root", child(chart, 0), child(tr.app("y", object("Deployment", 0)), 1)))
	base := run(t, p, simulate.DefaultModel()).Total
	m := simulate.DefaultModel()
	m.Applications = map[string]time.Duration{"chart": 5 * time.Minute}
	if total := run(t, p, m).Total; total-base != 280*s {
		t.Errorf("%s, then %s", base, total)
	}
}

func TestByHand(t *testing.T) {
	tr := &tree{}
	x, y := tr.app("x", object("Deployment", 0)), tr.app("y", object("Deployment", 0))
	x.Automated = false
	b := run(t, tr.plan(tr.app("root", child(x, 1), child(y, 2))), simulate.DefaultModel())
	if b.Find("y").Created >= 0 || !slices.Contains(b.Blocked(), "x: nobody syncs it; it has no automated sync") {
		t.Errorf("%v", b.Blocked())
	}
}

func TestUnknown(t *testing.T) {
	_, p := two()
	if _, err := simulate.Simulate(p, simulate.DefaultModel(), simulate.Fault{App: "none", Kind: simulate.Never}); err == nil ||
		err.Error() != `there is no Application "none" in the plan` {
		t.Error(err)
	}
	m := simulate.DefaultModel()
	m.Applications = map[string]time.Duration{"none": s}
	if _, err := simulate.Simulate(p, m); err == nil {
		t.Error("no error")
	}
}

func TestBlast(t *testing.T) {
	// One that has nothing with a health check is no exception.
	tr := &tree{}
	plain, x := tr.app("plain", object("ConfigMap", 0)), tr.app("x", object("Deployment", 0))
	last := tr.app("last", object("Deployment", 0))
	flat, err := simulate.Blast(tr.plan(tr.app("root", child(plain, 1), child(x, 1), child(last, 2))), simulate.DefaultModel())
	if err != nil || len(flat) != 4 || len(flat[0].Blocks) != 1 || len(flat[1].Blocks) != 1 {
		t.Errorf("%v, %v", flat, err)
	}
	// Whoever applies the roots is none.
	tr = &tree{}
	hand := tr.app(plan.ApplyName, child(tr.app("a", object("Deployment", 0)), 1), child(tr.app("b", object("Deployment", 0)), 1))
	hand.Applied = true
	if radii, err := simulate.Blast(tr.plan(hand), simulate.DefaultModel()); err != nil || len(radii) != 2 {
		t.Errorf("%v, %v", radii, err)
	}
	_, p := two()
	radii, err := simulate.Blast(p, simulate.DefaultModel())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range radii {
		got = append(got, r.App+": "+strings.Join(r.Blocks, " "))
	}
	if diff := cmp.Diff([]string{"x: y z", "root: ", "y: ", "z: "}, got); diff != "" {
		t.Error(diff)
	}
}

// chance makes a plan by chance.
func chance(r *rand.Rand, n int) (*tree, *plan.Plan) {
	tr := &tree{}
	kinds := []string{"Deployment", "ConfigMap", "Job", "StatefulSet", "Service"}
	var all []*plan.Application
	for i := range n {
		var items []*plan.Item
		for range 1 + r.IntN(4) {
			o := object(kinds[r.IntN(len(kinds))], r.IntN(3))
			o.Name += fmt.Sprint(len(items))
			items = append(items, o)
		}
		// Some deploy others.
		for len(all) > 0 && r.IntN(3) == 0 {
			last := all[len(all)-1]
			all = all[:len(all)-1]
			if r.IntN(4) == 0 {
				items = append(items, set("set-"+last.Name, r.IntN(3), last))
			} else {
				items = append(items, child(last, r.IntN(3)))
			}
		}
		slices.SortStableFunc(items, func(a, b *plan.Item) int { return a.Wave - b.Wave })
		all = append(all, tr.app(fmt.Sprintf("app-%d", i), items...))
	}
	var items []*plan.Item
	for _, a := range all {
		items = append(items, child(a, r.IntN(4)))
	}
	slices.SortStableFunc(items, func(a, b *plan.Item) int { return a.Wave - b.Wave })
	p := tr.plan(tr.app("root", items...))
	p.SyncAware = true
	return tr, p
}

// TestProperties holds boots by chance to what is always true.
func TestProperties(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1)) // by chance, but the same each time
		tr, p := chance(r, 3+r.IntN(20))
		m := simulate.DefaultModel()
		m.Seed = seed
		if seed%2 == 0 {
			m.Jitter = 0.5
		}
		b := run(t, p, m)
		if !b.Done() {
			t.Fatalf("seed %d: %v\n%s", seed, b.Blocked(), lines(b))
		}
		ordered(t, seed, p, b)
		if again := run(t, p, m); lines(again) != lines(b) {
			t.Errorf("seed %d: another boot", seed)
		}
		// The path is whole: it ends at the end, and its legs do not overlap.
		path := b.CriticalPath()
		if path[len(path)-1].To != b.Total {
			t.Errorf("seed %d: the path ends at %s, the boot at %s", seed, path[len(path)-1].To, b.Total)
		}
		for i, leg := range path[1:] {
			if leg.From < path[i].To {
				t.Errorf("seed %d: %v overlaps %v", seed, leg, path[i])
			}
		}
		// What takes longer does not make a boot shorter.
		m.Jitter = 0
		base := run(t, p, m).Total
		slow := tr.apps[r.IntN(len(tr.apps))].Name
		m.Applications = map[string]time.Duration{slow: 10 * time.Minute}
		if total := run(t, p, m).Total; total < base {
			t.Errorf("seed %d: %s, and with a slow %s %s", seed, base, slow, total)
		}
		m.Applications = nil
		// Two that never become healthy block what each of them blocks.
		one, other := tr.apps[r.IntN(len(tr.apps))].Name, tr.apps[r.IntN(len(tr.apps))].Name
		first, both := run(t, p, m, simulate.Fault{App: one, Kind: simulate.Never}),
			run(t, p, m, simulate.Fault{App: one, Kind: simulate.Never}, simulate.Fault{App: other, Kind: simulate.Never})
		ordered(t, seed, p, both)
		for i, x := range first.Runs {
			if x.Health != health.Healthy && both.Runs[i].Health == health.Healthy {
				t.Errorf("seed %d: %s is healthy when %s is broken, too", seed, x.Name, other)
			}
		}
		// What fails and is mended, at any time, lets every boot end, in order, and one sync runs at a time.
		var faults []simulate.Fault
		for _, name := range slices.Compact(slices.Sorted(slices.Values([]string{one, other}))) {
			faults = append(faults, simulate.Fault{
				App: name, Kind: simulate.Fail,
				Mended: 1 + time.Duration(r.Int64N(int64(20*time.Minute))),
			})
		}
		mended := run(t, p, m, faults...)
		if !mended.Done() {
			t.Errorf("seed %d: %v: %v\n%s", seed, faults, mended.Blocked(), lines(mended))
		}
		single(t, seed, mended)
	}
}

// single checks that no sync begins while another one of the same Application runs.
func single(t *testing.T, seed uint64, b *simulate.Boot) {
	t.Helper()
	running := map[string]bool{}
	for _, e := range b.Events {
		switch e.What {
		case simulate.SyncStarted:
			if running[e.App] {
				t.Errorf("seed %d: two syncs of %s at %s\n%s", seed, e.App, e.At, lines(b))
			}
			running[e.App] = true
		case simulate.SyncFailed, simulate.Synced:
			running[e.App] = false
		}
	}
}

// ordered checks that no Application is made before all of earlier waves are healthy, as far as waves wait for them.
func ordered(t *testing.T, seed uint64, p *plan.Plan, b *simulate.Boot) {
	t.Helper()
	for _, parent := range p.Applications {
		for _, later := range parent.Items {
			if later.Application == nil || b.Find(later.Name).Created < 0 {
				continue
			}
			for _, earlier := range parent.Items {
				if earlier.Application == nil || earlier.Wave >= later.Wave {
					continue
				}
				if e := b.Find(earlier.Name); e.Healthy < 0 || e.Healthy > b.Find(later.Name).Created {
					t.Errorf("seed %d: %s (wave %d) was made at %s, %s (wave %d) was healthy at %s", seed, later.Name, later.Wave,
						b.Find(later.Name).Created, earlier.Name, earlier.Wave, e.Healthy)
				}
			}
		}
	}
}

// BenchmarkSimulate boots 5,000 Applications.
func BenchmarkSimulate(b *testing.B) {
	tr := &tree{}
	var sets []*plan.Item
	for i := range 50 {
		var items []*plan.Item
		for j := range 100 {
			items = append(items, child(tr.app(fmt.Sprintf("app-%d-%d", i, j), object("ConfigMap", 0), object("Deployment", 0),
				object("Service", 0)), j%5))
		}
		slices.SortStableFunc(items, func(a, b *plan.Item) int { return a.Wave - b.Wave })
		sets = append(sets, child(tr.app(fmt.Sprintf("set-%d", i), items...), i/10))
	}
	p := tr.plan(tr.app("root", sets...))
	for b.Loop() {
		boot, err := simulate.Simulate(p, simulate.DefaultModel())
		if err != nil || !boot.Done() {
			b.Fatal(err)
		}
	}
}
