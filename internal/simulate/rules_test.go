package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
)

// named is an object with a name of its own.
func named(kind, name string, wave int) *plan.Item {
	i := object(kind, wave)
	i.Name = name
	return i
}

// expect checks what became of Applications: their health, "-" for one that was never made, and the first line of what blocks.
func expect(t *testing.T, b *simulate.Boot, health map[string]health.Status, blocked string) {
	t.Helper()
	for name, want := range health {
		got := b.Find(name).Health
		if b.Find(name).Created < 0 && !b.Update {
			got = "-"
		}
		if got != want {
			t.Errorf("%s is %s, want %s\n%s", name, got, want, lines(b))
		}
	}
	if got := strings.Join(b.Blocked(), "; "); !strings.Contains(got, blocked) || (got == "") != (blocked == "") {
		t.Errorf("blocked: %s\nwant %s", got, blocked)
	}
}

// TestKindMissing: a sync does not begin if a kind is not there, so nothing of it is applied; with a check that sees it the boot ends
// there, without one the next wave goes on, if Argo CD is old enough to call the Application healthy.
func TestKindMissing(t *testing.T) {
	widget := plan.Thing{What: plan.ThingKind, Name: "example.com/Widget"}
	build := func(provider bool) (*plan.Plan, *plan.Item) {
		tr := &tree{}
		user := named("Widget", "w", 1)
		user.Waits, user.Counts, user.Requires = false, false, []plan.Thing{widget}
		crd := named("CustomResourceDefinition", "widgets", 0)
		crd.Provides = []plan.Thing{widget}
		x, y := tr.app("x", object("ConfigMap", 0), user), tr.app("y", object("Deployment", 0))
		if provider {
			y.Items = append(y.Items, crd)
		}
		return tr.plan(tr.app("root", child(x, 0), child(y, 1))), user
	}
	p, user := build(false)
	p.SyncAware = true
	missing := "x: its sync was given up after 6 attempts, because there is no CustomResourceDefinition example.com/Widget, which Widget w needs"
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"x": health.Progressing, "y": "-"}, missing)
	p.SyncAware = false
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"x": health.Missing, "y": "-"}, missing)
	p.Version = versions.Oldest
	b := run(t, p, simulate.DefaultModel())
	expect(t, b, map[string]health.Status{"x": health.Healthy, "y": health.Healthy}, missing)
	if b.Done() {
		t.Error("done")
	}
	// Not checked before the sync, it fails when it is applied.
	user.Unchecked = true
	b = run(t, p, simulate.DefaultModel())
	if !strings.Contains(lines(b), "x wave 1\n") {
		t.Error(lines(b))
	}
	expect(t, b, nil, missing)
	// One that comes later is a deadlock, or comes in time for an attempt if nothing waits.
	p, _ = build(true)
	p.SyncAware = true
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"y": "-"}, missing)
	p.SyncAware, p.Version = false, versions.Oldest
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"x": health.Healthy, "y": health.Healthy}, "")
}

// TestNamespaceMissing: an object without its namespace fails the sync when it is applied; others of its wave are applied. A sync can make
// its own.
func TestNamespaceMissing(t *testing.T) {
	space := []plan.Thing{{What: plan.ThingNamespace, Name: "shop"}}
	tr := &tree{}
	d := object("Deployment", 0)
	d.Requires = space
	x := tr.app("x", d, object("ConfigMap", 0))
	p := tr.plan(tr.app("root", child(x, 0)))
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"x": health.Healthy},
		"x: its sync was given up after 6 attempts, because there is no Namespace shop, which Deployment deployment needs")
	x.Provides = space
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"x": health.Healthy}, "")
}

