package boot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/boot"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/follow"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/preview"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/workspace"
)

const url = "https://git.example.com/x"

const rootFile = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root, namespace: argocd}
spec:
  project: default
  source: {repoURL: 'https://git.example.com/x', path: apps}
  destination: {server: 'https://kubernetes.default.svc', namespace: argocd}
  syncPolicy: {automated: {prune: true}}
`

// output is written by one and read by another.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// booted is a boot of a tree, against a server.
type booted struct {
	boot.Config
	out    output
	server *server
}

// newBoot is a boot of a root with a ConfigMap, and other files.
func newBoot(t *testing.T, files map[string]string) *booted {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"root.yaml": rootFile, "apps/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	planner := &workspace.Planner{
		Repositories: workspace.New(workspace.Config{
			Local: []gitsource.Local{{URL: url, Path: dir}}, Alone: true, Offline: true, Env: environ.New(os.Environ()...), Note: func(string) {},
		}),
		Config: plan.Config{Namespace: "argocd"},
	}
	t.Cleanup(func() {
		if err := planner.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &booted{}
	s, client := newServer(t)
	b.server = s
	b.Lint.Preview = preview.Preview{Planner: planner, Roots: []string{filepath.Join(dir, "root.yaml")}}
	b.Follow = follow.Config{Client: client, Namespaces: []string{"*"}, Now: time.Now, Out: &b.out, Err: &b.out, Format: report.JSON}
	b.Timeout = 30 * time.Second
	s.set(cmPath, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "argocd-cm", "namespace": "argocd"},
		"data": map[string]any{health.ApplicationKey: health.ApplicationScript, "other": "kept"},
	})
	s.set("/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects/default", map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": map[string]any{"name": "default", "namespace": "argocd"},
		"spec": map[string]any{
			"sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"server": "*", "namespace": "*"}},
			"clusterResourceWhitelist": []any{map[string]any{"group": "*", "kind": "*"}},
		},
	})
	s.set("/api/v1/namespaces/argocd", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "argocd"}})
	return b
}

// healthy is what Argo CD says about the root when it is done.
func healthy() map[string]any {
	destination := map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"}
	return map[string]any{"status": map[string]any{
		"health": map[string]any{"status": "Healthy"}, "reconciledAt": "2026-01-01T00:00:05Z",
		"sync": map[string]any{
			"status": "Synced", "revision": "abcdef1", "comparedTo": map[string]any{"source": map[string]any{"repoURL": url, "path": "apps"}, "destination": destination},
		},
		"operationState": map[string]any{"phase": "Succeeded", "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"},
	}}
}

// obey makes the server do what Argo CD does when a root is applied.
func (b *booted) obey() {
	b.server.react = func(path string, _ map[string]any) {
		if path == rootPath {
			b.server.set(path, map[string]any{"status": map[string]any{"health": map[string]any{"status": "Progressing"}}})
			b.server.set(path, healthy())
		}
	}
}

type event struct {
	Event, Check, Verdict, Text, Fix, Result string
}

func (b *booted) run(t *testing.T) ([]event, error) {
	t.Helper()
	b.out.buf.Reset()
	err := boot.Run(t.Context(), b.Config)
	var out []event
	for line := range strings.Lines(b.out.String()) {
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			t.Fatalf("no event: %s", line)
		}
		out = append(out, e)
	}
	return out, err
}

func find(t *testing.T, events []event, kind string) event {
	t.Helper()
	i := slices.IndexFunc(events, func(e event) bool { return e.Event == kind || e.Event == "preflight" && e.Check == kind })
	if i < 0 {
		t.Fatalf("no %s in %+v", kind, events)
	}
	return events[i]
}

// TestBoot: the root is applied and followed until it is healthy. A second boot changes nothing.
func TestBoot(t *testing.T) {
	b := newBoot(t, nil)
	b.obey()
	b.Record = filepath.Join(t.TempDir(), "boot.jsonl")
	b.Learn = filepath.Join(t.TempDir(), "times.yaml")
	events, err := b.run(t)
	if err != nil {
		t.Fatal(err, b.out.String())
	}
	if e := find(t, events, "applied"); e.Result != "created" {
		t.Errorf("%+v", e)
	}
	if e := find(t, events, "done"); e.Result != "healthy" {
		t.Errorf("%+v", e)
	}
	for _, kind := range []string{"created", "synced", "healthy", "compared", "learnt"} {
		find(t, events, kind)
	}
	if data, err := os.ReadFile(b.Learn); err != nil || !strings.HasPrefix(string(data), "applications:\n  root: ") {
		t.Errorf("%s, %v", data, err)
	}
	file, err := os.Open(b.Record)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var status bytes.Buffer
	r, err := follow.Open(t.Context(), follow.Config{Recording: file, Name: "boot.jsonl", Namespace: "argocd", Out: &status, Format: report.Text})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Status("root"); err != nil || !strings.HasPrefix(status.String(), "root: 1 of 1 Application healthy\n") {
		t.Errorf("%v\n%s", err, status.String())
	}

	version := b.server.object(rootPath)["metadata"].(map[string]any)["resourceVersion"]
	b.Record, b.Learn = "", ""
	events, err = b.run(t)
	if err != nil || find(t, events, "done").Result != "nothing-to-do" || find(t, events, "applied").Result != "unchanged" {
		t.Errorf("%v, %+v", err, events)
	}
	if now := b.server.object(rootPath)["metadata"].(map[string]any)["resourceVersion"]; now != version {
		t.Errorf("version %v, then %v", version, now)
	}
}

// TestChecks: each check that fails stops the boot before anything is written, and has a fix.
func TestChecks(t *testing.T) {
	noCheck := map[string]any{"data": map[string]any{health.ApplicationKey: nil}}
	for name, c := range map[string]struct {
		files   map[string]string
		change  func(b *booted)
		check   string
		verdict string // failed if ""
		text    string
	}{
		"no health check": {
			change: func(b *booted) { b.server.set(cmPath, noCheck) }, check: "health-check", text: "argocd-cm has no health check",
		},
		"a check that says yes to all": {
			change: func(b *booted) {
				b.server.set(cmPath, map[string]any{"data": map[string]any{health.ApplicationKey: `return {status = "Healthy"}`}})
			}, check: "health-check", text: "returns Healthy for an Application that Argo CD has not reconciled",
		},
		"a check that says no to all": {
			change: func(b *booted) {
				b.server.set(cmPath, map[string]any{"data": map[string]any{health.ApplicationKey: `return {status = "Progressing"}`}})
			}, check: "health-check", text: "returns Progressing for a healthy and synced Application",
		},
		"a check that does not work": {
			change: func(b *booted) {
				b.server.set(cmPath, map[string]any{"data": map[string]any{health.ApplicationKey: `return obj.status.health.x.y`}})
			}, check: "health-check", text: "does not work",
		},
		"a broken plan": {files: map[string]string{"apps/kustomization.yaml": "resources: [none.yaml]\n"}, check: "plan", text: "Argo CD cannot render root"},
		"a kind that nobody brings": {
			files: map[string]string{"apps/x.yaml": "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\n"}, check: "crds",
			text: "the CRD of example.com/Thing, which root needs, and the cluster does not have it",
		},
		"a namespace that nobody brings": {
			files: map[string]string{"apps/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y, namespace: far}\n"}, check: "namespaces",
			text: "the namespace far, which root needs, and the cluster does not have it",
		},
		"a project that is not there": {
			files: map[string]string{"root.yaml": strings.Replace(rootFile, "project: default", "project: team", 1)}, check: "projects",
			text: "the AppProject team, which root needs, and the cluster does not have it",
		},
		"a project that may not be read": {
			files:  map[string]string{"root.yaml": strings.Replace(rootFile, "project: default", "project: team", 1)},
			change: func(b *booted) { b.server.forbid = []string{"get team"} }, check: "projects", verdict: "unknown",
			text: "some could not be read: ",
		},
		"more things than are looked for": {
			files: map[string]string{"apps/x.yaml": manyNamespaces(600)},
			change: func(b *booted) {
				for i := range 600 {
					path := fmt.Sprintf("/api/v1/namespaces/many-%03d", i)
					b.server.set(path, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": filepath.Base(path)}})
				}
			}, check: "namespaces", verdict: "unknown", text: "only the first 500 prerequisites of the plan are checked",
		},
		"a project that forbids": {
			change: func(b *booted) {
				b.server.set("/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects/default", map[string]any{
					"spec": map[string]any{"sourceRepos": []any{"*", "!https://git.example.com/*"}},
				})
			}, check: "projects", text: "does not permit the repository",
		},
		"a project that a Secret may give a repository": {
			change: func(b *booted) {
				b.server.set("/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects/default", map[string]any{
					"spec": map[string]any{"sourceRepos": []any{"https://other.example.com/*"}},
				})
			}, check: "projects", verdict: "unknown",
			text: "it is not known whether the project default permits the repository of a source of root: its rules do not, but a Secret",
		},
		"a project that a global one may give a destination": {
			change: func(b *booted) {
				b.server.set(cmPath, map[string]any{"data": map[string]any{"globalProjects": "- {projectName: x}"}})
				b.server.set("/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects/default", map[string]any{
					"spec": map[string]any{"destinations": []any{map[string]any{"server": "*", "namespace": "other"}}},
				})
			}, check: "projects", verdict: "unknown",
			text: "permits the destination of root: its own rules do not, but globalProjects may",
		},
		"no right to write": {
			change: func(b *booted) { b.server.forbid = []string{"patch applications"} }, check: "permissions", text: "patch applications.argoproj.io root",
		},
		"a plugin that nobody has seen": {
			files: map[string]string{"root.yaml": strings.Replace(rootFile, "path: apps", "path: apps, plugin: {name: mine}", 1)},
			check: "plugin mine", verdict: "unknown", text: "no Pods of the repo-server can be seen",
		},
		"a sidecar that is not ready": {
			files: map[string]string{"root.yaml": strings.Replace(rootFile, "path: apps", "path: apps, plugin: {name: mine}", 1)},
			change: func(b *booted) {
				b.server.set("/api/v1/namespaces/argocd/pods/repo", map[string]any{"apiVersion": "v1", "kind": "Pod", "status": map[string]any{"containerStatuses": []any{
					map[string]any{"name": "argocd-repo-server", "ready": true}, map[string]any{"name": "cmp-mine", "ready": false},
				}}})
			}, check: "plugin mine", text: "container cmp-mine",
		},
		"a trigger without a Service": {
			files: map[string]string{"root.yaml": strings.Replace(rootFile, "'https://git.example.com/x'", "'http://appset-repo.argocd/appset.git'", 1)},
			check: "trigger http://appset-repo.argocd/appset.git", text: "there is no Service appset-repo in namespace argocd",
		},
		"a trigger somewhere else": {
			files: map[string]string{"root.yaml": strings.Replace(rootFile, "'https://git.example.com/x'", "'https://example.com/appset.git'", 1)},
			check: "trigger https://example.com/appset.git", verdict: "unknown", text: "not known from here",
		},
		"a kind that something unknown may bring": {
			files: map[string]string{
				"apps/x.yaml": "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}\n", "apps/y.yaml": childOf("{repoURL: 'https://charts.example.com', chart: web, targetRevision: 1.0.0}", "{name: in-cluster, namespace: argocd}"),
			}, check: "crds", verdict: "unknown", text: "CRD example.com/Thing is not in the cluster, and it is not known whether the plan brings it",
		},
		"a namespace of another cluster": {
			files: map[string]string{
				"apps/y.yaml": childOf("{repoURL: 'https://git.example.com/x', path: leaf}", "{server: 'https://far.example.com', namespace: far}"), "leaf/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n",
			}, check: "namespaces", verdict: "unknown", text: "nothing is missing in this cluster; cluster https://far.example.com was not checked",
		},
		"a project that may permit another cluster": {
			files: map[string]string{
				"apps/y.yaml": childOf("{repoURL: 'https://git.example.com/x', path: leaf}", "{server: 'https://far.example.com', namespace: far}"), "leaf/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n",
			},
			change: func(b *booted) {
				b.server.set("/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects/default", map[string]any{
					"spec": map[string]any{"sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"name": "in-cluster", "namespace": "*"}, map[string]any{"name": "far", "namespace": "*"}}},
				})
			}, check: "projects", verdict: "unknown", text: "it is not known whether the project default permits the destination of child",
		},
		"a controller without replicas": {
			change: func(b *booted) {
				b.server.set("/apis/apps/v1/namespaces/argocd/deployments/repo", map[string]any{
					"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"labels": map[string]any{"app.kubernetes.io/component": "repo-server"}},
					"spec": map[string]any{"replicas": int64(0)}, "status": map[string]any{},
				})
			}, check: "controllers", text: "repo-server is not ready",
		},
		"a controller that is down": {
			change: func(b *booted) {
				b.server.set("/apis/apps/v1/namespaces/argocd/deployments/repo", map[string]any{
					"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"labels": map[string]any{"app.kubernetes.io/component": "repo-server"}},
					"spec": map[string]any{"replicas": int64(1)}, "status": map[string]any{"replicas": int64(0)},
				})
			}, check: "controllers", text: "repo-server is not ready",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoot(t, c.files)
			if c.change != nil {
				c.change(b)
			}
			unknown := c.verdict == "unknown"
			b.DryRun = unknown
			events, err := b.run(t)
			if unknown != (err == nil) || err != nil && !errors.Is(err, problem.ErrFound) {
				t.Errorf("%v\n%s", err, b.out.String())
			}
			e := find(t, events, c.check)
			if want := (map[string]string{"": "failed", "unknown": "unknown"})[c.verdict]; e.Verdict != want || !strings.Contains(e.Text, c.text) {
				t.Errorf("%+v", e)
			}
			if e.Verdict == "failed" && e.Fix == "" {
				t.Errorf("no fix: %+v", e)
			}
			if !unknown && find(t, events, "done").Result != "refused" || len(b.server.writes) > 0 {
				t.Errorf("%q was written\n%s", b.server.writes, b.out.String())
			}
		})
	}
}

// childOf is an Application with a source and a destination.
func childOf(source, destination string) string {
	return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: child, namespace: argocd}\n"+
		"spec: {project: default, source: %s, destination: %s}\n", source, destination)
}

// manyNamespaces are ConfigMaps, each in a namespace of its own.
func manyNamespaces(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: many-%03d}\n", i)
	}
	return b.String()
}

// TestText: for people, a boot is sentences with times; on a terminal its status is below them.
func TestText(t *testing.T) {
	b := newBoot(t, nil)
	b.obey()
	b.Follow.Format = report.Text
	b.Follow.Now = func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
	b.Screen.Size = func() (int, int) { return 200, 40 }
	if err := boot.Run(t.Context(), b.Config); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  ok       api           Kubernetes v1.34.0 answers\n", "Application argocd/root: created\n", "     0s  ● root is Healthy\n",
		"  WAVE  APPLICATION  HEALTH ", "as planned: 1 Application, in the order of their waves\n",
		"booted: 1 Application healthy and synced after 0s\n",
	} {
		if !strings.Contains(b.out.String(), want) {
			t.Errorf("no %q in\n%s", want, b.out.String())
		}
	}
}

// TestFix writes the health check, and nothing else changes in argocd-cm.
func TestFix(t *testing.T) {
	b := newBoot(t, nil)
	b.obey()
	b.server.set(cmPath, map[string]any{"data": map[string]any{health.ApplicationKey: nil}})
	b.Fix = true
	events, err := b.run(t)
	if err != nil || find(t, events, "health-check").Verdict != "ok" || find(t, events, "done").Result != "healthy" {
		t.Fatal(err, b.out.String())
	}
	data := b.server.object(cmPath)["data"].(map[string]any)
	if data["other"] != "kept" || data[health.ApplicationKey] != health.ApplicationScript {
		t.Errorf("%v", data)
	}
}

// TestForce boots although a check has failed.
func TestForce(t *testing.T) {
	b := newBoot(t, nil)
	b.obey()
	b.server.set(cmPath, map[string]any{"data": map[string]any{health.ApplicationKey: nil}})
	b.Force = true
	if events, err := b.run(t); err != nil || find(t, events, "done").Result != "healthy" {
		t.Error(err, b.out.String())
	}
}

// TestDryRun writes nothing.
func TestDryRun(t *testing.T) {
	b := newBoot(t, nil)
	b.DryRun = true
	if events, err := b.run(t); err != nil || find(t, events, "applied").Result != "created" || find(t, events, "done").Result != "dry-run" ||
		len(b.server.writes) > 0 {
		t.Error(err, b.out.String(), b.server.writes)
	}
}

// TestConflict names who owns a field.
func TestConflict(t *testing.T) {
	b := newBoot(t, nil)
	b.obey()
	b.server.conflict = "kubectl"
	if _, err := b.run(t); err == nil || errors.Is(err, problem.ErrFound) || !strings.Contains(err.Error(), `.spec.project (conflict with "kubectl")`) {
		t.Error(err)
	}
	b.ForceConflicts = true
	if events, err := b.run(t); err != nil || find(t, events, "done").Result != "healthy" {
		t.Error(err, b.out.String())
	}
}

// TestTimeout says what blocks, and why.
func TestTimeout(t *testing.T) {
	b := newBoot(t, nil)
	b.Timeout = 3 * time.Second
	b.server.react = func(path string, _ map[string]any) {
		b.server.set(path, map[string]any{"status": map[string]any{
			"health": map[string]any{"status": "Progressing"}, "conditions": []any{map[string]any{"type": "ComparisonError", "message": "no such path"}},
		}})
	}
	events, err := b.run(t)
	if !errors.Is(err, problem.ErrFound) || find(t, events, "done").Result != "timeout" || !strings.Contains(b.out.String(), "no such path") {
		t.Error(err, b.out.String())
	}
	find(t, events, "blocked")
}

// TestInterrupt leaves the cluster as it is, and says so.
func TestInterrupt(t *testing.T) {
	b := newBoot(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	b.server.react = func(string, map[string]any) { cancel() }
	err := boot.Run(ctx, b.Config)
	if err == nil || errors.Is(err, problem.ErrFound) || !strings.Contains(err.Error(), "the cluster is left as it is") {
		t.Error(err)
	}
	if b.server.object(rootPath) == nil {
		t.Error("the root is gone")
	}
}

// TestUnreachable is an error, and the check has its fix.
func TestUnreachable(t *testing.T) {
	b := newBoot(t, nil)
	gone := httptest.NewServer(http.NotFoundHandler())
	b.Follow.Client = client(t, gone.URL)
	gone.Close()
	events, err := b.run(t)
	if err == nil || errors.Is(err, problem.ErrFound) || find(t, events, "api").Fix == "" {
		t.Error(err, events)
	}
}

// stale is a sync of the root that retries an old revision.
func stale(automated bool) map[string]any {
	o := merged(healthy(), map[string]any{
		"operation": map[string]any{"sync": map[string]any{}},
		"status": map[string]any{
			"sync": map[string]any{"status": "OutOfSync"}, "operationState": map[string]any{
				"phase": "Running", "message": "one or more objects failed to apply", "retryCount": int64(3),
				"operation": map[string]any{"sync": map[string]any{"revision": "0000000"}, "retry": map[string]any{"limit": int64(-1)}},
			},
		},
	})
	if !automated {
		o["spec"] = map[string]any{"syncPolicy": nil}
	}
	return o
}

// TestUnwedge ends a sync that retries an old revision, again if the controller writes over that; if Argo CD does not start the next one, it
// does.
func TestUnwedge(t *testing.T) {
	for name, writes := range map[string]int{"automated": 2, "by hand": 3, "written over": 3} {
		automated := name != "by hand"
		t.Run(name, func(t *testing.T) {
			b := newBoot(t, nil)
			if !automated {
				b = newBoot(t, map[string]string{"root.yaml": strings.Replace(rootFile, "  syncPolicy: {automated: {prune: true}}\n", "", 1)})
			}
			began := time.Now()
			b.Follow.Now = func() time.Time { return began.Add(time.Since(began) * 20) } // ten seconds pass quickly
			b.Timeout, b.Unwedge = 20*time.Second, true
			over := name == "written over"
			applied := sync.OnceFunc(func() { b.server.set(rootPath, stale(automated)) })
			b.server.react = func(path string, change map[string]any) {
				status, _ := change["status"].(map[string]any)
				operation, asked := change["operation"].(map[string]any)
				switch {
				case path != rootPath:
				case status != nil && over:
					over = false
					b.server.set(path, map[string]any{"status": map[string]any{"operationState": map[string]any{"phase": "Running"}}})
				case status != nil: // it is told to end
					b.server.set(path, map[string]any{
						"operation": nil, "status": map[string]any{"operationState": map[string]any{"phase": "Failed", "message": "Operation terminated"}},
					})
					if automated {
						b.server.set(path, healthy())
					}
				case asked:
					if by, _ := operation["initiatedBy"].(map[string]any); by["username"] != "argosy" {
						t.Errorf("%v", operation)
					}
					b.server.set(path, map[string]any{"operation": nil})
					b.server.set(path, healthy())
				default:
					applied()
				}
			}
			events, err := b.run(t)
			if err != nil || find(t, events, "done").Result != "healthy" {
				t.Fatal(err, b.out.String())
			}
			for _, kind := range []string{"stale", "unwedged", "restarted"} {
				find(t, events, kind)
			}
			if len(b.server.writes) != writes {
				t.Errorf("%q", b.server.writes)
			}
		})
	}
}

// TestStale is named, and left as it is.
func TestStale(t *testing.T) {
	b := newBoot(t, nil)
	b.Timeout = 3 * time.Second
	applied := sync.OnceFunc(func() { b.server.set(rootPath, stale(true)) })
	b.server.react = func(string, map[string]any) { applied() }
	events, err := b.run(t)
	if !errors.Is(err, problem.ErrFound) || len(b.server.writes) != 1 {
		t.Error(err, b.out.String(), b.server.writes)
	}
	find(t, events, "stale")
	if !strings.Contains(b.out.String(), `"kind":"stale-operation"`) {
		t.Error(b.out.String())
	}
}

// TestInstall applies Argo CD: CRDs first, workloads are waited for, also over an API server that does not answer once, and what Argo CD
// deploys itself is left to it.
func TestInstall(t *testing.T) {
	b := newBoot(t, nil)
	b.obey()
	dir := t.TempDir()
	text := `apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server}
