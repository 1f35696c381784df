package preview_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/preview"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/settings"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/workspace"
)

const url = "https://git.example.com/x"

// application is an Application whose source is in the repository, in a wave.
func application(name, path, wave string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd, " +
		"annotations: {argocd.argoproj.io/sync-wave: '" + wave + "'}}\n" +
		"spec: {project: default, source: {repoURL: '" + url + "', path: " + path +
		"}, destination: {name: in-cluster, namespace: argocd}, syncPolicy: {automated: {}}}\n"
}

const (
	configMap  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n"
	broken     = "apiVersion: v1\nkind: ConfigMap\nmetadata: [\n"
	unknown    = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: far, namespace: argocd}\n" +
		"spec: {project: default, source: {repoURL: 'https://git.example.com/elsewhere', path: apps}, " +
		"destination: {name: in-cluster, namespace: argocd}}\n"
)

// tree has two Applications, of which the second waits for the first.
func tree() map[string]string {
	return map[string]string{
		"root.yaml": application("root", "apps", "0"), "apps/db.yaml": application("db", "db", "0"), "apps/web.yaml": application("web", "web", "1"),
		"db/d.yaml": deployment, "web/d.yaml": deployment,
	}
}

// write makes the files of a directory; "" removes one.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if text == "" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func environment() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.com", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.com")
}

// repository has a tree as the commit main, and then changes on disk.
func repository(t *testing.T, before, changes map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, before)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "x"}} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Env = environment()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	write(t, dir, changes)
	return dir
}

// open is a preview of a directory, with a health check for Applications. It is closed with the test.
func open(t *testing.T, dir string, roots ...string) (v preview.Preview, out, talk *bytes.Buffer) {
	t.Helper()
	out, talk = &bytes.Buffer{}, &bytes.Buffer{}
	s, err := settings.Parse("argocd-cm.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n"+
		"  resource.customizations.health.argoproj.io_Application: |\n    return obj.status.health\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := &workspace.Planner{
		Repositories: workspace.New(workspace.Config{
			Local: []gitsource.Local{{URL: url, Path: dir}}, Alone: true, Offline: true, Env: environ.New(environment()...), Note: func(string) {},
		}),
		Config: plan.Config{Namespace: "argocd", Settings: s},
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, root := range roots {
		roots[i] = filepath.Join(dir, root)
	}
	return preview.Preview{Planner: p, Roots: roots, Format: report.Table, Out: out, Err: talk}, out, talk
}

// usage checks that an error is one of usage with a text; "" is no error.
func usage(t *testing.T, err error, want string) {
	t.Helper()
	var u problem.UsageError
	switch {
	case want == "" && err != nil:
		t.Errorf("got %v", err)
	case want != "" && (!errors.As(err, &u) || err.Error() != want):
		t.Errorf("got %v, want a usage error: %s", err, want)
	}
}

func TestRequestCheck(t *testing.T) {
	diff := preview.Difference{Revision: "main"}
	for name, c := range map[string]struct {
		request preview.Request
		format  report.Format
		verdict report.Verdict
		want    string
	}{
		"a plan":        {},
		"a comparison":  {request: preview.Request{Since: diff}, format: report.Markdown},
		"a strict plan": {format: report.SVG, verdict: report.Verdict{Strict: true}},
		"objects":       {request: preview.Request{Resources: true}, format: report.YAML},
		"inputs":        {request: preview.Request{Inputs: true}, format: report.JSON},
		"two things": {
			request: preview.Request{AssignWaves: true, Since: diff},
			want:    "--diff, --assign-waves, --inputs and --write-paths exclude each other",
		},
		"a picture of objects": {
			request: preview.Request{Resources: true}, format: report.DOT, want: "--resources requires -o table, json or yaml",
		},
		"a comment without a comparison": {format: report.Markdown, want: "-o markdown requires --diff"},
		"a picture of a comparison": {
			request: preview.Request{Since: diff}, format: report.SVG, want: "--diff requires -o table, json or markdown",
		},
		"a strict edit": {
			request: preview.Request{WritePaths: true}, verdict: report.Verdict{Strict: true},
			want: "--assign-waves and --write-paths exclude --strict and --allow-unknown",
		},
		"an edit in a format": {
			request: preview.Request{AssignWaves: true}, format: report.JSON,
			want: "--assign-waves and --write-paths exclude --resources and -o",
		},
		"inputs in a format": {
			request: preview.Request{Inputs: true}, format: report.YAML,
			want: "--inputs requires -o table or json, and excludes --resources",
		},
		"a comparison of objects": {
			request: preview.Request{Since: diff, Resources: true}, want: "--diff is about Applications, without --resources",
		},
		"manifests of a plan": {
			request: preview.Request{Since: preview.Difference{Manifests: true}}, want: "--manifests requires --diff",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.request.Format, c.request.Verdict = report.Table, c.verdict
			if c.format != "" {
				c.request.Format = c.format
			}
			usage(t, c.request.Check(), c.want)
		})
	}
}

