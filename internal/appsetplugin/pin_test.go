package appsetplugin_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// repos are Git repositories, by their names: https://git.example.com/<name>.git.
type repos struct {
	*testing.T
	dir    string
	source *gitsource.Source
	opened []string // commits that were opened for a comparison
	gone   map[string]bool
}

func newRepos(t *testing.T, names ...string) *repos {
	r := &repos{T: t, dir: t.TempDir(), gone: map[string]bool{}}
	var local []gitsource.Local
	for _, name := range names {
		r.git(r.dir, "init", "--quiet", "--initial-branch=main", name)
		r.git(r.dir, "clone", "--quiet", "--bare", name, name+".git")
		local = append(local, gitsource.Local{URL: "https://git.example.com/" + name, Path: filepath.Join(r.dir, name+".git")})
	}
	r.source = gitsource.New(gitsource.Config{Local: local, Offline: true, Env: environ.New(os.Environ()...)})
	t.Cleanup(func() { r.source.Close() })
	return r
}

func (r *repos) git(dir string, args ...string) string {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), "git", append([]string{
		"-c", "user.name=t", "-c", "user.email=t@example.com", "-c",
		"protocol.file.allow=always",
	}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files, removes those that are empty, links those that begin with "->", and returns the commit.
func (r *repos) commit(name string, files map[string]string) string {
	r.Helper()
	work := filepath.Join(r.dir, name)
	for file, content := range files {
		file = filepath.Join(work, filepath.FromSlash(file))
		_ = os.Remove(file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			r.Fatal(err)
		}
		var err error
		if to, link := strings.CutPrefix(content, "->"); link {
			err = os.Symlink(to, file)
		} else if content != "" {
			err = os.WriteFile(file, []byte(content), 0o600)
		}
		if err != nil {
			r.Fatal(err)
		}
	}
	r.git(work, "add", "--all")
	r.git(work, "commit", "--quiet", "--allow-empty", "--message=x")
	r.git(work, "push", "--quiet", filepath.Join(r.dir, name+".git"), "HEAD:main")
	return r.git(work, "rev-parse", "HEAD")
}

// Tree implements generator.Repositories.
func (r *repos) Tree(ctx context.Context, url, revision string) (generator.Tree, error) {
	return r.source.Tree(ctx, url, revision)
}

func (r *repos) commits(appsetplugin.For) appsetplugin.Commits {
	return func(ctx context.Context, url, commit string) (appsetplugin.Tree, error) {
		r.opened = append(r.opened, commit)
		if r.gone[commit] {
			return nil, errors.New("there is no such commit")
		}
		t, err := r.source.Tree(ctx, url, commit)
		if err != nil {
			return nil, err
		}
		return t, nil
	}
}

// pinned asks for an application in the repository "x" and returns the revisions of its Applications' sources, and warnings.
func (r *repos) pinned(c appsetplugin.Config, docs string, env map[string]string) (map[string]string, []string, error) {
	r.Helper()
	all := map[string]string{
		"ARGOCD_APP_NAME": "root", "ARGOCD_APP_NAMESPACE": "argocd", "ARGOCD_APP_PROJECT_NAME": "default",
		"ARGOCD_APP_SOURCE_REPO_URL":        "https://git.example.com/x.git",
		"ARGOCD_APP_SOURCE_TARGET_REVISION": "main", "PARAM_PIN": "true",
	}
	maps.Copy(all, env)
	call, err := argo.NewCall(func(name string) string { return all[name] }, appsetplugin.Parameters())
	if err != nil {
		r.Fatal(err)
	}
	c.Namespace, c.Admins = "argocd", []string{"default"}
	if c.Engine == nil {
		c.Engine = func(f appsetplugin.For) appset.Engine { return appset.Embedded{Git: at{r, f}} }
	}
	files := []tree.File{{Name: "apps/all.yaml", Data: []byte(docs)}}
	a, err := c.Generate(r.Context(), appsetplugin.Request{Call: call, Dir: "apps", Repository: func(context.Context) (*tree.View, error) {
		return tree.Of(files), nil
	}})
	got := map[string]string{}
	for _, o := range a.Objects {
		var list []string
		for _, s := range argo.Sources(o) {
			if s == nil {
				continue
			}
			text := manifest.String(s, "targetRevision")
			if branch := argo.PluginParameter(manifest.Map(s, "plugin"), "pin-branch"); branch != "" {
				text += " of " + branch
			}
			list = append(list, text)
		}
		got[manifest.String(o, "metadata", "name")] = strings.Join(list, ", ")
	}
	return got, a.Warnings, err
}

// at opens what the request says, as the sidecar does.
type at struct {
	*repos
	appsetplugin.For
}

func (a at) Tree(ctx context.Context, url, revision string) (generator.Tree, error) {
	return a.repos.Tree(ctx, url, a.At(url, revision))
}

// application is one with a spec, besides project and destination.
func application(name, spec string) string {
	return fmt.Sprintf("---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, namespace: argocd}\nspec: {project: default, destination: {server: https://kubernetes.default.svc, namespace: %s}, %s}\n", name, name, spec)
}

func source(fields string) string {
	return "source: {repoURL: https://git.example.com/x, " + fields + "}"
}

func TestPin(t *testing.T) {
	r := newRepos(t, "x", "y")
	old := r.commit("x", map[string]string{"a/cm.yaml": configMap})
	commit := r.commit("x", map[string]string{"b/cm.yaml": configMap})
	other := r.commit("y", map[string]string{"c/cm.yaml": configMap, "d/cm.yaml": configMap})
	const fixed = "0123456789012345678901234567890123456789"
	for name, c := range map[string]struct{ spec, want string }{
		"the parent's": {source("path: a, targetRevision: main"), commit},
		"spelt another way": {
			"source: {repoURL: 'HTTPS://user@git.example.com/X.git/', path: a, targetRevision: refs/heads/main}",
			commit,
		},
		"another branch":       {source("path: a, targetRevision: dev"), "dev"},
		"a tag":                {source("path: a, targetRevision: v1"), "v1"},
		"a commit":             {source("path: a, targetRevision: '" + fixed + "'"), fixed},
		"no revision":          {source("path: a"), ""}, // HEAD, and the parent says main
		"no string":            {source("path: a, targetRevision: 1"), ""},
		"another repository":   {"source: {repoURL: https://git.example.com/y, path: a, targetRevision: main}", "main"},
		"another host":         {"source: {repoURL: https://git.example.org/x, path: a, targetRevision: main}", "main"},
		"by SSH":               {"source: {repoURL: 'git@git.example.com:x.git', path: a, targetRevision: main}", "main"},
		"a chart":              {source("chart: a, targetRevision: main"), "main"},
		"a hydrator":           {"sourceHydrator: {drySource: {repoURL: https://git.example.com/x, path: a, targetRevision: main}}", ""},
		"several":              {"sources: [{repoURL: https://charts.example.com, chart: x, targetRevision: 1.0.0}, {repoURL: https://git.example.com/x, ref: values, targetRevision: main}, {repoURL: https://git.example.com/x, path: b, targetRevision: dev}]", "1.0.0, " + commit + ", dev"},
		"a parent":             {source("path: a, targetRevision: main, plugin: {name: appset, parameters: [{name: pin, string: changed}, {name: pin-branch, string: old}]}"), commit + " of main"},
		"a parent without pin": {source("path: a, targetRevision: main, plugin: {name: appset}"), commit},
		"another plugin": {
			source("path: a, targetRevision: main, plugin: {name: other, parameters: [{name: pin, string: 'true'}]}"),
			commit,
		},
		"a parent with nonsense": {
			source("path: a, targetRevision: main, plugin: {name: appset, parameters: [{name: pin, string: what}]}"),
			commit,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings, err := r.pinned(appsetplugin.Config{}, application("a", c.spec), map[string]string{"ARGOCD_APP_REVISION": commit})
			if err != nil || len(warnings) > 0 || got["a"] != c.want {
				t.Errorf("%q, %q, %v\nwant %q", got["a"], warnings, err, c.want)
			}
		})
	}
	own := application("a", source("path: a, targetRevision: main"))
	for name, c := range map[string]struct {
		docs string
		env  map[string]string
		want map[string]string
		err  string
	}{
		"not asked for": {
			own,
			map[string]string{"ARGOCD_APP_REVISION": commit, "PARAM_PIN": "false"},
			map[string]string{"a": "main"},
			"",
		},
		"not a value": {
			own,
			map[string]string{"ARGOCD_APP_REVISION": commit, "PARAM_PIN": "yes"},
			nil,
			`plugin.parameters: pin must be true, changed or false, it is "yes"`,
		},
		"no commit": {own, map[string]string{"ARGOCD_APP_REVISION": "1.0.0"}, map[string]string{"a": "main"}, ""},
		"a pinned parent": {own, map[string]string{
			"ARGOCD_APP_REVISION": commit, "ARGOCD_APP_SOURCE_TARGET_REVISION": commit,
			"PARAM_PIN_BRANCH": "main",
		}, map[string]string{"a": commit}, ""},
		"itself": {
			strings.Replace(own, "name: a", "name: root", 1),
			map[string]string{"ARGOCD_APP_REVISION": commit},
			map[string]string{"root": "main"},
			"",
		},
		"itself, by the namespace of the destination": {
			strings.Replace(own, "name: a, namespace: argocd", "name: root",
				1) + application("b", source("path: a, targetRevision: main")),
			map[string]string{"ARGOCD_APP_REVISION": commit, "ARGOCD_APP_NAME": "team_root", "ARGOCD_APP_NAMESPACE": "team"},
			map[string]string{"root": "main", "b": commit},
			"",
		},
		"HEAD": {
			application("a", source("path: a")) + application("b", source("path: a, targetRevision: HEAD")),
			map[string]string{"ARGOCD_APP_REVISION": commit, "ARGOCD_APP_SOURCE_TARGET_REVISION": ""},
			map[string]string{"a": commit, "b": commit},
			"",
		},
		"an earlier commit": {own, map[string]string{"ARGOCD_APP_REVISION": old}, map[string]string{"a": old}, ""},
		// The generator reads the commit of the request, not the branch, which has moved on.
		"directories of the parent's repository": {
			gitSet("s", "x", "x"),
			map[string]string{"ARGOCD_APP_REVISION": old},
			map[string]string{"s-a": old},
			"",
		},
		"a generator's repository": {
			gitSet("s", "y", "y"),
			map[string]string{"ARGOCD_APP_REVISION": commit},
			map[string]string{"s-c": other, "s-d": other},
			"",
		},
		// By a clock.
		"a generator's, no commit": {gitSet("s", "y", "y"), map[string]string{
			"ARGOCD_APP_REVISION":        commit,
			"ARGOCD_APP_SOURCE_REPO_URL": "https://clock.example.com/x",
		}, map[string]string{"s-c": other, "s-d": other}, ""},
		"another than the generator": {
			gitSet("s", "y", "z"),
			map[string]string{"ARGOCD_APP_REVISION": commit},
			map[string]string{"s-c": "main", "s-d": "main"},
			"",
		},
		// What one set has read is nothing to another.
		"another set's": {
			gitSet("s", "y", "y") + application("p", "source: {repoURL: https://git.example.com/y, path: c, targetRevision: main}"),
			map[string]string{"ARGOCD_APP_REVISION": commit},
			map[string]string{"s-c": other, "s-d": other, "p": "main"},
			"",
		},
		"a matrix": {
			matrixSet("y", "x"),
			map[string]string{"ARGOCD_APP_REVISION": commit},
			map[string]string{"m-c-b": other + ", " + commit, "m-d-b": other + ", " + commit},
			"",
		},
		"a merge": {
			strings.NewReplacer("matrix:", "merge:", "generators: [{git", "mergeKeys: [values.k], generators: [{git",
				"directories: [{path: '*'}]", "directories: [{path: c}], values: {k: v}", "directories: [{path: b}]",
				"directories: [{path: b}], values: {k: v}").Replace(matrixSet("y", "x")),
			map[string]string{"ARGOCD_APP_REVISION": commit},
			map[string]string{"m-c-b": other + ", " + commit},
			"",
		},
		"a revision of the template": {
			strings.NewReplacer("targetRevision: main",
				"targetRevision: '{{ if eq .path.basename \"c\" }}main{{ else }}dev{{ end }}'").Replace(gitSet("s", "y", "y")),
			map[string]string{"ARGOCD_APP_REVISION": commit},
			map[string]string{"s-c": other, "s-d": "dev"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings, err := r.pinned(appsetplugin.Config{}, c.docs, c.env)
			if err != nil || c.err != "" {
				if c.err == "" || err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v", err)
				}
				return
			}
			// The key of the merge is no parameter, so that all are equal.
			warnings = slices.DeleteFunc(warnings, func(w string) bool { return strings.Contains(w, ".mergeKeys[0]") })
			if diff := cmp.Diff(c.want, got); diff != "" || len(warnings) > 0 {
				t.Errorf("%q (-want +got):\n%s", warnings, diff)
			}
		})
	}
}