spec: {replicas: 1}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: applications.argoproj.io}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: mine}
`
	if err := os.WriteFile(filepath.Join(dir, "install.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const crd, deployment = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/applications.argoproj.io", "/apis/apps/v1/namespaces/argocd/deployments/argocd-repo-server"
	const mine = "/api/v1/namespaces/argocd/configmaps/mine"
	b.server.set(mine, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": "mine", "namespace": "argocd", "annotations": map[string]any{"argocd.argoproj.io/tracking-id": "argocd:/ConfigMap:argocd/mine"},
	}})
	obey := b.server.react
	b.server.react = func(path string, o map[string]any) {
		switch path {
		case crd:
			b.server.set(path, map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}})
		case deployment:
			b.server.set(path, map[string]any{"status": map[string]any{"replicas": int64(1), "updatedReplicas": int64(1), "availableReplicas": int64(1)}})
		}
		obey(path, o)
	}
	b.server.stumble, b.server.falter = deployment, deployment
	b.Install = dir
	events, err := b.run(t)
	if err != nil || find(t, events, "done").Result != "healthy" {
		t.Fatal(err, b.out.String())
	}
	if !slices.Equal(b.server.writes, []string{crd, deployment, rootPath}) || b.server.stumble+b.server.falter != "" {
		t.Errorf("%q, %q, %q", b.server.writes, b.server.stumble, b.server.falter)
	}
}

// TestPlanAfterInstall: what the install brings is there for the plan, which is for the version that was installed. The root is read once.
func TestPlanAfterInstall(t *testing.T) {
	root := strings.Replace(rootFile, "project: default", "project: team", 1)
	b := newBoot(t, map[string]string{"apps/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y, namespace: far}\n"})
	b.obey()
	b.Lint.Planner.Stdin = strings.NewReader(root)
	b.Lint.Roots = []string{"-"}
	const deployment = "/apis/apps/v1/namespaces/argocd/deployments/argocd-repo-server"
	b.server.set(deployment, workload("v3.4.0")) // before
	obey := b.server.react
	b.server.react = func(path string, o map[string]any) {
		if path == deployment {
			b.server.set(path, map[string]any{"status": map[string]any{"replicas": int64(1), "updatedReplicas": int64(1), "availableReplicas": int64(1)}})
		}
		obey(path, o)
	}
	b.Install = filepath.Join(t.TempDir(), "install.yaml")
	text, err := json.Marshal(workload("v3.2.0"))
	if err != nil {
		t.Fatal(err)
	}
	all := string(text) + `