// TestProject: an Application without its project is not looked at; when the project comes, Argo CD sees it some time. What a project
// forbids stays so.
func TestProject(t *testing.T) {
	project := []plan.Thing{{What: plan.ThingProject, Name: "shop"}}
	tr := &tree{}
	x, y := tr.app("x", object("Deployment", 0)), tr.app("y", object("Deployment", 0))
	x.Requires = project
	p := tr.plan(tr.app("root", child(x, 0), child(y, 1)))
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"x": health.Unknown, "y": "-"},
		"x: Argo CD does not deploy it: AppProject shop is not there")
	made := named("AppProject", "shop", 0)
	made.Waits, made.Provides = false, project
	p.Root.Items = append([]*plan.Item{made}, p.Root.Items...)
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"x": health.Healthy, "y": health.Healthy}, "")
	made.Wave = 1
	slices.SortStableFunc(p.Root.Items, func(a, b *plan.Item) int { return a.Wave - b.Wave })
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"x": health.Unknown, "y": "-"},
		"AppProject shop is not there")
	x.Requires, x.Refused = nil, "project shop does not allow the source"
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"x": health.Unknown, "y": "-"},
		"x: Argo CD does not deploy it: project shop does not allow the source")
	x.Refused, x.Items[0].Forbidden = "", "project shop does not list its kind"
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"x": health.Missing, "y": "-"},
		"because Deployment deployment is not allowed: project shop does not list its kind")
}

// TestItself: a root that holds itself in a wave that is waited for. A check that looks at syncs waits for ever, unless it knows itself;
// one that repeats what the root says waits only for what is there, and before 3.4 for what is missing.
func TestItself(t *testing.T) {
	tr := &tree{}
	x, y := tr.app("x", object("Deployment", 0)), tr.app("y", object("Deployment", 0))
	root := tr.app("root", child(x, 0), child(y, 1))
	own := child(&plan.Application{Ref: root.Ref, Itself: true}, 0)
	root.Items = append([]*plan.Item{own}, root.Items...)
	p := tr.plan(root)
	p.SyncAware, p.KnowsItself = true, true
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"root": health.Healthy, "y": health.Healthy}, "")
	p.KnowsItself = false
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"x": health.Healthy, "y": "-"},
		"root: its sync waits for Application root")
	p.SyncAware = false
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"root": health.Healthy, "y": health.Healthy}, "")
	root.Items = append(root.Items, object("Deployment", 1))
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"root": health.Healthy, "y": health.Healthy}, "")
	p.Version = versions.Oldest
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"root": health.Missing, "y": "-"},
		"root: its sync waits for Application root")
}

// TestMissingCounts: what is not there yet makes an Application Missing before 3.4, if it counts.
func TestMissingCounts(t *testing.T) {
	for _, c := range []struct {
		version versions.Version
		counts  bool
		want    health.Status
	}{
		{versions.Oldest, true, health.Missing},
		{versions.Oldest, false, health.Healthy},
		{4, false, health.Healthy},
		{4, true, health.Healthy},
	} {
		tr := &tree{}
		later := named("Certificate", "c", 1)
		later.Counts = c.counts
		hook := &plan.Item{Kind: "Job", Name: "j", Phase: plan.Sync, Hook: true, Waits: true}
		x := tr.app("x", hook, object("ConfigMap", 0), later)
		p := tr.plan(x)
		p.Version = c.version
		b := run(t, p, simulate.DefaultModel(), simulate.Fault{App: "x", Kind: simulate.Never})
		if got := b.Find("x").Health; got != c.want {
			t.Errorf("%+v: %s\n%s", c, got, lines(b))
		}
	}
}

// TestDegradedWaits: something Degraded fails a sync when the rest of its wave is done, and never if the rest never is. It stays failed,
// even if it recovers.
func TestDegradedWaits(t *testing.T) {
	tr := &tree{}
	bad, slow, next := tr.app("bad", object("Deployment", 0)), tr.app("slow", object("Deployment", 0)),
		tr.app("next", object("Deployment", 0))
	p := tr.plan(tr.app("root", child(bad, 0), child(slow, 0), child(next, 1)))
	m := simulate.DefaultModel()
	m.Applications = map[string]time.Duration{"slow": 5 * time.Minute}
	failure := func(b *simulate.Boot) time.Duration {
		for _, e := range b.Events {
			if e.App == "root" && e.What == simulate.SyncFailed {
				return e.At
			}
		}
		return -1
	}
	for _, f := range []simulate.Fault{{App: "bad", Kind: simulate.Fail}, {App: "bad", Kind: simulate.Degrade, From: 10 * s, To: 60 * s}} {
		if b := run(t, p, m, f); failure(b) < 5*time.Minute {
			t.Errorf("it failed at %s\n%s", failure(b), lines(b))
		}
	}
	b := run(t, p, m, simulate.Fault{App: "bad", Kind: simulate.Fail}, simulate.Fault{App: "slow", Kind: simulate.Never})
	if failure(b) >= 0 {
		t.Error(lines(b))
	}
	expect(t, b, map[string]health.Status{"next": "-"}, "root: its sync waits for Application slow")
}