// gitSet is a set with an Application for each directory of a repository, whose source is in another, or the same.
func gitSet(name, generator, from string) string {
	return fmt.Sprintf(`---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %[1]s, namespace: argocd}
spec:
  goTemplate: true
  generators: [{git: {repoURL: https://git.example.com/%[2]s, revision: main, directories: [{path: '*'}]}}]
  template:
    metadata: {name: '%[1]s-{{ .path.basename }}'}
    spec:
      project: default
      source: {repoURL: https://git.example.com/%[3]s, targetRevision: main, path: '{{ .path.path }}'}
      destination: {server: https://kubernetes.default.svc, namespace: x}
`, name, generator, from)
}

// matrixSet is a set with two Git generators, whose Applications have sources of both repositories.
func matrixSet(first, second string) string {
	return fmt.Sprintf(`---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: m, namespace: argocd}
spec:
  goTemplate: true
  generators:
  - matrix: {generators: [{git: {repoURL: https://git.example.com/%[1]s, revision: main, directories: [{path: '*'}]}}, {git: {repoURL: https://git.example.com/%[2]s.git, revision: refs/heads/main, directories: [{path: b}], pathParamPrefix: second}}]}
  template:
    metadata: {name: 'm-{{ .path.basename }}-{{ .second.path.basename }}'}
    spec:
      project: default
      sources:
      - {repoURL: https://git.example.com/%[1]s, targetRevision: main, path: '{{ .path.path }}'}
      - {repoURL: https://git.example.com/%[2]s, targetRevision: main, path: '{{ .second.path.path }}'}
      destination: {server: https://kubernetes.default.svc, namespace: x}
`, first, second)
}

