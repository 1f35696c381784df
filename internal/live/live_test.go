package live_test

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// object decodes an object.
func object(t *testing.T, text string) manifest.Object {
	t.Helper()
	docs, err := manifest.Decode("test", []byte(text))
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, %v\n%s", len(docs), err, text)
	}
	return docs[0].Object
}

// feed applies events to a model, one second after the other.
type feed struct {
	*testing.T
	model *live.Model
	now   time.Time
}

func newFeed(t *testing.T) *feed {
	t.Helper()
	return &feed{T: t, model: live.New("argocd"), now: noon}
}

func (f *feed) event(e live.Event) {
	f.now = f.now.Add(time.Second)
	e.At = f.now
	f.model.Apply(e)
}

func (f *feed) seen(text string) {
	f.Helper()
	f.event(live.Event{What: live.Seen, Object: object(f.T, text)})
}

// app is an Application as YAML. Tracked is the name of its parent, "" for none.
func app(name, wave, tracked, rest string) string {
	notes := fmt.Sprintf("argocd.argoproj.io/sync-wave: %q", wave)
	if tracked != "" {
		notes += fmt.Sprintf(`, argocd.argoproj.io/tracking-id: "%s:argoproj.io/Application:argocd/%s"`, tracked, name)
	}
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: argocd, uid: uid-%s, annotations: {%s}}
spec: {project: default, syncPolicy: {automated: {}}}
%s`, name, name, notes, rest)
}

const healthy = "status: {health: {status: Healthy}, sync: {status: Synced, revision: abc1234}, operationState: {phase: Succeeded}}"

// rows are the nodes of a snapshot, a line for each.
func rows(s *live.Snapshot) []string {
	var out []string
	for _, n := range s.Nodes {
		line := fmt.Sprintf("%s%s wave %d: %s", strings.Repeat("  ", n.Depth), s.Title(n), n.Wave, n.Describe())
		for _, w := range n.Waits {
			line += fmt.Sprintf("; %s %s", w.Reason, w.Object.Name)
			if w.Node != nil {
				line += "!"
			}
		}
		out = append(out, line)
	}
	return out
}

func (f *feed) want(lines ...string) {
	f.Helper()
	if diff := cmp.Diff(lines, rows(f.model.Snapshot())); diff != "" {
		f.Errorf("(-want +got):\n%s", diff)
	}
}

func TestModel(t *testing.T) {
	f := newFeed(t)
	const resources = `
  resources:
  - {group: argoproj.io, kind: Application, namespace: argocd, name: one, syncWave: 1, status: Synced}
  - {group: argoproj.io, kind: Application, namespace: argocd, name: two, syncWave: 2, status: OutOfSync}
  - {group: argoproj.io, kind: Application, namespace: argocd, name: old, status: OutOfSync, requiresPruning: true}
  - {kind: ConfigMap, namespace: argocd, name: c, status: Synced}`
	f.seen(app("root", "0", "", `
