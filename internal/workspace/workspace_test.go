package workspace_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/workspace"
)

const url = "https://git.example.com/x"

// application is an Application whose source is in the repository.
func application(name, path string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\n" +
		"spec: {project: default, source: {repoURL: '" + url + "', path: " + path +
		"}, destination: {name: in-cluster, namespace: argocd}}\n"
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"

// write makes the files of a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// environment is that of git in tests.
func environment() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.com", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.com")
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
	cmd.Env = environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// planner plans a directory, and keeps its notes.
func planner(t *testing.T, local ...gitsource.Local) (*workspace.Planner, *[]string) {
	t.Helper()
	var notes []string
	p := &workspace.Planner{
		Repositories: workspace.New(workspace.Config{
			Local: local, Alone: true, Guess: true, Offline: true, Env: environ.New(environment()...),
			Note: func(line string) { notes = append(notes, line) },
		}),
		Config: plan.Config{Namespace: "argocd"},
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, &notes
}

func names(p *plan.Plan) string {
	var out []string
	for _, app := range p.Applications {
		if !app.Applied {
			out = append(out, app.Name)
		}
	}
	return strings.Join(out, " ")
}

// TestRoots reads roots, or finds those that nothing else deploys.
func TestRoots(t *testing.T) {
	one := map[string]string{"root.yaml": application("root", "apps"), "apps/a.yaml": application("a", "a"), "a/x.yaml": configMap}
	for name, c := range map[string]struct {
		files map[string]string
		args  []string
		all   bool
		stdin string
		want  string
		note  string
		err   string
	}{
		"found":          {files: one, want: "root a", note: "found the root Application root in"},
		"a file":         {files: one, args: []string{"apps/a.yaml"}, want: "a"},
		"a directory":    {files: one, args: []string{"apps"}, want: "a"},
		"standard input": {files: one, args: []string{"-"}, stdin: application("other", "a"), want: "other"},
		"two files":      {files: one, args: []string{"root.yaml", "-"}, stdin: application("other", "a"), want: "root a other"},
		"several": {
			files: map[string]string{
				"r1.yaml": application("r1", "apps"), "r2.yaml": application("r2", "apps"),
				"apps/a.yaml": application("a", "a"), "a/x.yaml": configMap,
			},
			err: "there are several roots; name one, or plan all of them with --all:",
		},
		"all of several": {
			files: map[string]string{
				"r1.yaml": application("r1", "apps"), "r2.yaml": application("r2", "apps"),
				"apps/a.yaml": application("a", "a"), "a/x.yaml": configMap,
			},
			all: true, want: "r1 a r2", note: "found the root Application r1 in",
		},
		"none deploys others": {
			files: map[string]string{"a.yaml": application("a", "a"), "a/x.yaml": configMap},
			err:   "there is no Application in the local repositories that deploys others",
		},
		"not an Application": {
			files: map[string]string{"a.yaml": configMap}, args: []string{"a.yaml"},
			err: "a.yaml: there is no Application and no ApplicationSet in it",
		},
		"a file that is not there": {
			files: one, args: []string{"no.yaml"}, err: "no.yaml: no such file or directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, c.files)
			t.Chdir(dir)
			p, notes := planner(t, gitsource.Local{URL: url, Path: dir})
			p.All, p.Stdin = c.all, strings.NewReader(c.stdin)
			roots, err := p.Roots(t.Context(), c.args)
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) {
					t.Errorf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			planned, err := p.Plan(t.Context(), roots)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(planned); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if c.note != "" && (len(*notes) == 0 || !strings.HasPrefix((*notes)[0], c.note)) || c.note == "" && len(*notes) > 0 {
				t.Errorf("%q", *notes)
			}
		})
	}
}

// TestBoth plans a revision and the work tree; a root may be on one side only.
func TestBoth(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	write(t, dir, map[string]string{
		"old.yaml": application("old", "apps"), "root.yaml": application("root", "apps"),
		"apps/a.yaml": application("a", "a"), "a/x.yaml": configMap,
	})
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "first")
	if err := os.Remove(filepath.Join(dir, "old.yaml")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"apps/b.yaml": application("b", "a"), "new.yaml": application("new", "a")})
	t.Chdir(dir)
	for _, c := range []struct{ args, before, after, err string }{
		{args: "root.yaml", before: "root a", after: "root a b"},
		{args: "old.yaml", before: "old a"},
		{args: "new.yaml", after: "new"},
		{args: "-", err: "at HEAD: standard input has no revision HEAD; name the file of the root"},
		{args: "no.yaml", err: "no.yaml: no such file or directory"},
	} {
		p, _ := planner(t, gitsource.Local{URL: url, Path: dir})
		before, after, err := p.Both(t.Context(), "HEAD", strings.Fields(c.args))
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: got %v, want %q", c.args, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if got := names(before) + "|" + names(after); got != c.before+"|"+c.after {
			t.Errorf("%s: got %s, want %s|%s", c.args, got, c.before, c.after)
		}
		if (before.Root == nil) != (c.before == "") || (after.Root == nil) != (c.after == "") {
			t.Errorf("%s: a plan has a root although there is none, or the other way round", c.args)
		}
	}
}

