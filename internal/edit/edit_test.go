package edit

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
)

const url = "https://git.example.com/x"

// application is an Application with annotations.
func application(name, path, annotations string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: " + name + " # the name\n  namespace: argocd\n" +
		annotations +
		"spec: {project: default, source: {repoURL: '" + url + "', path: " + path +
		"}, destination: {name: in-cluster, namespace: argocd}}\n"
}

// workTree makes the files of a directory, which is the working directory then, and plans its root.yaml.
func workTree(t *testing.T, files map[string]string) ([]gitsource.Local, *plan.Plan,
	func(context.Context, string, string) (source.Repository, error),
) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(target, name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	view, err := gitsource.Disk(dir)
	if err != nil {
		t.Fatal(err)
	}
	open := func(context.Context, string, string) (source.Repository, error) {
		return source.Repository{View: view}, nil
	}
	docs, err := manifest.Decode("root.yaml", []byte(files["root.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(t.Context(), plan.Config{Namespace: "argocd", Loader: source.Loader{Open: open}}, docs...)
	if err != nil {
		t.Fatal(err)
	}
	return []gitsource.Local{{URL: url, Path: dir}}, p, open
}

// changed returns the lines of files that are not as they were.
func changed(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, before := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(before, "-> ") || string(data) == before {
			continue
		}
		var lines []string
		for line := range strings.Lines(string(data)) {
			if !strings.Contains(before, line) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		out[name] = strings.Join(lines, "\n")
	}
	return out
}

// TestWaves writes waves, all or none.
func TestWaves(t *testing.T) {
	const depends = "  annotations:\n    " + argo.DependsAnnotation + ": "
	for name, c := range map[string]struct {
		files     map[string]string
		out, err  string
		wantFiles map[string]string
	}{
		"behind another": {
			files: map[string]string{
				"apps/db.yaml":  application("db", "x", ""),
				"apps/web.yaml": application("web", "x", depends+"db\n"),
			},
			out:       "apps/web.yaml: web is in wave 1\n",
			wantFiles: map[string]string{"apps/web.yaml": `argocd.argoproj.io/sync-wave: "1"`},
		},
		"a chain in one file": {
			files: map[string]string{"apps/all.yaml": application("c", "x", depends+"b\n") + "---\n" +
				application("b", "x", depends+"a\n") + "---\n" + application("a", "x", "")},
			out:       "apps/all.yaml: b is in wave 1\napps/all.yaml: c is in wave 2\n",
			wantFiles: map[string]string{"apps/all.yaml": "argocd.argoproj.io/sync-wave: \"2\"\nargocd.argoproj.io/sync-wave: \"1\""},
		},
		"none to write": {files: map[string]string{"apps/db.yaml": application("db", "x", "")}},
		"one cannot be written": {
			files: map[string]string{
				"apps/db.yaml": application("db", "x", ""), "apps/web.yaml": application("web", "x", depends+"db\n"),
				"apps/more.yaml":          application("more", "made", ""),
				"made/kustomization.yaml": "namePrefix: p-\nresources: [a.yaml, b.yaml]\n", "made/a.yaml": application("a", "x", ""),
				"made/b.yaml": application("b", "x", depends+"p-a\n"),
			},
			err: "p-b: no wave can be written: generated or changed by the Kustomization of more; the plugin appset assigns waves by itself",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.files["root.yaml"], c.files["x/x.yaml"] = application("root", "apps", ""),
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
			local, p, _ := workTree(t, c.files)
			var out strings.Builder
			err := Waves(&out, local, p)
			if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
				t.Errorf("got %v, want %q", err, c.err)
			}
			if c.wantFiles == nil {
				c.wantFiles = map[string]string{}
			}
			if diff := cmp.Diff(c.wantFiles, changed(t, c.files)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if out.String() != c.out {
				t.Errorf("got  %s\nwant %s", out.String(), c.out)
			}
		})
	}
}

// TestPaths writes paths for the Applications that files have verbatim, and says why others are skipped.
func TestPaths(t *testing.T) {
	files := map[string]string{
		"root.yaml": application("root", "apps", ""), "apps/web.yaml": application("web", "web", ""),
		"web/kustomization.yaml":  "resources: [../base]\n",
		"base/kustomization.yaml": "resources: [cm.yaml]\n", "base/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
		"apps/done.yaml":   application("done", "base", "  annotations: {argocd.argoproj.io/manifest-generate-paths: /base}\n"),
		"apps/plugin.yaml": strings.Replace(application("plugin", "base", ""), "path: base", "path: base, plugin: {name: other}", 1),
	}
	local, p, open := workTree(t, files)
	var out, talk strings.Builder
	if err := (Paths{Plan: p, Local: local, Open: open, Unknown: func(*plan.Application) string {
		return "why"
	}}).Write(t.Context(), &out, &talk); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"apps/web.yaml": "annotations:\nargocd.argoproj.io/manifest-generate-paths: .;/base",
		"root.yaml":     "annotations:\nargocd.argoproj.io/manifest-generate-paths: .",
	}
	if diff := cmp.Diff(want, changed(t, files)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if want := "root.yaml: root is made of .\napps/web.yaml: web is made of .;/base\n"; out.String() != want {
		t.Errorf("got  %s\nwant %s", out.String(), want)
	}
	if !strings.HasPrefix(talk.String(), "skipped plugin: rendered by a plugin (plugin)") || strings.Count(talk.String(), "\n") != 1 {
		t.Error(talk.String())
	}
}

// TestInWorkTree: a link that leads out of the work tree is not followed by an edit.
func TestInWorkTree(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(dir, "in"), filepath.Join(other, "out")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": "in", "away": filepath.Join(other, "out"), "broken": "no"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"in": true, "link": true, "away": false, "broken": false, "no": false, ".": false} {
		file, ok := inWorkTree(gitsource.Local{Path: dir}, filepath.Join(dir, name))
		if ok != want || ok && filepath.Base(file) != "in" {
			t.Errorf("%s: %s, %v", name, file, ok)
		}
	}
	if _, ok := inWorkTree(gitsource.Local{Path: dir, Revision: "v1"}, filepath.Join(dir, "in")); ok {
		t.Error("a revision is not a work tree")
	}
}

// gitApp has one source in Git.
func gitApp(path string) *plan.Application {
	return &plan.Application{Ref: argo.Ref{Name: "x"}, Sources: []plan.Source{{Repository: url, Path: path}}}
}

func TestCoversPaths(t *testing.T) {
	for _, c := range []struct {
		own, paths, current string
		covers, same        bool
	}{
		{"a/b", ".", ".", true, true},
		{"a/b", ".", "/a/b", true, true},
		{"a/b", ".", "/a", true, false},
		{"a/b", ".;/base", ".", false, false},
		{"a/b", ".;/base", ".;../../base", true, true},
		{"a/b", ".;/base/x", "/", true, false},
		{"a/b", ".", "", false, false},
		{"a", ".", "/ab", false, false},
	} {
		if got := coversPaths(gitApp(c.own), c.paths, c.current); got != c.covers {
			t.Errorf("%+v: covers %v", c, got)
		}
		if got := samePaths(gitApp(c.own), c.paths, c.current); got != c.same {
			t.Errorf("%+v: same %v", c, got)
		}
	}
}

func TestPathSet(t *testing.T) {
	set := func(names ...string) map[string]bool {
		out := map[string]bool{}
		for _, n := range names {
			out[n] = true
		}
		return out
	}
	for name, c := range map[string]struct {
		set  pathSet
		want string
	}{
		"its own":            {pathSet{own: []string{"a"}, relative: true}, "."},
		"a file elsewhere":   {pathSet{own: []string{"a"}, relative: true, files: set("base/x.yaml")}, ". /base"},
		"a file of the root": {pathSet{own: []string{"a"}, relative: true, files: set("values.yaml")}, ". /values.yaml"},
		"a file above its own": {
			pathSet{own: []string{"apps/a"}, relative: true, files: set("apps/values.yaml")},
			". /apps/values.yaml",
		},
		"a chart above its own":       {pathSet{own: []string{"c/a"}, relative: true, files: set("c/Chart.yaml", "c/values.yaml")}, ". /c"},
		"one in another":              {pathSet{own: []string{"a"}, relative: true, dirs: set("base", "base/deep")}, ". /base"},
		"two sources, one at the top": {pathSet{own: []string{"a"}, files: set("x/y")}, "/a /x"},
	} {
		if got := strings.Join(c.set.list(), " "); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestTemplatePaths(t *testing.T) {
	child := func(own string, paths ...string) generated { return generated{gitApp(own), paths} }
	for name, c := range map[string]struct {
		children []generated
		want     string
		common   bool
	}{
		"the same":        {[]generated{child("a", "."), child("b", ".")}, ".", true},
		"relatively":      {[]generated{child("apps/a", ".", "/base/a"), child("apps/b", ".", "/base/a")}, ".;/base/a", true},
		"relatively only": {[]generated{child("x/a", ".", "/x/base"), child("y/a", ".", "/y/base")}, ".;../base", true},
		"few":             {[]generated{child("x/a", ".", "/p"), child("y/a", ".", "/q")}, ".;/p;/q", true},
		"many":            {[]generated{child("x/a", "/1", "/2", "/3"), child("y/a", "/4", "/5", "/6")}, "/1;/2;/3;/4;/5;/6", false},
	} {
		if got, common := templatePaths(c.children); got != c.want || common != c.common {
			t.Errorf("%s: got %s, %v", name, got, common)
		}
	}
}

func TestSameName(t *testing.T) {
	object := func(version, kind, name string) manifest.Object {
		return manifest.Object{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name}}
	}
	a := object("argoproj.io/v1alpha1", "Application", "x")
	for _, c := range []struct {
		b    manifest.Object
		want bool
	}{
		{object("argoproj.io/v1beta1", "Application", "x"), true},
		{object("example.com/v1", "Application", "x"), false},
		{object("argoproj.io/v1alpha1", "ApplicationSet", "x"), false},
		{object("argoproj.io/v1alpha1", "Application", "y"), false},
	} {
		if sameName(a, c.b) != c.want {
			t.Error(c.b)
		}
	}
}