---
apiVersion: v1
kind: Namespace
metadata: {name: far}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: team}
spec: {sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}], clusterResourceWhitelist: [{group: '*', kind: '*'}]}
`
	if err := os.WriteFile(b.Install, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	events, err := b.run(t)
	if err != nil || find(t, events, "done").Result != "healthy" {
		t.Fatal(err, b.out.String())
	}
	if e := find(t, events, "plan"); !strings.HasSuffix(e.Text, "for Argo CD 3.2") {
		t.Errorf("%+v", e)
	}
	for _, check := range []string{"plan", "lint", "namespaces", "projects"} {
		if n := strings.Count(b.out.String(), `"check":"`+check+`"`); n != 1 {
			t.Errorf("%s is said %d times\n%s", check, n, b.out.String())
		}
	}
}

// workload is the repo-server of a version.
func workload(version string) map[string]any {
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{
			"name": "argocd-repo-server", "labels": map[string]any{"app.kubernetes.io/part-of": "argocd", "app.kubernetes.io/component": "repo-server"},
		},
		"spec": map[string]any{"replicas": int64(1), "template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "repo-server", "image": "quay.io/argoproj/argocd:" + version}},
		}}},
	}
}

// TestRecordingFails: a recording that cannot be written is an error, and is said also if a check has failed.
func TestRecordingFails(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("there is no file that is full")
	}
	b := newBoot(t, nil)
	b.obey()
	b.Record = full
	if _, err := b.run(t); err == nil || errors.Is(err, problem.ErrFound) || !strings.Contains(err.Error(), "the recording is not complete") {
		t.Error(err)
	}
	b.server.set(cmPath, map[string]any{"data": map[string]any{health.ApplicationKey: nil}})
	events, err := b.run(t)
	if e := find(t, events, "error"); !errors.Is(err, problem.ErrFound) || !strings.HasPrefix(e.Text, "the recording is not complete: ") {
		t.Error(err, b.out.String())
	}
}

// TestRevisions: only commits are cut.
func TestRevisions(t *testing.T) {
	const digest, chart = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "1.2.3-rc1"
	b := newBoot(t, nil)
	b.Timeout, b.Follow.Format = 3*time.Second, report.Text
	state := stale(true)
	state["status"] = merged(state["status"].(map[string]any), map[string]any{
		"sync":           map[string]any{"revision": chart},
		"operationState": map[string]any{"operation": map[string]any{"sync": map[string]any{"revision": digest}}},
	})
	applied := sync.OnceFunc(func() { b.server.set(rootPath, state) })
	b.server.react = func(string, map[string]any) { applied() }
	if err := boot.Run(t.Context(), b.Config); !errors.Is(err, problem.ErrFound) {
		t.Error(err)
	}
	if want := "old revision (" + digest + "; the source is at " + chart + ")"; !strings.Contains(b.out.String(), want) {
		t.Errorf("no %q in\n%s", want, b.out.String())
	}
}
