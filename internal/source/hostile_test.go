package source_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

// TestHostile has sources that take all memory where only single files are bounded.
func TestHostile(t *testing.T) {
	rep := strings.Repeat
	aliased := "a: &a " + rep("x", 100_000) + "\nb: [" + rep("*a,", 100_000) + "]\n"
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		files func() []tree.File
		spec  map[string]any
		want  string
	}{
		"aliases": {files: func() []tree.File {
			return []tree.File{{Name: "a.yaml", Data: []byte(object + aliased)}}
		}, want: "a.yaml: with its aliases replaced"},
		"many files of many values": {files: func() []tree.File {
			var out []tree.File
			for i := range 5 {
				out = append(out, tree.File{Name: fmt.Sprintf("%d.yaml", i), Data: []byte(object + "x: [" + rep("a,", 400_000) + "]\n")})
			}
			return out
		}, want: "all manifests together are over the limit of 3000000 values"},
		"many files": {files: func() []tree.File {
			var out []tree.File
			for i := range 20 {
				out = append(out, tree.File{Name: fmt.Sprintf("%d.yaml", i), Data: []byte(object + "x: " + rep("a", 10<<20) + "\n")})
			}
			return out
		}, want: "all manifests together are over the limit"},
		"aliases in the source's own file": {files: func() []tree.File {
			return []tree.File{{Name: "a.yaml", Data: []byte(object)}, {Name: ".argocd-source.yaml", Data: []byte(aliased)}}
		}, want: ".argocd-source.yaml: with its aliases replaced"},
		"aliases in values": {files: func() []tree.File {
			return []tree.File{{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n")}}
		}, spec: map[string]any{"helm": map[string]any{"values": aliased}}, want: "helm.values is not YAML: with its aliases replaced"},
		"a release name": {files: func() []tree.File {
			return []tree.File{{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n")}}
		}, spec: map[string]any{"helm": map[string]any{"releaseName": `{{ repeat 500000000 "x" }}`}}, want: "repeat would give more"},
	} {
		t.Run(name, func(t *testing.T) {
			hostile.Refused(t, c.want, func() error {
				spec := map[string]any{"path": "."}
				for k, v := range c.spec {
					spec[k] = v
				}
				return source.Render(context.Background(), source.Request{
					Repository: source.Repository{View: tree.Of(c.files())},
					Spec:       spec,
				}).Err()
			})
		})
	}
}
