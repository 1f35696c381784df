package lint

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

// TestShared: Argo CD's own cluster is one cluster under all of its names.
func TestShared(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"in-cluster", argo.InClusterServer, 1},
		{"home", argo.InClusterServer, 1},
		{"home", "in-cluster", 1},
		{"far", "https://far.example.com", 1},
		{"home", "far", 0},
		{"other", "in-cluster", 0},
	} {
		p := &pass{Plan: planned(), rule: ruleSharedObject}
		p.Clusters = generator.ClusterList{{Name: "home", Server: argo.InClusterServer}, {Name: "far", Server: "https://far.example.com"}}
		root := &plan.Application{Ref: argo.Ref{Name: "root"}, Object: manifest.Object{}}
		p.Applications, p.Root.Items = append(p.Applications, root), []*plan.Item{{Application: root}}
		for i, cluster := range []string{c.a, c.b} {
			app := &plan.Application{
				Ref: argo.Ref{Name: []string{"a", "b"}[i]}, Object: manifest.Object{}, Destination: plan.Destination{Cluster: cluster, Namespace: "x"},
				Items: []*plan.Item{{Kind: "ConfigMap", Name: "same"}},
			}
			p.Applications, root.Items = append(p.Applications, app), append(root.Items, &plan.Item{Application: app})
		}
		if ruleSharedObject.check(p); len(p.found) != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, p.found)
		}
	}
}
