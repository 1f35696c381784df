package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/render"
)

// bomb is a document whose aliases stand for 9 to the power of levels values.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\na0: &a0 [x]\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9))
	}
	return b.String()
}

// TestAliases: aliases that multiply or lead in a circle are refused wherever Kustomize would replace them, and others are not.
func TestAliases(t *testing.T) {
	quoted := func(s string) string { return fmt.Sprintf("%q", s) }
	const circle = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: &a {b: *a}\n"
	plugin := "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\ntarget: {kind: ConfigMap}\npatch: " + quoted(bomb(9)) +
		"\n"
	for name, pairs := range map[string][]string{
		"resource":             {"kustomization.yaml", "resources: [b.yaml]\n", "b.yaml", bomb(9)},
		"circle":               {"kustomization.yaml", "resources: [b.yaml]\n", "b.yaml", circle},
		"second document":      {"kustomization.yaml", "resources: [b.yaml]\n", "b.yaml", object("x") + "---\n" + bomb(9)},
		"behind a broken one":  {"kustomization.yaml", "resources: [b.yaml]\n", "b.yaml", "%YAML 1.2\n---\n" + bomb(9)},
		"patch":                {"kustomization.yaml", "resources: [a.yaml]\npatches: [{path: b.yaml}]\n", "b.yaml", bomb(9)},
		"patch in place":       {"kustomization.yaml", "resources: [a.yaml]\npatches: [{patch: " + quoted(bomb(9)) + "}]\n"},
		"older patch":          {"kustomization.yaml", "resources: [a.yaml]\npatchesStrategicMerge: [b.yaml]\n", "b.yaml", bomb(9)},
		"older patch in place": {"kustomization.yaml", "resources: [a.yaml]\npatchesStrategicMerge: [" + quoted(bomb(9)) + "]\n"},
		"JSON patch": {
			"kustomization.yaml",
			"resources: [a.yaml]\npatchesJson6902: [{target: {version: v1, kind: ConfigMap, name: a}, path: b.yaml}]\n", "b.yaml", bomb(9),
		},
		"transformer":          {"kustomization.yaml", "resources: [a.yaml]\ntransformers: [b.yaml]\n", "b.yaml", bomb(9)},
		"transformer in place": {"kustomization.yaml", "resources: [a.yaml]\ntransformers: [" + quoted(bomb(9)) + "]\n"},
		"patch of transformer": {"kustomization.yaml", "resources: [a.yaml]\ntransformers: [b.yaml]\n", "b.yaml", plugin},
		"generator":            {"kustomization.yaml", "generators: [b.yaml]\n", "b.yaml", bomb(9)},
		"the Kustomization":    {"kustomization.yaml", bomb(9)},
		"values":               {"Chart.yaml", chartFile, "values.yaml", bomb(9)},
		"template":             {"Chart.yaml", chartFile, "templates/a.yaml", bomb(9)},
		"values of a chart": {
			"kustomization.yaml", "helmCharts: [{name: c, valuesInline: {a: b}}]\n", "charts/c/Chart.yaml", chartFile,
			"charts/c/values.yaml", bomb(9),
		},
		"values in a directory": {"a.yaml", bomb(9)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := directory(files(append([]string{"a.yaml", object("a")}, pairs...)...), render.Options{})
			if name == "circle" || name == "JSON patch" {
				if err == nil {
					t.Error("it was built")
				}
			} else if !strings.Contains(text(err), "excessive aliasing") {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, pairs := range map[string][]string{
		"resource": {"kustomization.yaml", "resources: [b.yaml]\n", "b.yaml", bomb(3)},
		"text": {
			"kustomization.yaml", "configMapGenerator: [{name: x, files: [b.sh]}]\n", "b.sh",
			"a &b\nfor x in *.y; do\n\t[[ x && y ]]\ndone\n",
		},
		"bomb": {"kustomization.yaml", "configMapGenerator: [{name: x, files: [b.yaml]}]\n", "b.yaml", bomb(9)},
	} {
		if _, err := directory(files(pairs...), render.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDiamonds: a Kustomization that is reached in several ways is built each time; too many ways are not known.
func TestDiamonds(t *testing.T) {
	for levels, want := range map[int]string{
		3: "", 60: "kustomization.yaml: it builds more than 5000 Kustomizations, counting those that it includes several times",
	} {
		pairs := []string{"kustomization.yaml", "resources: [a0, b0]\n"}
		for i := range levels {
			next := fmt.Sprintf("resources: [../a%d, ../b%d]", i+1, i+1)
			if i == levels-1 {
				next = "resources: [x.yaml]"
			}
			for _, s := range []string{"a", "b"} {
				pairs = append(pairs, fmt.Sprintf("%s%d/kustomization.yaml", s, i), next+"\nnamePrefix: "+s+"-\n",
					fmt.Sprintf("%s%d/x.yaml", s, i), object("x"))
			}
		}
		docs, err := directory(files(pairs...), render.Options{})
		if text(err) != want || want == "" && len(docs) != 1<<levels {
			t.Errorf("%d levels: %d objects, %v", levels, len(docs), err)
		}
	}
}