// TestOutside: a directory that is in no repository has no revisions, and answers as it lies on disk.
func TestOutside(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, dir, map[string]string{"a/x.yaml": configMap})
	write(t, other, map[string]string{"root.yaml": application("root", "a")})
	p, _ := planner(t, gitsource.Local{URL: url, Path: dir})
	roots, err := p.Roots(t.Context(), []string{other})
	if err != nil || len(roots.Documents) != 1 {
		t.Fatal(roots, err)
	}
}

func TestUnknownBucket(t *testing.T) {
	p, _ := planner(t, gitsource.Local{URL: url, Path: t.TempDir()})
	_, err := p.Repositories.Loader().Open(t.Context(), "s3://artifacts/x", "")
	if want := `bucket "artifacts/x" is not mapped to a directory; map it with --repo s3://artifacts/x=PATH`; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestParseRepo(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, dir, map[string]string{"repo/x": "", "at@home/x": "", "a=b/x": "", "file": ""})
	for flag, want := range map[string]gitsource.Local{
		"repo":                     {Path: "repo"},
		"https://h/x=repo":         {URL: "https://h/x", Path: "repo"},
		"https://h/x=repo@v1":      {URL: "https://h/x", Path: "repo", Revision: "v1"},
		"https://h/x?a=b=repo":     {URL: "https://h/x?a=b", Path: "repo"},
		"https://h/x=at@home":      {URL: "https://h/x", Path: "at@home"},
		"https://h/x=at@home@v1@2": {URL: "https://h/x", Path: "at@home", Revision: "v1@2"},
		"a=b":                      {Path: "a=b"},
	} {
		got, err := workspace.ParseRepo(flag)
		if err != nil {
			t.Errorf("%s: %v", flag, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", flag, diff)
		}
	}
	for flag, want := range map[string]string{
		"file":                      "--repo file: it is not a directory",
		"no":                        `--repo "no": there is no such directory`,
		"https://user:secret@h/=no": "--repo https://h/=no: there is no directory no",
		"=repo":                     "--repo =repo: must be URL=PATH or URL=PATH@REV",
	} {
		if _, err := workspace.ParseRepo(flag); err == nil || err.Error() != want || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", flag, err, want)
		}
	}
}

func TestNamedMost(t *testing.T) {
	other := strings.ReplaceAll(application("o", "a"), url, "https://git.example.com/other.git")
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"the most often": {
			map[string]string{"a/x.yaml": application("x", "a"), "y.yaml": application("y", "a"), "z.yaml": other},
			url,
		},
		"a path that is there": {
			map[string]string{"x.yaml": application("x", "elsewhere"), "a/z.yaml": other},
			"https://git.example.com/other.git",
		},
		"none": {map[string]string{"a/x.yaml": configMap}, ""},
		"a chart has no path": {
			map[string]string{"a/x.yaml": strings.Replace(application("x", "a"), "path: a", "path: a, chart: c", 1)},
			"",
		},
		"a template is no URL":  {map[string]string{"a/x.yaml": strings.ReplaceAll(application("x", "a"), url, "{{ .url }}")}, ""},
		"up to the placeholder": {map[string]string{"a/x.yaml": application("x", "'a/{{ .name }}'")}, url},
		"broken files": {
			map[string]string{"a/x.yaml": application("x", "a"), "y.yaml": "kind: Application # argoproj.io\n[\n"},
			url,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var files []tree.File
			for name, text := range c.files {
				files = append(files, tree.File{Name: name, Data: []byte(text)})
			}
			tree.Sort(files)
			if got := workspace.NamedMost(tree.Names(files), files); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		settings workspace.Settings
		want     string
	}{
		"a plugin of no kind": {
			workspace.Settings{Plugins: []string{"x=cue"}},
			`--plugin must be NAME=kustomize, NAME=helm or NAME=directory, it is "x=cue"`,
		},
		"a plugin of no name": {
			workspace.Settings{Plugins: []string{"=helm"}},
			`--plugin must be NAME=kustomize, NAME=helm or NAME=directory, it is "=helm"`,
		},
		"no thing":              {workspace.Settings{Exists: []string{"all", "x"}}, "--exists: "},
		"no file with clusters": {workspace.Settings{Clusters: "no.yaml"}, "no.yaml: no such file or directory"},
		"no file with settings": {workspace.Settings{Customizations: "no.yaml"}, "no.yaml: no such file or directory"},
		"nothing":               {workspace.Settings{}, ""},
		"everything without one": {workspace.Settings{
			Plugins: []string{"x=helm"}, Exists: []string{"all", "Namespace/x"},
			ProgressiveSyncs: "off",
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := c.settings.Config()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if on := cfg.ProgressiveSyncs; (on == nil) != (c.settings.ProgressiveSyncs == "") || on != nil && *on {
				t.Errorf("progressive syncs: %v", on)
			}
			if name == "everything without one" && (cfg.Plugins["x"] != "helm" || !cfg.ExistsAll || len(cfg.Exists) != 1) {
				t.Errorf("%+v", cfg)
			}
		})
	}
}