func TestSimulationCheck(t *testing.T) {
	for name, c := range map[string]struct {
		simulation preview.Simulation
		want       string
	}{
		"a boot":              {},
		"a comparison of all": {simulation: preview.Simulation{Each: true, Against: "stock"}},
		"time backwards": {
			simulation: preview.Simulation{Times: simulate.Times{Jitter: -1}}, want: "--jitter must be 0 to 10, it is -1",
		},
		"against another": {simulation: preview.Simulation{Against: "flux"}, want: `--compare must be stock, it is "flux"`},
		"an update of all": {
			simulation: preview.Simulation{Since: "main", Each: true}, want: "--update excludes --each and --compare",
		},
		"all with a fault": {
			simulation: preview.Simulation{Each: true, Faults: simulate.Faults{Never: []string{"x"}}},
			want:       "--each excludes --fail, --never and --degrade",
		},
		"all as a picture": {
			simulation: preview.Simulation{Each: true, Preview: preview.Preview{Format: report.SVG}}, want: "--each requires -o table or json",
		},
		"a fault that is none": {
			simulation: preview.Simulation{Faults: simulate.Faults{Degrade: []string{"x"}}},
			want:       `--degrade must be NAME@FROM..TO, such as x@30s..2m; it is "x"`,
		},
	} {
		t.Run(name, func(t *testing.T) { usage(t, c.simulation.Check(), c.want) })
	}
}

