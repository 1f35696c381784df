package lint

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

// TestPlannersFindings: which findings of the planner stay beside those of our own rules, and their fields. Each set is planned as its
// only root would be.
func TestPlannersFindings(t *testing.T) {
	const (
		list = "list: {elements: [{name: a}]}"
		head = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\nspec:\n  goTemplate: true\n  " +
			"goTemplateOptions: [missingkey=error]\n  generators: [{GENERATOR}]\n  template:\n    metadata: {name: 'NAME'}\n    spec: {project: " +
			"default, source: {repoURL: https://x/y, path: PATH}, destination: {name: in-cluster, namespace: x}}\n"
		matrix = "matrix: {generators: [{" + list + "}, {clusters: {values: {x: '{{.server}}'}}}]}"
	)
	set := func(generator, name, path string) string {
		return strings.NewReplacer("GENERATOR", generator, "NAME", name, "PATH", path).Replace(head)
	}
	for name, c := range map[string]struct {
		set     string
		version versions.Version
		want    []string
	}{
		"good":                        {set(list, "{{.name}}", "a"), versions.Newest, nil},
		"a function that differs":     {set(list, "{{.name}}-{{now}}", "a"), versions.Newest, []string{"function-not-stable spec.template.metadata.name"}},
		"no such parameter":           {set(list, "{{.nope}}", "a"), versions.Newest, []string{"set-broken spec.template.metadata.name"}},
		"a value of its own, 3.2":     {set(matrix, "{{.name}}", "a"), versions.Oldest, []string{"values-use-own-parameter spec.generators.[0].matrix.generators.[1].clusters.values.x"}},
		"a value of its own, newest":  {set(matrix, "{{.nameNormalized}}", "a"), versions.Newest, nil},
		"a value of nobody":           {set(strings.Replace(matrix, ".server", ".nobody", 1), "{{.name}}", "a"), versions.Newest, []string{"set-broken spec.generators.[0].matrix.generators.[1].clusters"}},
		"an unknown field, only once": {set("list: {nope: 1, elements: [{name: a}]}", "{{.name}}", "a"), versions.Newest, []string{"field-unknown spec.generators.[0].list.nope"}},
		"no directory":                {set(list, "{{.name}}", "nowhere"), versions.Newest, []string{"source-broken spec.source.path"}},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := manifest.Decode("set.yaml", []byte(c.set))
			if err != nil {
				t.Fatal(err)
			}
			view := tree.Of([]tree.File{{Name: "a/a.yaml", Data: []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n")}})
			p, err := plan.New(t.Context(), plan.Config{
				Namespace: "argocd", ExistsAll: true, Version: c.version,
				Clusters: generator.ClusterList{{Name: "far", Server: "https://far"}},
				Loader: source.Loader{Open: func(context.Context, string, string) (source.Repository, error) {
					return source.Repository{View: view}, nil
				}},
			}, docs...)
			if err != nil {
				t.Fatal(err)
			}
			families := []string{"set-broken", "source-broken", "lenient", "function-not-stable", "values-use-own-parameter", "field-unknown"}
			var got []string
			found, _ := Check(p)
			for _, f := range found {
				if slices.Contains(families, f.Rule.Name) {
					got = append(got, f.Rule.Name+" "+strings.Join(f.Field, "."))
				}
			}
			if diff := cmp.Diff(c.want, slices.Compact(got)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v", diff, found)
			}
		})
	}
}