// TestLastWaveWithHook: a hook in the last wave is waited for, and so is everything beside it if there are several waves; what is Degraded
// then fails the sync.
func TestLastWaveWithHook(t *testing.T) {
	for _, several := range []bool{false, true} {
		tr := &tree{}
		hook := &plan.Item{Kind: "Job", Name: "j", Phase: plan.Sync, Wave: 1, Hook: true, Waits: true}
		x := tr.app("x", hook, object("StatefulSet", 1))
		if several {
			x.Items = append([]*plan.Item{object("ConfigMap", 0)}, x.Items...)
		}
		b := run(t, tr.plan(x), simulate.DefaultModel())
		// The Job takes 30 s, the StatefulSet 40 s.
		if late := b.Find("x").Synced > 40*s; late != several {
			t.Errorf("several %t: synced at %s\n%s", several, b.Find("x").Synced, lines(b))
		}
		if b := run(t, tr.plan(x), simulate.DefaultModel(), simulate.Fault{
			App: "x", Kind: simulate.Degrade,
			From: 5 * s,
		}); !b.Find("x").GivenUp {
			t.Errorf("several %t\n%s", several, lines(b))
		}
	}
}

// TestSets: a set that cannot be rendered is Degraded and fails its wave; one with a check that looks at its Applications is waited for.
func TestSets(t *testing.T) {
	tr := &tree{}
	x, y := tr.app("x", object("Deployment", 0)), tr.app("y", object("Deployment", 0))
	xs := set("xs", 0, x)
	p := tr.plan(tr.app("root", xs, child(y, 1)))
	never := simulate.Fault{App: "x", Kind: simulate.Never}
	expect(t, run(t, p, simulate.DefaultModel(), never), map[string]health.Status{
		"root": health.Healthy, "x": health.Progressing,
		"y": health.Healthy,
	}, "x: Deployment deployment is Progressing")
	xs.Awaits, xs.Waits = true, true
	expect(t, run(t, p, simulate.DefaultModel(), never), map[string]health.Status{"y": "-"}, "root: its sync waits for ApplicationSet xs")
	b := run(t, p, simulate.DefaultModel())
	if expect(t, b, map[string]health.Status{"y": health.Healthy}, ""); b.Find("y").Created < b.Find("x").Healthy {
		t.Error(lines(b))
	}
	expect(t, run(t, p, simulate.DefaultModel(), simulate.Fault{App: "x", Kind: simulate.Fail}), map[string]health.Status{"y": "-"},
		"root: its sync was given up after 6 attempts, because ApplicationSet xs is Degraded")
	broken := set("zs", 0)
	broken.Children, broken.Broken, broken.Unknown = []*plan.Application{}, true, "no such field"
	p.Root.Items = append([]*plan.Item{broken}, p.Root.Items...)
	xs.Awaits, xs.Waits = false, false
	expect(t, run(t, p, simulate.DefaultModel()), map[string]health.Status{"x": health.Healthy, "y": "-"},
		"ApplicationSet zs is Degraded")
}

// TestWorkloads: what fails depends on the kind, not on how long it takes.
func TestWorkloads(t *testing.T) {
	tr := &tree{}
	x := tr.app("x", object("Deployment", 0), object("PersistentVolumeClaim", 0))
	m := simulate.DefaultModel()
	m.Kinds["Deployment"], m.Kinds["PersistentVolumeClaim"] = s, time.Minute
	b := run(t, tr.plan(x), m, simulate.Fault{App: "x", Kind: simulate.Never})
	expect(t, b, nil, "x: Deployment deployment is Progressing")
	if got := strings.Join(b.Find("x").Unhealthy, ", "); strings.Contains(got, "Claim") {
		t.Error(got)
	}
}

