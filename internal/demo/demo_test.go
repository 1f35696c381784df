package demo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/screen"
	"github.com/argosy-cd/argosy/internal/tree"
)

// TestMain: a demo starts its own program to remove what it leaves, and that is the test's here.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "demo" && os.Args[2] == "sweep" {
		if err := Sweep(os.Stdin, os.Args[3]); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const testURL = "https://git.example.com/x"

// testFiles are a root with a set in Git that makes red, which is in Git, and blue, which is in S3.
var testFiles = map[string]string{
	"root.yaml":                      `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: root, namespace: argocd}, spec: {project: default, source: {repoURL: ` + testURL + `, path: apps, plugin: {name: appset}}, destination: {name: in-cluster, namespace: argocd}, syncPolicy: {automated: {}}}}`,
	"apps/set.yaml":                  `{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: teams, namespace: argocd}, spec: {generators: [{list: {elements: [{team: red}, {team: blue}]}}], template: {metadata: {name: '{{team}}'}, spec: {project: '{{team}}', source: {repoURL: ` + testURL + `, path: 'teams/{{team}}'}, destination: {name: in-cluster, namespace: x}, syncPolicy: {automated: {}}}}}}`,
	"teams/red/d.yaml":               `{apiVersion: apps/v1, kind: Deployment, metadata: {name: red}}`,
	"teams/blue/" + triggerfile.Name: "bucket: artifacts\npath: blue\n",
}

// testDemo is a demo of testFiles with plugins that answer as they are told.
type testDemo struct {
	*testing.T
	Config
	out     bytes.Buffer
	answers map[string][]string // of plugins: kinds and names
	facts   []Facts
	mu      sync.Mutex
	calls   []string
}

func newTestDemo(t *testing.T) *testDemo {
	t.Helper()
	var files []tree.File
	for _, name := range slices.Sorted(maps.Keys(testFiles)) {
		files = append(files, tree.File{Name: name, Data: []byte(testFiles[name])})
	}
	roots, err := manifest.Decode("root.yaml", []byte(testFiles["root.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	d := &testDemo{T: t, answers: map[string][]string{"appset": {"Application red", "Application blue"}, "s3": {"ConfigMap blue"}}}
	t.Setenv("TMPDIR", shortDir(t))
	d.Config = Config{
		Exhibit: &Exhibit{
			title: "a test", roots: roots, sets: plan.SetsByPlugin,
			repos: []exhibitRepo{{testURL, func(context.Context) ([]tree.File, error) { return files, nil }}},
			artifacts: map[bucket.URL][]tree.File{{Bucket: "artifacts", Path: "blue"}: {{
				Name: "cm.yaml",
				Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: blue}}"),
			}}},
		},
		Screen: screen.Config{Out: &d.out}, Program: "argosy", Speed: 1e9, Now: time.Now,
		Plan:    func() (plan.Config, error) { return plan.Config{}, nil },
		Plugins: d.plugins,
	}
	return d
}

// shortDir is a directory for sockets, whose names must be short.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "demo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (d *testDemo) plugins(at Place) (Plugins, error) {
	plugin := func(name, discover string) cmp.Plugin {
		return cmp.Plugin{Name: name, Discover: discover, Generate: func(_ context.Context, r *cmp.Request) ([]manifest.Object, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.calls = append(d.calls, name+" "+r.App+" "+at.Namespace+r.AppNamespace)
			at.Read()
			var out []manifest.Object
			for _, text := range d.answers[name] {
				kind, object, _ := strings.Cut(text, " ")
				group := "v1"
				metadata := map[string]any{"name": object}
				if kind == "Application" {
					group, metadata["namespace"] = "argoproj.io/v1alpha1", "argocd"
				}
				out = append(out, manifest.Object{"apiVersion": group, "kind": kind, "metadata": metadata})
			}
			if out == nil {
				return nil, errors.New("no answer today")
			}
			return out, nil
		}}
	}
	return Plugins{Served: []cmp.Plugin{plugin("appset", ""), plugin("s3", triggerfile.Name)}, Planned: func(f Facts) {
		d.facts = append(d.facts, f)
	}}, nil
}