status:
  health: {status: Progressing, lastTransitionTime: "2026-03-01T11:00:00Z"}
  sync: {status: OutOfSync, revision: abc1234}
  operationState:
    phase: Running
    message: waiting for healthy state of argoproj.io/Application/one
    operation: {sync: {revision: abc1234}}
    syncResult:
      resources:
      - {group: argoproj.io, kind: Application, namespace: argocd, name: one, status: Synced, hookPhase: Running}
      - {kind: ConfigMap, namespace: argocd, name: c, status: Synced, hookPhase: Succeeded}`+resources))
	f.seen(app("one", "1", "root", "status: {health: {status: Progressing}, sync: {status: Synced}, operationState: {phase: Succeeded}}"))
	f.want("root wave 0: Progressing, OutOfSync, syncing; health one!",
		"  one wave 1: Progressing, Synced",
		"  two wave 2: not created; wave root!")
	before := f.model.Snapshot()
	if wave, ok := before.Roots[0].Running(); !ok || wave != 1 {
		t.Error(wave, ok)
	}
	if again := f.model.Snapshot(); again != before {
		t.Error("nothing happened, and it is another snapshot")
	}
	f.seen(app("one", "1", "root", healthy))
	f.seen(app("two", "2", "root", healthy))
	f.seen(app("root", "0", "", healthy+"\n"))
	f.want("root wave 0: Healthy, Synced", "  one wave 1: Healthy, Synced", "  two wave 2: Healthy, Synced")
	if got := rows(before)[1]; got != "  one wave 1: Progressing, Synced" {
		t.Errorf("the old snapshot has changed: %s", got)
	}
	one, err := f.model.Snapshot().Find("one")
	if err != nil {
		t.Fatal(err)
	}
	// It was synced from the beginning, nobody knows since when; it became healthy with the third event.
	if !one.SyncSince.IsZero() || !one.HealthSince.Equal(noon.Add(3*time.Second)) {
		t.Error(one.SyncSince, one.HealthSince)
	}
	f.event(live.Event{What: live.Gone, Object: object(t, app("one", "1", "root", ""))})
	f.want("root wave 0: Healthy, Synced", "  two wave 2: Healthy, Synced")
}

// TestParents: who deploys whom, by all the ways in which Argo CD tells.
func TestParents(t *testing.T) {
	f := newFeed(t)
	f.seen(app("root", "0", "root", healthy)) // deploys itself
	f.seen(strings.Replace(app("labelled", "0", "", healthy), "uid:", "labels: {app.kubernetes.io/instance: root}, uid:", 1))
	f.seen(app("copied", "0", "", healthy))
	f.seen(strings.Replace(app("listing", "1", "root", healthy), "status: {", `status: {resources: [
    {group: argoproj.io, kind: Application, namespace: argocd, name: listed},
    {group: argoproj.io, kind: ApplicationSet, namespace: argocd, name: set}], `, 1))
	f.seen(app("listed", "0", "", healthy))
	f.seen(`
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set, namespace: argocd, uid: uid-set}
status: {conditions: [{type: ErrorOccurred, status: "False"}, {type: ResourcesUpToDate, status: "True"}]}`)
	f.seen(strings.Replace(app("generated", "0", "", healthy), "uid:", "ownerReferences: [{kind: ApplicationSet, uid: uid-set}], uid:", 1))
	f.seen(strings.Replace(strings.ReplaceAll(app("away", "0", "", healthy), "namespace: argocd", "namespace: team"), "uid:",
		`labels: {app.kubernetes.io/instance: argocd_root}, uid:`, 1))
	f.seen(app("a", "0", "b", healthy))
	f.seen(app("b", "0", "a", healthy))
	f.want("b wave 0: Healthy, Synced", "  a wave 0: Healthy, Synced", "copied wave 0: Healthy, Synced", "root wave 0: Healthy, Synced",
		"  team/away wave 0: Healthy, Synced", "  labelled wave 0: Healthy, Synced", "  listing wave 1: Healthy, Synced",
		"    listed wave 0: Healthy, Synced", "    ApplicationSet set wave 0: Healthy", "      generated wave 0: Healthy, Synced")
}

// TestOthers: another Argo CD of the cluster may have Applications of the same names, and what is deployed to another cluster is not here.
func TestOthers(t *testing.T) {
	f := newFeed(t)
	other := func(text string) string { return strings.ReplaceAll(text, "argocd", "team") }
	f.seen(app("root", "0", "", healthy))
	f.seen(app("child", "0", "root", healthy))
	f.seen(other(app("root", "0", "", strings.Replace(healthy, "status: {", "status: {controllerNamespace: argocd, ", 1))))
	const notes = "argocd.argoproj.io/tracking-id: \"root:argoproj.io/Application:team/stranger\""
	f.seen(fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: stranger, namespace: team, annotations: {%s}}\n%s", notes,
		strings.Replace(healthy, "status: {", "status: {controllerNamespace: team, ", 1)))
	const there = `
