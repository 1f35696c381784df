package render_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// TestLocalCharts: helmCharts of a chart that is there, by values of the Kustomization, and patched by it.
func TestLocalCharts(t *testing.T) {
	for _, tt := range []struct{ name, chart, want string }{
		{"nothing", "", "k-release-name chart chart chart"},
		{"name", "releaseName: r", "k-r chart chart chart"},
		{"template of a name", "nameTemplate: 'x-{{ \"A\" | lower }}'", "k-x-a chart chart chart"},
		{
			"name and template", "releaseName: r, nameTemplate: x",
			"app/kustomization.yaml: helmCharts: web: cannot set nameTemplate and releaseName",
		},
		{"file", "valuesFile: values.yaml", "k-release-name file file chart"},
		{"in place", "valuesInline: {b: inline}", "k-release-name chart inline chart"},
		{"both", "valuesFile: values.yaml, valuesInline: {b: inline}", "k-release-name file inline chart"},
		{
			"file first", "valuesFile: values.yaml, valuesInline: {b: inline, c: inline}, valuesMerge: merge",
			"k-release-name file file inline",
		},
		{"chart first", "valuesInline: {b: inline}, valuesMerge: merge", "k-release-name chart chart chart"},
		{"instead", "valuesFile: values.yaml, valuesInline: {b: inline}, valuesMerge: replace", "k-release-name chart inline chart"},
		{"null", "valuesInline: {b: null}", "k-release-name chart chart chart"},
		{
			"more files", "valuesFile: values.yaml, valuesInline: {b: inline}, additionalValuesFiles: [more.yaml]",
			"k-release-name file more chart",
		},
		{
			"no such merge", "valuesInline: {a: b}, valuesMerge: other",
			"app/kustomization.yaml: helmCharts: web: valuesMerge must be one of [merge override replace]",
		},
		{"file that is not there", "valuesFile: gone.yaml", `app/kustomization.yaml: helmCharts: web: "gone.yaml" is not in the source`},
		{
			"file above", "valuesFile: ../above.yaml",
			`app/kustomization.yaml: helmCharts: web: security; file "above.yaml" is not in or below "app"`,
		},
		{
			"more files above", "additionalValuesFiles: [../above.yaml]",
			`app/kustomization.yaml: helmCharts: web: security; file "above.yaml" is not in or below "app"`,
		},
		{"file outside", "valuesFile: ../../x.yaml", `app/kustomization.yaml: helmCharts: web: "../../x.yaml" is outside of the source`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			docs, err := kustomize(render.Kustomization{Dir: "app", View: tree.Of(files(
				"app/kustomization.yaml", "namePrefix: k-\nhelmCharts: [{name: web, "+tt.chart+"}]\n", "app/values.yaml",
				"a: file\nb: file\n", "app/more.yaml", "b: more\n", "above.yaml", "a: above\n",
				"app/charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n", "app/charts/web/values.yaml",
				"a: chart\nb: chart\nc: chart\n",
				"app/charts/web/templates/cm.yaml",
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {x: {{ .Values.a }} {{ .Values.b }} {{ .Values.c }}}\n"))})
			got := unlined(err)
			if err == nil {
				got = objectNames(docs) + " " + manifest.String(docs[0].Object, "data", "x")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestChartsRefused(t *testing.T) {
	all := files("kustomization.yaml", "helmCharts: [{name: web}]\n", "charts/web/Chart.yaml", chartFile, "charts/web/templates/a.yaml",
		object("a"))
	for want, k := range map[string]render.Kustomization{
		"kustomization.yaml: helmCharts: web: must specify --enable-helm (kustomize.buildOptions in Argo CD's settings)": {View: tree.Of(all), NoHelm: true},
		"kustomization.yaml: helmCharts: web: the chart has no values.yaml, which Kustomize demands":                     {View: tree.Of(all)},
	} {
		if _, err := kustomize(k); unlined(err) != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestMissingChart: what is known about a chart that is not available.
func TestMissingChart(t *testing.T) {
	built, err := render.Build(t.Context(), render.Kustomization{View: tree.Of(files("kustomization.yaml",
		"resources: [a.yaml]\nhelmCharts: [{name: web, repo: https://x, version: '1', namespace: ns, valuesFile: v.yaml, valuesInline: {b: inline}}]\n", "v.yaml", "a: file\nb: file\n", "a.yaml", object("a")))})
	if err != nil || len(built.Missing) != 1 || objectNames(built.Documents) != "a" {
		t.Fatal(built, err)
	}
	var chart *render.MissingChartError
	if !errors.As(built.Missing[0], &chart) {
		t.Fatal(built.Missing)
	}
	if diff := cmp.Diff(map[string]any{"a": "file", "b": "inline"}, chart.Values); diff != "" || chart.Name != "web" ||
		chart.Namespace != "ns" {
		t.Errorf("%s %s (-want +got):\n%s", chart.Name, chart.Namespace, diff)
	}
}