// moving is a repository whose branch moves between two reads.
type moving struct {
	generator.Tree
	commit string
}

func (m moving) Commit() string { return m.commit }

type movingRepos struct{ n int }

func (r *movingRepos) Tree(context.Context, string, string) (generator.Tree, error) {
	r.n++
	return moving{directories{"a"}, fmt.Sprintf("%040d", r.n)}, nil
}

type directories []string

func (d directories) Directories(context.Context) ([]string, error) { return d, nil }
func (d directories) Files(context.Context, string) (map[string][]byte, error) {
	return nil, nil
}

// TestPinMoves: an answer is made of one commit of a repository, or is none.
func TestPinMoves(t *testing.T) {
	r := newRepos(t)
	docs := strings.Replace(gitSet("s", "y", "y"), "]}}]",
		"]}}, {git: {repoURL: https://git.example.com/y.git, revision: refs/heads/main, directories: [{path: '*'}]}, selector: {matchLabels: {no: such}}}]", 1)
	_, _, err := r.pinned(appsetplugin.Config{Engine: func(appsetplugin.For) appset.Engine { return appset.Embedded{Git: &movingRepos{}} }}, docs, nil)
	if err == nil || !strings.Contains(err.Error(),
		`Application "s-a": revision "refs/heads/main" of its repository was commit 000000000000 and then 000000000000`) {
		t.Error(err)
	}
}