spec: {project: default, destination: {server: "https://far.example.com", namespace: argocd}}
status:
  health: {status: Healthy}
  sync: {status: Synced, revision: abc1234}
  operationState: {phase: Succeeded}
  resources:
  - {group: argoproj.io, kind: Application, namespace: argocd, name: web, status: Synced}
  - {group: argoproj.io, kind: Application, namespace: argocd, name: child, status: Synced}`
	f.seen("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: hub, namespace: argocd}" + there)
	f.want("hub wave 0: Healthy, Synced", "root wave 0: Healthy, Synced", "  child wave 0: Healthy, Synced", "team/root wave 0: Healthy, Synced",
		"  team/stranger wave 0: Healthy, Synced")
}

func TestWaits(t *testing.T) {
	for name, c := range map[string]struct{ status, want string }{
		"hook": {
			`{phase: Running, message: waiting for completion of hook batch/Job/migrate, syncResult: {resources: [
        {group: batch, kind: Job, namespace: x, name: migrate, hookType: PreSync, hookPhase: Running}]}}`,
			"x wave 0: syncing; hook migrate",
		},
		"more": {
			`{phase: Running, message: waiting for healthy state of apps/Deployment/b and 1 more resources, syncResult: {resources: [
        {group: apps, kind: Deployment, namespace: x, name: a, status: Synced, hookPhase: Running},
        {group: apps, kind: Deployment, namespace: x, name: b, status: Synced, hookPhase: Running},
        {group: apps, kind: Deployment, namespace: x, name: done, status: Synced, hookPhase: Succeeded}]}}`,
			"x wave 0: syncing; health b; health a",
		},
		"core kinds have no group": {
			`{phase: Running, message: waiting for healthy state of /Service/web}`, "x wave 0: syncing; health web",
		},
		"deletion": {`{phase: Running, message: waiting for deletion of /PersistentVolumeClaim/data}`, "x wave 0: syncing; deletion data"},
		"retry": {
			`{phase: Running, finishedAt: "2026-03-01T12:00:00Z", retryCount: 2, message: one or more objects failed to apply. Retrying attempt}`,
			"x wave 0: syncing; retry ",
		},
		"window": {`{phase: Running, message: Sync operation blocked by sync window}`, "x wave 0: syncing; window "},
		"over":   {`{phase: Failed, message: waiting for healthy state of apps/Deployment/b}`, "x wave 0: not reconciled yet"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeed(t)
			f.seen(app("x", "0", "", "status:\n  operationState: "+c.status))
			f.want(c.want)
		})
	}
	t.Run("nobody", func(t *testing.T) {
		f := newFeed(t)
		f.seen(strings.Replace(app("x", "0", "", "status: {sync: {status: OutOfSync}}"), "automated: {}", "automated: {enabled: false}", 1))
		f.want("x wave 0: OutOfSync; nobody ")
	})
	t.Run("child", func(t *testing.T) {
		f := newFeed(t)
		f.seen(app("x", "0", "", "status: {health: {status: Degraded}, sync: {status: Synced}}"))
		f.seen(app("z", "0", "x", "status: {health: {status: Degraded}, sync: {status: Synced}}"))
		f.want("x wave 0: Degraded, Synced; child z!", "  z wave 0: Degraded, Synced")
	})
}

func TestSources(t *testing.T) {
	f := newFeed(t)
	changed := f.model.Changed()
	f.event(live.Event{What: live.Lost, Source: live.Scope{Kind: "Application"}, Reason: "forbidden"})
	select {
	case <-changed:
	default:
		t.Error("the change was not told")
	}
	f.event(live.Event{What: live.Lost, Source: live.Scope{Kind: "Application"}, Reason: "forbidden"})
	s := f.model.Snapshot()
	if got := s.Sources[0]; len(s.Sources) != 1 || got.Kind != "Application" || got.Lost.Error() != "forbidden" ||
		!got.Since.Equal(noon.Add(time.Second)) {
		t.Errorf("%+v", s.Sources)
	}
	f.event(live.Event{What: live.Listed, Source: live.Scope{Kind: "Application"}})
	f.event(live.Event{What: live.Lost, Source: live.Scope{Kind: "Application"}, Reason: "connection refused"})
	if got := f.model.Snapshot().Sources[0]; !got.Listed || got.Lost == nil {
		t.Errorf("it is known as it was: %+v", got)
	}
}

// TestFound: an Application that could not be read is known again when it can be, or is gone.
func TestFound(t *testing.T) {
	f := newFeed(t)
	lost := live.Event{What: live.Lost, Source: live.Scope{Kind: "Application", Namespace: "argocd", Name: "x"}, Reason: "it has more than 4 MiB"}
	f.event(live.Event{What: live.Lost, Source: live.Scope{Kind: "Application"}, Reason: "forbidden"})
	names := func(want ...string) {
		t.Helper()
		var got []string
		for _, s := range f.model.Snapshot().Sources {
			got = append(got, s.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	f.event(lost)
	f.seen(app("y", "0", "", healthy))
	f.seen("{apiVersion: other.example.com/v1, kind: Application, metadata: {name: x, namespace: argocd}}")
	names("Application argocd/x", "Applications in all namespaces")
	f.seen(app("x", "0", "", healthy))
	names("Applications in all namespaces")
	f.event(lost)
	f.event(live.Event{What: live.Gone, Object: object(t, app("x", "0", "", ""))})
	names("Applications in all namespaces")
}

// TestLight: an Application without its objects and sources is the same in everything else.
func TestLight(t *testing.T) {
	const text = `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"namespace": "argocd", "name": "x", "uid": "u",
		"finalizers": ["resources-finalizer.argocd.argoproj.io"], "labels": {"app.kubernetes.io/instance": "root"},
		"annotations": {"argocd.argoproj.io/sync-wave": "3", "argocd.argoproj.io/hook": "PostSync", "argocd.argoproj.io/skip-reconcile": "true",
			"argocd.argoproj.io/tracking-id": "root:argoproj.io/Application:argocd/x"},
		"ownerReferences": [{"kind": "ApplicationSet", "uid": "s"}]},
		"spec": {"project": "p", "syncPolicy": {"automated": {"prune": true, "selfHeal": true}}},
		"status": {"health": {"status": "Healthy"}, "sync": {"status": "Synced"}, "operationState": {"phase": "Running"}}}`
	read := func(fields manifest.Fields) live.Application {
		o, err := manifest.Pick([]byte(text), fields, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		f := newFeed(t)
		f.event(live.Event{What: live.Seen, Object: o})
		return *f.model.Snapshot().Get(live.KeyOf(o)).Application
	}
	whole, light := read(live.Fields()), read(live.LightFields())
	if !reflect.DeepEqual(whole, light) {
		t.Errorf("whole %+v\nlight %+v", whole, light)
	}
	if !light.Automated || light.Wave != 3 || len(light.Finalizers) != 1 {
		t.Errorf("%+v", light)
	}
}

// TestUnseen: what a parent deploys and nobody may watch is neither missing nor healthy.
func TestUnseen(t *testing.T) {
	const children = `status: {health: {status: Healthy}, sync: {status: Synced}, resources: [
  {group: argoproj.io, kind: Application, namespace: team, name: x}, {group: argoproj.io, kind: Application, namespace: argocd, name: yes-it},
  {group: argoproj.io, kind: ApplicationSet, namespace: argocd, name: z}, {group: argoproj.io, kind: Application, namespace: argocd, name: large}]}`
	forbidden := `applications.argoproj.io is forbidden: User "x" cannot list resource "applications" in API group "argoproj.io" at the cluster scope`
	f := newFeed(t)
	f.seen(app("root", "0", "", children))
	f.event(live.Event{What: live.Lost, Source: live.Scope{Kind: "Application"}, Reason: forbidden, Lacks: live.Lacking(forbidden)})
	f.event(live.Event{What: live.Listed, Source: live.Scope{Kind: "Application", Namespace: "argocd"}})
	f.event(live.Event{What: live.Lost, Source: live.Scope{Kind: "Application", Namespace: "argocd", Name: "large"}, Reason: "it has more than 4 MiB"})
	f.event(live.Event{What: live.Listed, Source: live.Scope{Kind: "ApplicationSet"}})
	f.want("root wave 0: Healthy, Synced", "  large wave 0: cannot be watched: it has more than 4 MiB",
		"  team/x wave 0: cannot be watched: no right to list applications.argoproj.io in all namespaces",
		"  yes-it wave 0: not created; wave root!", "  ApplicationSet z wave 0: not created; wave root!")
	goal, _ := live.ParseGoal("healthy")
	if left := goal.Left(f.model.Snapshot().Roots[0]); len(left) != 4 {
		t.Errorf("%d are left", len(left))
	}
}

func TestFind(t *testing.T) {
	f := newFeed(t)
	f.seen(app("x", "0", "", healthy))
	f.seen(strings.ReplaceAll(app("x", "0", "", healthy), "namespace: argocd", "namespace: team"))
	s := f.model.Snapshot()
	if n, err := s.Find("team/x"); err != nil || n == nil || n.Namespace != "team" {
		t.Error(n, err)
	}
	if n, err := s.Find("x"); err == nil || n != nil {
		t.Error(n, err)
	}
	if n, err := s.Find("y"); err != nil || n != nil {
		t.Error(n, err)
	}
}

func TestGoals(t *testing.T) {
	f := newFeed(t)
	f.seen(app("root", "0", "", healthy))
	f.seen(app("a", "1", "root", "status: {health: {status: Healthy}, sync: {status: OutOfSync}, operationState: {phase: Succeeded}}"))
	f.seen(app("b", "1", "root", "status: {health: {status: Progressing}, sync: {status: Synced}, operationState: {phase: Succeeded}}"))
	f.seen(app("c", "1", "root", "status: {health: {status: Healthy}, sync: {status: Synced}, operationState: {phase: Running}}"))
	f.seen(strings.Replace(app("d", "1", "root", "status: {health: {status: Healthy}, sync: {status: Synced}, "+
		"sourceHydrator: {currentOperation: {phase: Failed}}}"), "spec: {", "spec: {sourceHydrator: {drySource: {}}, ", 1))
	root := f.model.Snapshot().Roots[0]
	for text, want := range map[string][]string{
		"healthy": {"b", "c", "d"}, "synced": {"a", "c", "d"}, "revision=abc1234": nil, "revision=abc12345": {"root"}, "revision=abc": {"root"},
	} {
		goal, err := live.ParseGoal(text)
		if err != nil || goal.String() != text {
			t.Fatal(goal, err)
		}
		var left []string
		for _, n := range goal.Left(root) {
			left = append(left, n.Name)
		}
		if !slices.Equal(left, want) {
			t.Errorf("%s: %v, want %v", text, left, want)
		}
	}
	for _, text := range []string{"", "health", "healthy=yes", "revision", "revision=", "revision=a b"} {
		if _, err := live.ParseGoal(text); err == nil {
			t.Errorf("%q is no goal", text)
		}
	}
}

func TestRecording(t *testing.T) {
	events := []live.Event{
		{At: noon, What: live.Seen, Object: object(t, app("x", "0", "", healthy))},
		{At: noon, What: live.Listed, Source: live.Scope{Kind: "Application"}},
		{At: noon, What: live.Lost, Source: live.Scope{Kind: "Application"}, Reason: "gone away"},
		{At: noon, What: live.Gone, Object: object(t, app("x", "0", "", ""))},
	}
	var b bytes.Buffer
	for _, e := range events {
		if err := live.Write(&b, e); err != nil {
			t.Fatal(err)
		}
	}
	read := func(text string) (out []live.Event, err error) {
		err = live.Read("boot.jsonl", strings.NewReader(text), func(e live.Event) { out = append(out, e) })
		return out, err
	}
	got, err := read(b.String())
	if diff := cmp.Diff(events, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// A recorder that was killed leaves half a line.
	if got, err := read(b.String()[:b.Len()-10]); err != nil || len(got) != len(events)-1 {
		t.Error(len(got), err)
	}
	for text, want := range map[string]string{
		"{}\n":                                   `boot.jsonl:1: field "what" must be seen, gone, listed or lost, it is ""`,
		"\n{\"what\": \"seen\"}\n":               "boot.jsonl:2: object: kind and metadata.name must be set",
		"{\"what\": \"lost\"}\n":                 "boot.jsonl:1: source must be set",
		"x\n":                                    "boot.jsonl:1: not an event of a recording: invalid character 'x' looking for beginning of value",
		strings.Repeat("x", (8<<20)+1000) + "\n": "boot.jsonl: a line has more than 8 MiB",
	} {
		if _, err := read(text); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzRead: a recording is a file of a user, and its objects are from tenants.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"what":"seen","object":{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"x","ownerReferences":[{"kind":"ApplicationSet","uid":""}]},"status":{"operationState":{"phase":"Running","message":"waiting for healthy state of a/b/c"},"resources":[{"group":"argoproj.io","kind":"Application","name":"x"}]}}}` + "\n"))
	recorded, err := os.ReadFile("testdata/boot.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	// Three lines each, and not too long, so that the fuzzer gets on.
	lines := bytes.SplitAfter(recorded, []byte("\n"))
	for i := 0; i+3 < len(lines); i += 9 {
		if seed := bytes.Join(lines[i:i+3], nil); len(seed) < 12<<10 {
			f.Add(seed)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := live.New("argocd")
		_ = live.Read("fuzz", bytes.NewReader(data), m.Apply)
		s := m.Snapshot()
		below := 0
		for _, root := range s.Roots {
			root.All(func(n *live.Node) {
				below++
				_, _ = n.Running()
				_ = n.Describe()
				_ = s.Title(n)
			})
		}
		// Everything is below a root, once.
		if below != len(s.Nodes) {
			t.Errorf("%d of %d nodes are below a root", below, len(s.Nodes))
		}
	})
}

