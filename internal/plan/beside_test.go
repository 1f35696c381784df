package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBeside: manifests that no Kustomization lists, and Components that are deployed by themselves.
func TestBeside(t *testing.T) {
	const cm = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n"
	p := planOf(t, Config{}, memory{
		"root/kustomization.yaml":      "kind: Component\nresources: [a.yaml, ../base]\n# - off.yaml\n",
		"root/a.yaml":                  cm,
		"root/b.yaml":                  cm,
		"root/off.yaml":                cm,
		"root/values.yaml":             "a: b\n",
		"root/app.yaml":                "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: x}}\n",
		"root/broken.yaml":             "{{ if }}\n",
		"root/.hidden.yaml":            cm,
		"root/notes.txt":               cm,
		"root/below/c.yaml":            cm,
		"base/kustomization.yaml":      "resources: [c.yaml]\n",
		"base/c.yaml":                  "{apiVersion: v1, kind: ConfigMap, metadata: {name: y}}\n",
		"base/d.yml":                   cm,
		"elsewhere/kustomization.yaml": "resources: []\n",
		"elsewhere/e.yaml":             cm,
	})
	s := p.Root.Sources[0]
	if diff := cmp.Diff([]string{"base/d.yml", "root/b.yaml"}, s.Unlisted); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !s.Component {
		t.Error("it is a Component")
	}
}
