package render_test

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// TestEdits: what the source of an Application changes. The cases of package source compare it with "kustomize edit".
func TestEdits(t *testing.T) {
	const deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 1, template: {spec: {containers: [{name: c, image: 'r.io:5/app:1'}]}}}}\n"
	meta := func(more string) string { return "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n" + more }
	image := func(image, replicas string) string {
		return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\nspec:\n  replicas: " + replicas +
			"\n  template:\n    spec:\n      containers:\n      - image: " + image + "\n        name: c\n"
	}
	for _, tt := range []struct {
		name, kustomization, resource string
		edits                         render.Edits
		want                          string
	}{
		{"nothing", "namePrefix: k-", object("a"), render.Edits{}, meta("  name: k-a\n")},
		{
			"names", "namePrefix: k-\nnamespace: k", object("a"),
			render.Edits{NamePrefix: "p-", NameSuffix: "-s", Namespace: "ns"},
			meta("  name: p-a-s\n  namespace: ns\n"),
		},
		{"tag", "", deployment, render.Edits{Images: []string{"r.io:5/app:2"}}, image("r.io:5/app:2", "1")},
		{"new name", "", deployment, render.Edits{Images: []string{"r.io:5/app=other"}}, image("other:1", "1")},
		{
			"new name, tag and digest", "", deployment,
			render.Edits{Images: []string{"r.io:5/app=other:3@sha256:1"}},
			image("other:3@sha256:1", "1"),
		},
		{"digest", "", deployment, render.Edits{Images: []string{"r.io:5/app@sha256:1"}}, image("r.io:5/app@sha256:1", "1")},
		{
			"asterisk", "images: [{name: 'r.io:5/app', newName: kept, newTag: '9'}]", deployment,
			render.Edits{Images: []string{"r.io:5/app=*:7"}},
			image("kept:7", "1"),
		},
		{
			"image without a tag", "", deployment,
			render.Edits{Images: []string{"app"}},
			`kustomization.yaml: kustomize.images: "app" must be NAME=NEW:TAG, NAME:TAG or NAME@DIGEST`,
		},
		{"empty image", "", deployment, render.Edits{Images: []string{"="}}, image("r.io:5/app:1", "1")},
		{
			"replicas", "replicas: [{name: d, count: 2}]", deployment,
			render.Edits{Replicas: map[string]int64{"d": 5}},
			image("r.io:5/app:1", "5"),
		},
		{"labels", "", object("a"), render.Edits{CommonLabels: map[string]string{"x": "y"}}, meta("  labels:\n    x: \"y\"\n  name: a\n")},
		{
			"label that is there", "commonLabels: {x: k}", object("a"),
			render.Edits{CommonLabels: map[string]string{"x": "y"}},
			"kustomization.yaml: label x is already in the Kustomization; kustomize.forceCommonLabels of the Application overrides it",
		},
		{
			"forced label", "commonLabels: {x: k}", object("a"),
			render.Edits{CommonLabels: map[string]string{"x": "y"}, ForceLabels: true},
			meta("  labels:\n    x: \"y\"\n  name: a\n"),
		},
		{
			"label without selectors", "", object("a"),
			render.Edits{CommonLabels: map[string]string{"x": "y"}, WithoutSelectors: true},
			meta("  labels:\n    x: \"y\"\n  name: a\n"),
		},
		{
			"templates with selectors", "", object("a"),
			render.Edits{CommonLabels: map[string]string{"x": "y"}, IncludeTemplates: true},
			"kustomization.yaml: kustomize.labelIncludeTemplates: labelWithoutSelector must be set, too",
		},
		{
			"annotations", "commonAnnotations: {k: k}", object("a"),
			render.Edits{CommonAnnotations: map[string]string{"x": "y"}},
			meta("  annotations:\n    k: k\n    x: \"y\"\n  name: a\n"),
		},
		{
			"annotation that is there", "commonAnnotations: {x: k}", object("a"),
			render.Edits{CommonAnnotations: map[string]string{"x": "y"}},
			"kustomization.yaml: annotation x is already in the Kustomization; kustomize.forceCommonAnnotations of the Application overrides it",
		},
		{"components", "", object("a"), render.Edits{Components: []string{"c"}}, meta("  name: c-a\n")},
		{
			"component that is not there", "", object("a"),
			render.Edits{Components: []string{"d"}},
			`kustomization.yaml: components: "d" is not in the source`,
		},
		{"patch", "patches: []", object("a"), render.Edits{Patches: []any{map[string]any{"patch": object("a")}}}, meta("  name: a\n")},
		{
			"patch over null", "patches:", object("a"),
			render.Edits{Patches: []any{map[string]any{"patch": object("a")}}},
			"kustomization.yaml: patches: must be a list for kustomize.patches of the Application, it is null; remove the field",
		},
		{
			"patch over null that was written anew", "patches:", object("a"),
			render.Edits{NamePrefix: "p-", Patches: []any{map[string]any{"patch": object("a")}}},
			meta("  name: p-a\n"),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			docs, err := kustomize(render.Kustomization{
				Edits: &tt.edits,
				View: tree.Of(files("kustomization.yaml", tt.kustomization+"\nresources: [a.yaml]\n", "a.yaml", tt.resource,
					"c/kustomization.yaml", "kind: Component\nnamePrefix: c-\n")),
			})
			got := yaml(t, docs)
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestQuiet: Kustomize warns about deprecated fields on standard error, which is no place for a library.
func TestQuiet(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = w
	docs, err := directory(files("kustomization.yaml",
		"bases: [b]\ncommonLabels: {a: b}\nimageTags: [{name: x, newTag: v1}]\nlabels: [{pairs: {a: c, d: e}}]\n"+
			"patchesStrategicMerge:\n- p.yaml\n- empty.yaml\n- |-\n  {apiVersion: v1, kind: Service, metadata: {name: a}, spec: {p: second, q: first}}\npatches: [{patch: '{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {q: last}}'}]\n",
		"empty.yaml", "# nothing\n", "p.yaml",
		"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {p: first, r: first}}\n---\n$patch: delete\napiVersion: v1\nkind: Service\nmetadata: {name: b}\n",
		"b/kustomization.yaml", "resources: [a.yaml]\ncommonLabels: {}\n", "b/a.yaml",
		"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {x: y}}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: b}}\n"), render.Options{})
	os.Stderr = stderr
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 1000)
	if n, _ := r.Read(said); n > 0 {
		t.Errorf("it said %s", said[:n])
	}
	want := "---\napiVersion: v1\nkind: Service\nmetadata:\n  labels:\n    a: b\n    d: e\n  name: a\nspec:\n  p: second\n  q: last\n  r: first\n  selector:\n    a: b\n    x: \"y\"\n"
	if diff := cmp.Diff(want, yaml(t, docs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDanglingLinks: links elsewhere in a repository do not matter.
func TestDanglingLinks(t *testing.T) {
	content := map[string]string{
		"kustomization.yaml": "resources: [link.yaml]\n", "link.yaml": "sub/a.yaml", "sub/a.yaml": object("a"),
		"gone": "nowhere", "out": "/etc", "circle": "circle",
	}
	names := map[string]bool{}
	for name := range content {
		names[name] = name == "link.yaml" || name == "gone" || name == "out" || name == "circle"
	}
	var read []string
	docs, err := kustomize(render.Kustomization{
		View: tree.NewView(names, func(_ context.Context, name string) ([]byte, error) { return []byte(content[name]), nil }),
		Read: func(name string) { read = append(read, name) },
	})
	if err != nil || objectNames(docs) != "a" {
		t.Errorf("%v, %v", docs, err)
	}
	for _, name := range read {
		if name != "kustomization.yaml" && name != "sub/a.yaml" {
			t.Errorf("%s was read", name)
		}
	}
}