// thousands is a model with Applications of thirty objects.
func thousands(apps int) *live.Model {
	var resources []any
	for i := range 30 {
		resources = append(resources, map[string]any{
			"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "default", "name": fmt.Sprintf("d%d", i), "status": "Synced",
		})
	}
	m := live.New("argocd")
	for i := range apps {
		m.Apply(live.Event{At: noon, What: live.Seen, Object: manifest.Object{
			"apiVersion": argo.APIVersion, "kind": "Application", "metadata": map[string]any{"namespace": "argocd", "name": fmt.Sprintf("a%d", i)},
			"status": map[string]any{
				"resources": manifest.Copy(resources), "history": strings.Repeat("x", 100_000), "sync": map[string]any{"status": "Synced"},
			},
		}})
	}
	return m
}

// BenchmarkSnapshot is a snapshot after one change among two thousand Applications.
func BenchmarkSnapshot(b *testing.B) {
	m := thousands(2000)
	for b.Loop() {
		m.Apply(live.Event{At: noon, What: live.Listed, Source: live.Scope{Kind: "Application"}})
		_ = m.Snapshot()
	}
}

// TestSize: two thousand Applications of thirty objects take less than 16 KiB each, however large they are in the cluster.
func TestSize(t *testing.T) {
	const apps = 2000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := thousands(apps)
	s := m.Snapshot()
	runtime.GC()
	runtime.ReadMemStats(&after)
	size := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / apps
	t.Logf("%d bytes for each of %d Applications", size, len(s.Nodes))
	if size > 16<<10 || len(s.Nodes) != apps {
		t.Errorf("%d bytes for each of %d Applications", size, len(s.Nodes))
	}
	runtime.KeepAlive(m)
}

// TestRecordedBoot replays a boot that the lab recorded from Argo CD 3.2.11: a wave waits for a Deployment whose pod fails, is repaired, and
// the next wave follows. UPDATE=1 writes the states.
func TestRecordedBoot(t *testing.T) {
	file, err := os.Open("testdata/boot.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m := live.New("argocd")
	var states strings.Builder
	last := ""
	err = live.Read("testdata/boot.jsonl", file, func(e live.Event) {
		m.Apply(e)
		if now := strings.Join(rows(m.Snapshot()), "\n") + "\n\n"; now != last {
			last = now
			states.WriteString(now)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/boot.txt"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(states.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), states.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