// TestRun: a boot calls each plugin through its socket when the sync of its Application begins, and leaves nothing behind.
func TestRun(t *testing.T) {
	d := newTestDemo(t)
	p, err := Run(t.Context(), d.Config)
	if err != nil || len(p.Applications) != 3 {
		t.Fatalf("%v\n%s", err, d.out.String())
	}
	for _, want := range []string{
		"PLAN of a test\n\nroot, from apps\n\n  WAVE 0", "\nBOOT, 1e+09 times as fast\n",
		"root: the plugin appset answers with 2 Applications, as planned", "blue: the plugin s3 answers with 1 object, as planned",
		"● root is Healthy\n", "\nroot is booted: 3 Applications healthy after ",
		"plugin s3      answered once through its socket, with 2 requests to S3",
	} {
		if !strings.Contains(d.out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, d.out.String())
		}
	}
	if got := diff.Diff([]string{"appset root argocd", "s3 blue argocd"}, d.calls[:2]); got != "" {
		t.Error(got)
	}
	if len(d.facts) != 1 || d.facts[0].Version != p.Version || !slices.Equal(d.facts[0].Projects, []string{"default", "red", "blue"}) {
		t.Errorf("%+v", d.facts)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestRunErrors: what a boot does not get over.
func TestRunErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*testDemo)
		want   string
	}{
		"more than planned": {func(d *testDemo) {
			d.answers["s3"] = []string{"ConfigMap blue", "Secret more"}
		}, "blue: the answer of the plugin has Secret more, which the plan has not"},
		"less than planned": {func(d *testDemo) {
			d.answers["appset"] = []string{"Application red"}
		}, "root: the plan has Application blue argocd, which the answer of the plugin has not"},
		"no answer": {func(d *testDemo) { d.answers["s3"] = nil }, "blue: the plugin s3: no answer today"},
		"nobody":    {func(d *testDemo) { d.Fail = []string{"nobody"} }, `there is no Application "nobody" in the plan`},
		"no settings": {func(d *testDemo) {
			d.Plan = func() (plan.Config, error) { return plan.Config{}, errors.New("no settings") }
		}, "no settings"},
		"no plugins": {func(d *testDemo) {
			d.Plugins = func(Place) (Plugins, error) { return Plugins{}, errors.New("no plugins") }
		}, "no plugins"},
		"nothing to write to": {func(d *testDemo) { d.Screen.Out = closedPipe() }, "writing: io: read/write on closed pipe"},
		"no end":              {func(d *testDemo) { d.Fail = []string{"red"} }, problem.ErrFound.Error()},
		"no end by a pattern": {func(d *testDemo) { d.Fail = []string{"r?d"} }, problem.ErrFound.Error()},
		"a pattern of a name that is there": {
			func(d *testDemo) { d.Fail = []string{"r?d", "red"} },
			`"red" is in --fail, --never and --degrade more than once`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTestDemo(t)
			tt.change(d)
			if _, err := Run(t.Context(), d.Config); err == nil || err.Error() != tt.want {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func closedPipe() io.Writer {
	r, w := io.Pipe()
	_ = r.Close()
	return w
}

// TestRunStopped: a demo that is told to end does, and says where it was.
func TestRunStopped(t *testing.T) {
	d := newTestDemo(t)
	ctx, cancel := context.WithCancel(t.Context())
	d.Screen.Out = writer(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("is applied")) {
			cancel()
		}
		return len(p), nil
	})
	if _, err := Run(ctx, d.Config); err == nil || err.Error() != "stopped at 0s of the boot" {
		t.Error(err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestClock: time of a boot passes by waiting only.
func TestClock(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := newClock(start, 1e9)
	c.wait(t.Context(), time.Hour, time.Minute)
	if got := c.now().Sub(start); got != time.Hour {
		t.Errorf("%s after an hour", got)
	}
	c.wait(t.Context(), 2*time.Hour, time.Nanosecond) // a second of the boot, at its speed
	if got := c.passed(); got != time.Hour+time.Second {
		t.Errorf("%s after an hour and a part of the next", got)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	c.setSpeed(0.1)
	c.wait(stopped, 2*time.Hour, time.Hour)
	if got := c.passed(); got != time.Hour+time.Second {
		t.Errorf("%s after nothing", got)
	}
}

// TestStay: after the boot clocks go on to tick, and changes and errors of what the plugins answer are told once.
func TestStay(t *testing.T) {
	d := newTestDemo(t)
	d.Stay = true
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answer := func(list ...string) func() { return func() { d.answers["s3"] = list } }
	steps := []struct {
		line string
		then func()
	}{
		{"Ctrl-C ends the demo", answer("ConfigMap blue", "Secret more")},
		{"  blue: + Secret more\n", answer()},
		{"✗ asked again: blue: the plugin s3: no answer today\n", answer("ConfigMap blue")},
		{"● asked again: the errors are gone\n", func() {}},
		{"  blue: - Secret more\n", cancel},
	}
	d.Screen.Out = writer(func(p []byte) (int, error) {
		d.out.Write(p)
		if len(steps) > 0 && strings.Contains(string(p), steps[0].line) {
			d.mu.Lock()
			defer d.mu.Unlock()
			steps[0].then()
			steps = steps[1:]
		}
		return len(p), nil
	})
	if _, err := Run(ctx, d.Config); err != nil || len(steps) > 0 {
		t.Fatalf("%v, %d steps are missing\n%s", err, len(steps), d.out.String())
	}
	if n := strings.Count(d.out.String(), "no answer today"); n != 1 {
		t.Errorf("told %d times\n%s", n, d.out.String())
	}
}
