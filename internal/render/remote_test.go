package render_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// fake is a Remote that knows some things, and records what it is asked for.
type fake struct {
	git    map[string]*tree.View
	files  map[string]string
	charts map[string][]tree.File

	mu    sync.Mutex
	calls []string
}

func (f *fake) called(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fake) Git(_ context.Context, url, revision string) (*tree.View, error) {
	f.called("git %s %s", url, revision)
	if v := f.git[url]; v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("repository %s: no route to host", url)
}

func (f *fake) File(_ context.Context, url string) ([]byte, error) {
	f.called("file %s", url)
	if data, ok := f.files[url]; ok {
		return []byte(data), nil
	}
	return nil, fmt.Errorf("file %s: no route to host", url)
}

func (f *fake) Chart(_ context.Context, repository, name, version string) ([]tree.File, error) {
	f.called("chart %s %s %s", repository, name, version)
	if files, ok := f.charts[name]; ok {
		return files, nil
	}
	return nil, fmt.Errorf("chart %s: no route to host", name)
}

// objectNames returns the names of objects, in order.
func objectNames(docs []manifest.Document) string {
	var out []string
	for _, d := range docs {
		out = append(out, manifest.String(d.Object, "metadata", "name"))
	}
	return strings.Join(out, " ")
}

// TestRemote: bases, files and charts from elsewhere, those that are available and those that are not.
func TestRemote(t *testing.T) {
	const base = "https://example.com/org/base"
	chart := files("Chart.yaml", chartFile, "values.yaml", "name: own\n", "templates/a.yaml",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: {{ .Values.name }}}}\n")
	remote := func() *fake {
		return &fake{
			git: map[string]*tree.View{
				base: tree.Of(files("kustomization.yaml", "resources: [b.yaml]\nnamePrefix: x-\n", "b.yaml", object("b"),
					"c/kustomization.yaml", "resources: [c.yaml]\n", "c/c.yaml", object("c"),
					"lib/kustomization.yaml", "kind: Component\nnamePrefix: lib-\n", "twice/kustomization.yaml",
					"resources: [https://example.com/org/base//c]\n")),
			},
			files:  map[string]string{"https://example.com/f.yaml": object("f"), "https://example.com/v.yaml": "name: fetched\n"},
			charts: map[string][]tree.File{"c": chart},
		}
	}
	for _, tt := range []struct{ name, kustomization, want, calls, missing string }{
		{"base", "resources: [a.yaml, '" + base + "?ref=v1']", "a x-b", "git " + base + " v1", ""},
		{"directory", "resources: [" + base + "//c]", "c", "git " + base + " ", ""},
		{"component", "resources: [a.yaml]\ncomponents: [" + base + "//lib]", "lib-a", "git " + base + " ", ""},
		{"base of a base", "resources: [" + base + "//twice]", "c", "git " + base + " \ngit " + base + " ", ""},
		{"file", "resources: [https://example.com/f.yaml]\nnameSuffix: -y", "f-y", "file https://example.com/f.yaml", ""},
		{"older form", "bases: [" + base + "]", "x-b", "git " + base + " ", ""},
		{
			"chart", "helmCharts: [{name: c, repo: https://charts.example.com, version: 1.0.0}]", "own",
			"chart https://charts.example.com c 1.0.0", "",
		},
		{
			"values of a chart", "helmCharts: [{name: c, repo: https://charts.example.com, valuesFile: https://example.com/v.yaml}]",
			"fetched",
			"chart https://charts.example.com c \nfile https://example.com/v.yaml", "",
		},
		{
			"missing base", "resources: [a.yaml, github.com/org/gone]", "a", "git https://github.com/org/gone ",
			"kustomization.yaml: resources: repository https://github.com/org/gone: no route to host",
		},
		{
			"missing file", "resources: [a.yaml, https://example.com/g.yaml]", "a", "file https://example.com/g.yaml",
			"kustomization.yaml: resources: file https://example.com/g.yaml: no route to host",
		},
		{
			"missing component", "resources: [a.yaml]\ncomponents: [github.com/org/gone]", "a", "git https://github.com/org/gone ",
			"kustomization.yaml: components: repository https://github.com/org/gone: no route to host",
		},
		{
			"missing chart", "resources: [a.yaml]\nhelmCharts: [{name: d, repo: https://charts.example.com}]", "a",
			"chart https://charts.example.com d ", "kustomization.yaml: helmCharts: chart d: no route to host",
		},
		{
			"missing values", "resources: [a.yaml]\nhelmCharts: [{name: c, repo: https://charts.example.com, valuesFile: https://example.com/w.yaml}]", "a",
			"chart https://charts.example.com c \nfile https://example.com/w.yaml",
			"kustomization.yaml: helmCharts: c: file https://example.com/w.yaml: no route to host; it is not available here",
		},
		{
			"nothing but missing", "resources: [github.com/org/gone]", "", "git https://github.com/org/gone ",
			"kustomization.yaml: resources: repository https://github.com/org/gone: no route to host",
		},
		{
			"patch of what is missing",
			"resources: [a.yaml, github.com/org/gone]\npatches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: gone}}'}]", "",
			"git https://github.com/org/gone ",
			"kustomization.yaml: resources: repository https://github.com/org/gone: no route to host\n" +
				`kustomization.yaml: no resource matches strategic merge patch "ConfigMap.v1.[noGrp]/gone.[noNs]": no matches for Id ConfigMap.v1.[noGrp]/gone.[noNs]; failed to find unique target for patch ConfigMap.v1.[noGrp]/gone.[noNs]`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := remote()
			built, err := render.Build(t.Context(), render.Kustomization{View: tree.Of(files("kustomization.yaml", tt.kustomization+"\n",
				"a.yaml", object("a"))), Remote: r})
			if err != nil {
				t.Fatal(err)
			}
			for _, diff := range []string{
				cmp.Diff(tt.want, objectNames(built.Documents)), cmp.Diff(tt.calls, strings.Join(r.calls, "\n")),
				cmp.Diff(tt.missing, unlined(errors.Join(built.Missing...))),
			} {
				if diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestRemoteStays: a repository that was fetched sees itself only, and the source does not see it but by its URL.
func TestRemoteStays(t *testing.T) {
	const base = "https://example.com/org/base"
	chart := []string{"charts/c/Chart.yaml", chartFile, "charts/c/values.yaml", ""}
	for _, k := range []string{
		"resources: [../source/secret.yaml]", "resources: [../../source/secret.yaml]", "resources: [/source/secret.yaml]",
		"resources: [../source]", "resources: [..]",
		"configMapGenerator: [{name: x, files: [../source/secret.yaml]}]", "configMapGenerator: [{name: x, envs: [/source/secret.yaml]}]",
		"resources: [b.yaml]\npatches: [{path: ../source/secret.yaml}]", "components: [../source/secret]", "crds: [../source/secret.yaml]",
		"openapi: {path: ../source/secret.yaml}",
		"transformers: [../source/secret.yaml]", "generators: [../source/secret.yaml]", "resources: [link.yaml]",
		"resources: [dir/secret.yaml]",
		"helmCharts: [{name: c, valuesFile: ../source/secret.yaml}]",
		"helmCharts: [{name: c, additionalValuesFiles: [/source/secret.yaml]}]",
		"helmGlobals: {chartHome: ../source/charts}\nhelmCharts: [{name: c}]",
		"helmGlobals: {chartHome: /source/charts}\nhelmCharts: [{name: c}]",
		"helmCharts: [{name: ../../source/charts/c}]", "helmCharts: [{name: c, version: ../../../../source/charts, repo: https://x}]",
	} {
		names := map[string]bool{
			"kustomization.yaml": false, "b.yaml": false, "link.yaml": true, "dir": true, chart[0]: false,
			chart[2]: false,
		}
		content := map[string]string{
			"kustomization.yaml": k + "\n", "b.yaml": object("b"), "link.yaml": "../source/secret.yaml",
			"dir": "/source", chart[0]: chart[1], chart[2]: chart[3],
		}
		view := tree.NewView(names, func(_ context.Context, name string) ([]byte, error) { return []byte(content[name]), nil })
		for _, anywhere := range []bool{false, true} {
			source := tree.Of(files("kustomization.yaml", "resources: ["+base+"]\n", "secret.yaml", object("secret"), "charts/c/Chart.yaml",
				chartFile, "charts/c/values.yaml", "",
				"charts/c/templates/a.yaml", object("secret"), "secret/kustomization.yaml", "kind: Component\n"))
			built, err := render.Build(t.Context(), render.Kustomization{
				View: source, Anywhere: anywhere,
				Remote: &fake{git: map[string]*tree.View{base: view}},
			})
			if err == nil {
				t.Errorf("%s: built %q, missing %v", k, objectNames(built.Documents), built.Missing)
			}
		}
	}
	// The other way round.
	for _, k := range []string{
		"resources: [" + base + ", ../remote-1/b.yaml]",
		"resources: [" + base + "]\nconfigMapGenerator: [{name: x, files: [/remote-1/b.yaml]}]",
	} {
		_, err := render.Build(t.Context(), render.Kustomization{
			View: tree.Of(files("kustomization.yaml", k+"\n")), Anywhere: true,
			Remote: &fake{git: map[string]*tree.View{base: tree.Of(files("kustomization.yaml", "resources: [b.yaml]\n", "b.yaml",
				object("b")))}},
		})
		if got := text(err); !strings.Contains(got, "is outside of the source") {
			t.Errorf("%s: %s", k, got)
		}
	}
}

// TestParallel builds many Kustomizations at once, some of which bring a schema of their own: each must be as if it were alone.
func TestParallel(t *testing.T) {
	cases := goldens(t)
	want := make([]string, len(cases))
	for i, g := range cases {
		docs, err := directory(g.files, g.options)
		want[i] = yaml(t, docs) + text(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		for i, g := range cases {
			wg.Go(func() {
				docs, err := directory(g.files, g.options)
				if diff := cmp.Diff(want[i], yaml(t, docs)+text(err)); diff != "" {
					t.Errorf("%s: (-alone +together):\n%s", g.dir, diff)
				}
			})
		}
	}
	wg.Wait()
}