// TestFirstConsumer: a claim that waits for its first consumer is bound when that is applied: never, if it is in a later wave.
func TestFirstConsumer(t *testing.T) {
	for wave, want := range map[int]health.Status{0: health.Healthy, 1: health.Progressing} {
		tr := &tree{}
		user, claim := object("Deployment", wave), object("PersistentVolumeClaim", 0)
		claim.FirstConsumer, claim.Consumers = true, []*plan.Item{user}
		x := tr.app("x", claim, user, object("ConfigMap", 1))
		blocked := ""
		if wave == 1 {
			blocked = "x: its sync waits for PersistentVolumeClaim persistentvolumeclaim"
		}
		expect(t, run(t, tr.plan(x), simulate.DefaultModel()), map[string]health.Status{"x": want}, blocked)
	}
}

// version gives the object of an item a content.
func version(i *plan.Item, n int64) *plan.Item {
	i.Object = manifest.Object{"version": n}
	return i
}

// commit is a root with a in wave 0, b in wave 1, both nested in the second parent if there is one, at some versions.
func commit(pinned, keeps bool, a, b, c int64) *plan.Plan {
	tr := &tree{}
	first, second, other := tr.app("a", version(object("Deployment", 0), a)), tr.app("b", version(object("Deployment", 0), b)),
		tr.app("c", version(object("Deployment", 0), c))
	for _, x := range []*plan.Application{first, second, other} {
		x.Pinned, x.KeepsPin = pinned, keeps
	}
	p := tr.plan(tr.app("root", child(first, 0), child(second, 1), child(other, 1)))
	p.SyncAware = true
	return p
}