// TestVerdict: a plan is printed whatever the verdict is, and the verdict is talk.
func TestVerdict(t *testing.T) {
	wrong := tree()
	wrong["web/d.yaml"] = broken
	incomplete := tree()
	incomplete["apps/far.yaml"] = unknown
	for name, c := range map[string]struct {
		files   map[string]string
		verdict report.Verdict
		found   bool
		talk    string
	}{
		"complete":           {files: tree()},
		"broken":             {files: wrong, found: true, talk: "1 Application or set is broken: web\n"},
		"broken and allowed": {files: wrong, verdict: report.Verdict{Allow: []string{"*"}}, found: true, talk: "1 Application or set is broken: web\n"},
		"incomplete": {
			files: incomplete, found: true, talk: "the plan is incomplete: unknown parts of far may hide Applications\n",
		},
		"incomplete and allowed": {files: incomplete, verdict: report.Verdict{Allow: []string{"f*"}, Strict: true}},
	} {
		t.Run(name, func(t *testing.T) {
			v, out, talk := open(t, repository(t, c.files, nil), "root.yaml")
			v.Verdict = c.verdict
			err := preview.Request{Preview: v}.Run(t.Context())
			if errors.Is(err, problem.ErrFound) != c.found || !c.found && err != nil {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(c.talk, talk.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if !strings.Contains(out.String(), "web") {
				t.Errorf("the plan is missing:\n%s", out)
			}
		})
	}
}

// TestNames: nothing is printed, and what is not known has no names.
func TestNames(t *testing.T) {
	v, out, talk := open(t, repository(t, tree(), nil))
	if diff := cmp.Diff([]string{"db", "root", "web"}, v.Names(t.Context())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	v.Roots = []string{"nowhere.yaml"}
	if got := v.Names(t.Context()); got != nil || out.Len()+talk.Len() > 0 {
		t.Errorf("got %v, %s%s", got, out, talk)
	}
}

// TestDifference is bad if something gets worse since the commit.
func TestDifference(t *testing.T) {
	for name, c := range map[string]struct {
		changes map[string]string
		found   bool
		want    string
	}{
		"nothing":     {want: "the boot is the same as at main"},
		"one more":    {changes: map[string]string{"apps/api.yaml": application("api", "web", "2")}, want: "api"},
		"one broken":  {changes: map[string]string{"web/d.yaml": broken}, found: true, want: "web"},
		"one is gone": {changes: map[string]string{"apps/web.yaml": ""}, want: "web"},
	} {
		t.Run(name, func(t *testing.T) {
			v, out, _ := open(t, repository(t, tree(), c.changes), "root.yaml")
			err := preview.Request{Preview: v, Since: preview.Difference{Revision: "main"}}.Run(t.Context())
			if errors.Is(err, problem.ErrFound) != c.found || !c.found && err != nil {
				t.Errorf("got %v", err)
			}
			if !strings.Contains(strings.ToLower(out.String()), c.want) {
				t.Errorf("%q is missing:\n%s", c.want, out)
			}
		})
	}
}

func TestIsFile(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", map[string]string{"web": configMap, "dir/x": configMap})
	for arg, want := range map[string]bool{"-": true, "web": true, "dir": false, "nowhere": false, "nowhere.yaml": true, "argocd/web": false} {
		if got := preview.IsFile(arg); got != want {
			t.Errorf("%s: got %t", arg, got)
		}
	}
}

// TestRender prints the manifests of one Application, or says why they are not all, or not there.
func TestRender(t *testing.T) {
	files := tree()
	files["apps/bad.yaml"], files["bad/d.yaml"], files["apps/far.yaml"] = application("bad", "bad", "2"), broken, unknown
	dir := repository(t, files, nil)
	for name, c := range map[string]struct {
		app             string
		roots           []string
		allow           []string
		out, talk, fail string
		found           bool
	}{
		"by name":          {app: "web", out: "deployment.apps/x\n"},
		"by a full name":   {app: "argocd/db", out: "deployment.apps/x\n"},
		"of a file":        {app: filepath.Join(dir, "apps", "web.yaml"), roots: []string{"apps/web.yaml"}, out: "deployment.apps/x\n"},
		"broken":           {app: "bad", found: true, talk: "broken: "},
		"unknown":          {app: "far", found: true, talk: "unknown: "},
		"allowed":          {app: "far", allow: []string{"far"}, talk: "unknown: "},
		"not there":        {app: "wep", fail: `there is no Application "wep"`},
		"not in this file": {app: filepath.Join(dir, "web", "d.yaml"), roots: []string{"web/d.yaml"}, fail: "d.yaml: "},
	} {
		t.Run(name, func(t *testing.T) {
			roots := c.roots
			if roots == nil {
				roots = []string{"root.yaml"}
			}
			v, out, talk := open(t, dir, roots...)
			v.Format, v.Verdict.Allow = report.Name, c.allow
			err := preview.Application{
				Preview: v, Name: c.app,
			}.Render(t.Context())
			switch {
			case c.fail != "":
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Errorf("got %v, want %s", err, c.fail)
				}
			case errors.Is(err, problem.ErrFound) != c.found || !c.found && err != nil:
				t.Errorf("got %v", err)
			}
			if out.String() != c.out || !strings.HasPrefix(talk.String(), c.talk) || c.talk == "" && talk.Len() > 0 {
				t.Errorf("got %q and %q", out, talk)
			}
		})
	}
}

// TestCompareApplication prints how the manifests of one Application change, also if it is on one side only.
func TestCompareApplication(t *testing.T) {
	dir := repository(t, tree(), map[string]string{
		"db/d.yaml": strings.ReplaceAll(deployment, "name: x", "name: other"), "apps/api.yaml": application("api", "web", "2"),
	})
	for name, want := range map[string][]string{
		"db":  {"-  name: x", "+  name: other"},
		"api": {"+kind: Deployment"},
		"web": nil,
	} {
		t.Run(name, func(t *testing.T) {
			v, out, talk := open(t, dir, "root.yaml")
			if err := (preview.Application{Preview: v, Name: name}).Compare(t.Context(), "main"); err != nil || talk.Len() > 0 {
				t.Errorf("%v, %s", err, talk)
			}
			for _, line := range want {
				if !strings.Contains(out.String(), line+"\n") {
					t.Errorf("%q is missing:\n%s", line, out)
				}
			}
			if want == nil && strings.ContainsAny(out.String(), "+") {
				t.Errorf("nothing changes:\n%s", out)
			}
		})
	}
}

// TestSimulation is bad if the boot does not end.
func TestSimulation(t *testing.T) {
	dir := repository(t, tree(), map[string]string{"db/d.yaml": strings.ReplaceAll(deployment, "name: x", "name: other")})
	never := simulate.Faults{Never: []string{"db"}}
	for name, c := range map[string]struct {
		simulation preview.Simulation
		found      bool
		out, talk  string
	}{
		"a boot":                   {out: "web"},
		"a boot that does not end": {simulation: preview.Simulation{Faults: never}, found: true, out: "db"},
		"what each one blocks":     {simulation: preview.Simulation{Each: true}, out: "db"},
		"two renderers":            {simulation: preview.Simulation{Against: "stock"}, out: "3 of 3"},
		"two renderers, each":      {simulation: preview.Simulation{Against: "stock", Each: true}, out: "db"},
		"an update":                {simulation: preview.Simulation{Since: "main"}, out: "db"},
		"an update without a change": {
			simulation: preview.Simulation{Since: "main", Faults: simulate.Faults{Never: []string{"web"}}}, out: "db",
			talk: "note: the update does not change web, so it cannot fail\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, out, talk := open(t, dir, "root.yaml")
			c.simulation.Preview = v
			if err := c.simulation.Check(); err != nil {
				t.Fatal(err)
			}
			err := c.simulation.Run(t.Context())
			if errors.Is(err, problem.ErrFound) != c.found || !c.found && err != nil {
				t.Errorf("got %v", err)
			}
			if !strings.Contains(out.String(), c.out) || talk.String() != c.talk {
				t.Errorf("got\n%s%s", out, talk)
			}
		})
	}
}

// TestNothingToUpdate: an update needs a root on both sides.
func TestNothingToUpdate(t *testing.T) {
	before := tree()
	delete(before, "root.yaml")
	for name, c := range map[string]struct {
		before, changes map[string]string
		want            string
	}{
		"a new root":  {before: before, changes: map[string]string{"root.yaml": tree()["root.yaml"]}, want: "the root does not exist at main"},
		"an old root": {before: tree(), changes: map[string]string{"root.yaml": ""}, want: "there is no root now, only at main"},
	} {
		t.Run(name, func(t *testing.T) {
			v, _, _ := open(t, repository(t, c.before, c.changes), "root.yaml")
			err := preview.Simulation{Preview: v, Since: "main"}.Run(context.Background())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}
