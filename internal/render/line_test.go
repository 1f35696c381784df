package render_test

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// TestKustomizeLines: an error about an entry has the line of the entry, or that of its field, or none.
func TestKustomizeLines(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		line int
	}{
		"entry":               {"# not b.yaml\nresources:\n- a.yaml\n# - b.yaml\n- b.yaml # twice\n", 5},
		"in brackets":         {"namespace: x\nresources: [a.yaml, b.yaml]\n", 2},
		"not indented":        {"resources:\n  - a.yaml\n  - 'b.yaml'\npatches: []\n", 3},
		"of another field":    {"configMapGenerator:\n- files: [a.yaml]\n  name: b.yaml\nresources:\n- b.yaml\n", 5},
		"key with quotes":     {"\"resources\":\n- b.yaml\n", 2},
		"JSON":                {"{\n  \"resources\": [\"b.yaml\"]\n}\n", 0},
		"entry is written so": {"resources:\n- \"b\\x2eyaml\"\n", 1},
		"patch":               {"patches:\n- path: b.yaml\n", 2},
		"files":               {"configMapGenerator:\n- name: x\n  files:\n  - b.yaml\n", 4},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render.Build(t.Context(), render.Kustomization{View: tree.Of(files("kustomization.yaml", tt.text, "a.yaml", object("a")))})
			got, ok := manifest.PositionOf(err)
			if want := (manifest.Position{File: "kustomization.yaml", Line: tt.line}); !ok || got != want {
				t.Errorf("got %v, want %v: %v", got, want, err)
			}
		})
	}
}