// set is an ApplicationSet with a generator.
func set(name, generator string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: " + name +
		"}\nspec:\n  goTemplate: true\n  generators: [" + generator + "]\n" +
		"  template: {metadata: {name: '{{ .name }}'}, spec: {project: default, source: {repoURL: '" + url +
		"', path: x}, destination: {name: in-cluster, namespace: x}}}\n"
}

func TestSets(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	list, clusters := set("l", "{list: {elements: [{name: a}, {name: b}]}}"), set("c", "{clusters: {}}")
	write(t, dir, map[string]string{
		"list.yaml": list, "clusters.yaml": clusters, "other.yaml": configMap, "empty.yaml": set("e", "{list: {elements: []}}"),
		"known.yaml": "- {name: one, server: https://one}\n",
	})
	for name, c := range map[string]struct {
		args      string
		sets      workspace.Sets
		want      string
		notes, of string
	}{
		"a list":                 {args: "list.yaml", want: "a b"},
		"clusters are not known": {args: "list.yaml clusters.yaml", of: "clusters of Argo CD are not known"},
		"and are left out": {
			args: "list.yaml clusters.yaml", sets: workspace.Sets{SkipUnknown: true}, want: "a b",
			notes: "left out: ",
		},
		"and are all": {
			args: "clusters.yaml", sets: workspace.Sets{SkipUnknown: true}, notes: "left out: ",
			of: "all ApplicationSets (1) were left out by --skip-unknown",
		},
		"clusters of a file":        {args: "clusters.yaml", sets: workspace.Sets{Clusters: "known.yaml"}, want: "one in-cluster"},
		"no set":                    {args: "other.yaml", of: "no ApplicationSet found"},
		"no set, but something":     {args: "other.yaml", sets: workspace.Sets{Passthrough: true}, want: "x"},
		"empty":                     {args: "empty.yaml", notes: "--allow-empty allows sets without Applications", of: "empty.yaml"},
		"empty as it was asked for": {args: "empty.yaml", sets: workspace.Sets{Config: appset.Config{AllowEmpty: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			var notes []string
			note := func(line string) { notes = append(notes, line) }
			c.sets.Repositories, c.sets.Note, c.sets.Warn = workspace.New(workspace.Config{
				Alone: true, Offline: true, Env: environ.New(environment()...),
				Note: note,
			}), note, note
			objects, err := c.sets.Render(t.Context(), strings.Fields(c.args))
			if c.of == "" && err != nil || c.of != "" && (err == nil || !strings.Contains(err.Error(), c.of)) {
				t.Errorf("got %v, want %q", err, c.of)
			}
			var got []string
			for _, o := range objects {
				got = append(got, manifest.String(o, "metadata", "name"))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
			if c.notes == "" && len(notes) > 0 || c.notes != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0], c.notes)) {
				t.Errorf("%q", notes)
			}
		})
	}
}

// TestCheckout finds the top of the repository from the application's directory.
func TestCheckout(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{"base/x.yaml": configMap, "apps/web/y.yaml": configMap})
	t.Chdir(filepath.Join(top, "apps/web"))
	for path, want := range map[string]struct{ dir, file string }{
		"apps/web": {"apps/web", "base/x.yaml"}, "./apps/web/": {"apps/web", "base/x.yaml"}, ".": {".", "y.yaml"},
		"elsewhere": {".", "y.yaml"}, "": {".", "y.yaml"},
	} {
		c, err := workspace.OpenCheckout(path)
		if err != nil {
			t.Fatal(err)
		}
		view, err := c.View(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if data, err := view.Read(t.Context(), want.file); c.Dir != want.dir || err != nil || string(data) != configMap {
			t.Errorf("%q: directory %s, %q, %v", path, c.Dir, data, err)
		}
		c.Root.Close()
	}
}
