package render_test

import (
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/render"
)

// TestRemoteSchema: a schema that refers to another one, which helm fetches, is not checked, with a warning; where it is ours to be strict,
// it is refused.
func TestRemoteSchema(t *testing.T) {
	chart := files("Chart.yaml", chartFile, "values.schema.json", `{"properties": {"a": {"$ref": "https://schemas.example.com/a.json"}}}`,
		"templates/a.yaml", object("a"))
	r, err := render.Helm(t.Context(), chart, render.Options{Lenient: true, Chart: render.Chart{ReleaseName: "r", Namespace: "n"}})
	if err != nil || len(r.Documents) != 1 || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0].Error(), "https://schemas.example.com/a.json, which is not fetched") {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := render.Helm(t.Context(), chart, render.Options{Chart: render.Chart{ReleaseName: "r", Namespace: "n"}}); err == nil {
		t.Error("it is not refused")
	}
}