// TestUpdate: children that follow the branch change all at once; those that are pinned change in order, and not before what is before them
// is healthy.
func TestUpdate(t *testing.T) {
	update := func(pinned, keeps bool, faults ...simulate.Fault) *simulate.Boot {
		t.Helper()
		b, err := simulate.Update(commit(pinned, keeps, 1, 1, 1), commit(pinned, keeps, 2, 2, 1), simulate.DefaultModel(), faults...)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	reached := func(b *simulate.Boot) string {
		var out []string
		for _, r := range b.Runs {
			out = append(out, fmt.Sprintf("%s %s %s", r.Name, r.Created, r.Started))
		}
		return strings.Join(out, ", ")
	}
	if diff := cmp.Diff("root -1ns -1ns, a 1s 1s, b 1s 1s, c -1ns -1ns", reached(update(false, false))); diff != "" {
		t.Error(diff)
	}
	pinned, keeps := update(true, false), update(true, true)
	if diff := cmp.Diff("root 1s 1s, a 2s 3s, b 27s 28s, c 27s -1ns", reached(pinned)); diff != "" {
		t.Error(diff, lines(pinned))
	}
	if diff := cmp.Diff("root 1s 1s, a 2s 3s, b 27s 28s, c -1ns -1ns", reached(keeps)); diff != "" {
		t.Error(diff)
	}
	for _, b := range []*simulate.Boot{update(false, false), pinned, keeps} {
		if expect(t, b, map[string]health.Status{
			"root": health.Healthy, "a": health.Healthy, "b": health.Healthy,
			"c": health.Healthy,
		}, ""); !b.Done() || !b.Update {
			t.Error(lines(b))
		}
	}
	never := simulate.Fault{App: "a", Kind: simulate.Never}
	b := update(true, true, never)
	expect(t, b, map[string]health.Status{"a": health.Progressing, "b": health.Healthy},
		"root: its sync waits for Application a; a: Deployment deployment is Progressing; b: it keeps its old revision")
	if !b.Find("b").Old() || b.Find("c").Old() || b.Done() {
		t.Error(reached(b))
	}
	if b := update(false, false, never); b.Find("b").Old() || b.Done() {
		t.Error(reached(b))
	}
	// A check that repeats what a child says of itself does not see that it has not looked at its new commit yet.
	before, after := commit(true, false, 1, 1, 1), commit(true, false, 2, 2, 1)
	before.SyncAware, after.SyncAware = false, false
	stale, err := simulate.Update(before, after, simulate.DefaultModel(), never)
	if err != nil || stale.Find("b").Old() {
		t.Error(err, reached(stale))
	}
}

// TestUpdateNew: what is new is made in its wave, and what goes is no obstacle.
func TestUpdateNew(t *testing.T) {
	before, after := commit(true, true, 1, 1, 1), commit(true, true, 2, 1, 1)
	tr := &tree{}
	late := tr.app("late", object("Deployment", 0))
	after.Root.Items = append(after.Root.Items[:2], child(late, 2))
	after.Applications = append(after.Applications, late)
	b, err := simulate.Update(before, after, simulate.DefaultModel())
	if err != nil || !b.Done() || b.Find("late").Created < b.Find("a").Healthy {
		t.Error(err, lines(b))
	}
}

func update(t *testing.T, before, after *plan.Plan, faults ...simulate.Fault) *simulate.Boot {
	t.Helper()
	before.SyncAware, after.SyncAware = true, true
	b, err := simulate.Update(before, after, simulate.DefaultModel(), faults...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestUpdateOfSet: the controller makes new Applications of a set whose object is the same, whatever the parent does; what goes is said.
func TestUpdateOfSet(t *testing.T) {
	with := func(names ...string) *plan.Plan {
		tr := &tree{}
		var children []*plan.Application
		for _, name := range names {
			children = append(children, tr.app(name, version(object("Deployment", 0), 1)))
		}
		return tr.plan(tr.app("root", version(set("xs", 0, children...), 1)))
	}
	b := update(t, with("one", "two"), with("two", "three"))
	if expect(t, b, map[string]health.Status{"three": health.Healthy}, ""); !b.Done() || b.Find("three").Created < 0 ||
		b.Find("two").Touched || strings.Join(b.Removed, " ") != "one" {
		t.Errorf("%v\n%s", b.Removed, lines(b))
	}
}

// TestUpdateOfSpec: a new source comes with the parent's sync, in the wave of the Application, whether or not what it has is known.
func TestUpdateOfSpec(t *testing.T) {
	with := func(chart string) *plan.Plan {
		tr := &tree{}
		var items []*plan.Item
		for wave, name := range []string{"first", "second"} {
			a := tr.app(name)
			a.Sources = []plan.Source{{Unknown: "chart " + chart, Spec: map[string]any{"targetRevision": chart}}}
			i := child(a, wave)
			i.Object = manifest.Object{"chart": chart}
			items = append(items, i)
		}
		return tr.plan(tr.app("root", items...))
	}
	b := update(t, with("1.0.0"), with("1.1.0"))
	if b.Find("second").Created < b.Find("first").Healthy || b.Find("first").Healthy < 20*s || !b.Done() {
		t.Error(lines(b))
	}
	b = update(t, with("1.0.0"), with("1.1.0"), simulate.Fault{App: "first", Kind: simulate.Never})
	if expect(t, b, nil, "second: it keeps its old revision"); b.Done() {
		t.Error(lines(b))
	}
}

// TestUpdateOfProject: a healthy cluster has what it needs. What a project forbids from now on is not deployed, and nobody syncs what is
// synced by hand.
func TestUpdateOfProject(t *testing.T) {
	with := func(n int64, refused string, automated bool) *plan.Plan {
		tr := &tree{}
		d := version(object("Deployment", 0), n)
		d.Requires = []plan.Thing{{What: plan.ThingNamespace, Name: "outside"}}
		a := tr.app("a", d)
		a.Refused, a.Automated = refused, automated
		return tr.plan(tr.app("root", child(a, 0)))
	}
	if b := update(t, with(1, "", true), with(2, "", true)); !b.Done() {
		t.Error(lines(b))
	}
	expect(t, update(t, with(1, "", true), with(1, "project x", true)), map[string]health.Status{"a": health.Unknown},
		"a: Argo CD does not deploy it: project x")
	b := update(t, with(1, "", false), with(2, "", false))
	if expect(t, b, nil, "a: it keeps its old revision until somebody syncs it"); !b.Done() || !b.Find("a").Old() {
		t.Error(lines(b))
	}
}