// TestPinChanged: a child stays at its commit if nothing that it is made of has changed since.
func TestPinChanged(t *testing.T) {
	kustomization := "resources: [cm.yaml, ../../base]\n"
	base := map[string]string{
		"README.md": "x", "base/kustomization.yaml": "resources: [cm.yaml]\n",
		"base/cm.yaml":       strings.Replace(configMap, "cm}", "base}", 1),
		"apps/plain/cm.yaml": configMap, "apps/k/kustomization.yaml": kustomization, "apps/k/cm.yaml": configMap,
		"apps/chart/Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: [{name: lib, version: 1.0.0, repository: 'file://../../lib'}]\n", "apps/chart/templates/cm.yaml": configMap,
		"lib/Chart.yaml":       "apiVersion: v2\nname: lib\nversion: 1.0.0\n",
		"lib/templates/x.yaml": strings.Replace(configMap, "cm}", "lib}", 1),
		"values/a.yaml":        "a: 1\n", "apps/linked": "->../target", "target/cm.yaml": configMap,
		"apps/links/cm.yaml":     "->../../target/cm.yaml",
		"apps/jsonnet/x.jsonnet": "import '../../values/a.yaml'", "apps/broken/kustomization.yaml": "resources: [none.yaml]\n",
		"far/values.yaml":                  "a: 1\n",
		"far/kustomization.yaml":           "helmCharts: [{name: far, repo: 'https://charts.example.com', version: 1.0.0, valuesFile: values.yaml}]\n",
		"apps/umbrella/Chart.yaml":         "apiVersion: v2\nname: u\nversion: 1.0.0\ndependencies: [{name: far, version: 1.0.0, repository: 'https://charts.example.com'}]\n",
		"apps/inflated/kustomization.yaml": "resources: [../../far]\n",
	}
	chart := "{repoURL: https://charts.example.com, chart: x, targetRevision: 1.0.0, helm: {valueFiles: [$v/values/a.yaml]}}"
	docs := application("plain", source("path: apps/plain, targetRevision: main")) +
		application("k", source("path: apps/k, targetRevision: main")) +
		application("chart", source("path: apps/chart, targetRevision: main, helm: {valueFiles: [/values/a.yaml]}")) +
		application("optional", source("path: apps/chart, targetRevision: main, helm: {ignoreMissingValueFiles: true, valueFiles: [/values/c.yaml]}")) +
		application("refs", "sources: ["+chart+", {repoURL: https://git.example.com/x, ref: v, targetRevision: main}]") +
		application("linked", source("path: apps/linked, targetRevision: main")) +
		application("links", source("path: apps/links, targetRevision: main")) +
		application("umbrella", source("path: apps/umbrella, targetRevision: main")) +
		application("inflated", source("path: apps/inflated, targetRevision: main"))
	stays := []string{"plain", "k", "chart", "optional", "refs", "linked", "links", "umbrella", "inflated"}
	// Those whose content is not known, or is broken, move with every commit.
	never := application("jsonnet", source("path: apps/jsonnet, targetRevision: main")) +
		application("broken", source("path: apps/broken, targetRevision: main")) +
		application("missing", source("path: apps/none, targetRevision: main")) +
		application("parent", source("path: apps/plain, targetRevision: main, plugin: {name: appset, parameters: [{name: pin, string: changed}]}")) +
		application("plugin", source("path: apps/plain, targetRevision: main, plugin: {name: other}")) +
		application("two", "sources: [{repoURL: https://git.example.com/x, path: apps/plain, targetRevision: main}, {repoURL: https://git.example.com/x, path: apps/k, targetRevision: v1}]") +
		application("root", source("path: ., targetRevision: main")+", info: []")
	never = strings.Replace(never, "name: root,", "name: all,", 1)
	for name, c := range map[string]struct {
		change map[string]string
		moves  []string
	}{
		"nothing":        {nil, nil},
		"somewhere else": {map[string]string{"README.md": "y", "other/cm.yaml": configMap}, nil},
		"a file of one":  {map[string]string{"apps/plain/cm.yaml": configMap + "data: {a: b}\n"}, []string{"plain"}},
		"a new file":     {map[string]string{"apps/plain/sub/more": "x"}, []string{"plain"}},
		"a file less": {
			map[string]string{"apps/k/cm.yaml": "", "apps/k/kustomization.yaml": "resources: [../../base]\n"},
			[]string{"k"},
		},
		"a base":        {map[string]string{"base/cm.yaml": configMap + "data: {a: b}\n"}, []string{"k"}},
		"beside a base": {map[string]string{"base/other.yaml": configMap}, nil},
		"a dependency":  {map[string]string{"lib/templates/x.yaml": configMap}, []string{"chart", "optional"}},
		"a file of a dependency": {
			map[string]string{"lib/templates/y.yaml": strings.Replace(configMap, "cm}", "y}", 1)},
			[]string{"chart", "optional"},
		},
		"values":                   {map[string]string{"values/a.yaml": "a: 2\n"}, []string{"chart", "refs"}},
		"values of a far chart":    {map[string]string{"far/values.yaml": "a: 2\n"}, []string{"inflated"}},
		"values that were missing": {map[string]string{"values/c.yaml": "a: 2\n"}, []string{"optional"}},
		"what a link leads to":     {map[string]string{"target/cm.yaml": configMap + "data: {a: b}\n"}, []string{"linked", "links"}},
		"a link":                   {map[string]string{"apps/links/cm.yaml": "->../plain/cm.yaml"}, []string{"links"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepos(t, "x")
			old := r.commit("x", base)
			specs := map[string]map[string]any{}
			all, err := manifest.Decode("x", []byte(docs+never))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, d := range all {
				for _, s := range argo.Sources(d.Object) {
					if manifest.String(s, "repoURL") == "https://git.example.com/x" && manifest.String(s, "targetRevision") == "main" {
						s["targetRevision"] = old
					}
				}
				child := manifest.String(d.Object, "metadata", "name")
				names = append(names, child)
				specs[child] = manifest.Map(d.Object, "spec")
			}
			commit := r.commit("x", c.change)
			config := appsetplugin.Config{Live: live{children: names, specs: specs}, Commits: r.commits, Compared: &appsetplugin.Compared{}}
			ask := func() {
				t.Helper()
				got, warnings, err := r.pinned(config, docs+never, map[string]string{"ARGOCD_APP_REVISION": commit, "PARAM_PIN": "changed"})
				if err != nil || len(warnings) > 0 {
					t.Fatal(warnings, err)
				}
				var moved []string
				for _, child := range names {
					if strings.Contains(got[child], old) == strings.Contains(got[child], commit) {
						t.Errorf("%s: %s", child, got[child])
					}
					if strings.Contains(got[child], commit) {
						moved = append(moved, child)
					}
				}
				want := append(slices.Clone(c.moves), names[len(stays):]...)
				if c.change == nil { // the whole repository is the same
					want = want[:len(want)-1]
				}
				slices.Sort(want)
				slices.Sort(moved)
				if diff := cmp.Diff(want, moved); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			ask()
			if len(r.opened) != 2 {
				t.Errorf("opened %q", r.opened)
			}
			// The old commit is not opened again for what is known, even when it is gone.
			r.opened, r.gone[old] = nil, true
			config.Commits = func(f appsetplugin.For) appsetplugin.Commits {
				open := r.commits(f)
				return func(ctx context.Context, url, commit string) (appsetplugin.Tree, error) {
					if commit == old {
						t.Error("the old commit was opened again")
					}
					return open(ctx, url, commit)
				}
			}
			ask()
		})
	}
}

// TestPinChangedBelieves: what a live Application says is believed about the same repository only, and what cannot be compared is new.
func TestPinChangedBelieves(t *testing.T) {
	r := newRepos(t, "x", "y")
	old := r.commit("x", map[string]string{"a/cm.yaml": configMap})
	commit := r.commit("x", map[string]string{"b/cm.yaml": configMap})
	foreign := r.commit("y", map[string]string{"a/cm.yaml": configMap, "other": "x"})
	spec := func(repo, revision string) map[string]any {
		return map[string]any{"project": "default", "source": map[string]any{
			"repoURL": "https://git.example.com/" + repo, "path": "a",
			"targetRevision": revision,
		}}
	}
	plain := application("a", source("path: a, targetRevision: main"))
	several := map[string]any{"project": "default", "sources": []any{spec("x", old)["source"], spec("x", commit)["source"]}}
	project := spec("x", old)
	project["project"] = "other"
	for name, c := range map[string]struct {
		spec    map[string]any
		config  func(*appsetplugin.Config)
		want    string
		warning string
	}{
		"the same":              {spec: spec("x", old), want: old},
		"spelt another way":     {spec: spec("X.git", old), want: old},
		"not there":             {want: commit},
		"on the branch":         {spec: spec("x", "main"), want: commit},
		"of another repository": {spec: spec("y", foreign), want: commit},
		"a commit of another one": {
			spec: spec("x", foreign), want: commit,
			warning: "pin: commit " + foreign[:12] + " cannot be compared: repository https://git.example.com/x: there is no revision",
		},
		"of another project": {spec: project, want: commit},
		"at two commits":     {spec: several, want: commit},
		"no cluster": {spec: spec("x", old), config: func(c *appsetplugin.Config) {
			c.Live = nil
		}, want: commit, warning: "pin: there is no access to a cluster"},
		"in another cluster": {spec: spec("x", old), config: func(c *appsetplugin.Config) {
			c.Live = live{children: []string{"a"}, remote: true}
		}, want: commit, warning: "pin: the Applications are in another cluster"},
		"too large": {spec: spec("x", old), config: func(c *appsetplugin.Config) {
			c.Live = live{children: []string{"a"}, specs: map[string]map[string]any{"a": spec("x", old)}, large: map[string]bool{"a": true}}
		}, want: commit, warning: "pin: Application argocd/a is too large to be read, so the commits that it has now are not known; Applications that get the new commit for this reason: 1"},
		"a new parent": {spec: spec("x", old), config: func(c *appsetplugin.Config) { c.Live = live{} }, want: commit, warning: "is not there"},
		"no commits": {spec: spec("x", old), config: func(c *appsetplugin.Config) {
			c.Commits = nil
		}, want: commit, warning: "pin: commits cannot be compared here"},
	} {
		t.Run(name, func(t *testing.T) {
			config := appsetplugin.Config{Live: live{children: []string{"a"}, specs: map[string]map[string]any{"a": c.spec}}, Commits: r.commits}
			if c.config != nil {
				c.config(&config)
			}
			got, warnings, err := r.pinned(config, plain, map[string]string{"ARGOCD_APP_REVISION": commit, "PARAM_PIN": "changed"})
			text := strings.Join(warnings, "\n")
			if err != nil || got["a"] != c.want || !strings.Contains(text, c.warning) || c.warning == "" && text != "" {
				t.Errorf("%q, %q, %v", got["a"], text, err)
			}
		})
	}
	// Many children at many commits: some are compared, and the rest is said once.
	var docs strings.Builder
	l := live{specs: map[string]map[string]any{}}
	for i := range 40 {
		name := fmt.Sprintf("a%02d", i)
		docs.WriteString(application(name, source("path: a, targetRevision: main")))
		l.children = append(l.children, name)
		l.specs[name] = spec("x", r.commit("x", nil))
	}
	last := r.commit("x", nil)
	got, warnings, err := r.pinned(appsetplugin.Config{Live: l, Commits: r.commits}, docs.String(),
		map[string]string{"ARGOCD_APP_REVISION": last, "PARAM_PIN": "changed"})
	moved := 0
	for _, revision := range got {
		if revision == last {
			moved++
		}
	}
	if err != nil || moved != 25 || len(warnings) != 1 ||
		warnings[0] != "pin: no more than 16 commits are compared for one answer; Applications that get the new commit for this reason: 25" {
		t.Errorf("%d moved, %q, %v", moved, warnings, err)
	}
}
