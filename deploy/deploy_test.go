package deploy_test

import (
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/deploy"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// files reads all files below a directory, and others.
func files(t *testing.T, fsys fs.FS, more ...tree.File) []tree.File {
	t.Helper()
	all := more
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		all = append(all, tree.File{Name: name, Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tree.Sort(all)
	return all
}

func named(documents []manifest.Document) map[string]manifest.Object {
	out := map[string]manifest.Object{}
	for _, o := range manifest.Objects(documents) {
		out[manifest.Name(o)] = o
	}
	return out
}

// chart renders the chart argosy with values.
func chart(t *testing.T, values string) map[string]manifest.Object {
	t.Helper()
	var v map[string]any
	if err := manifest.Unmarshal([]byte(values), &v); err != nil {
		t.Fatal(err)
	}
	rendered, err := render.Helm(t.Context(), files(t, os.DirFS("chart/argosy")), render.Options{
		Chart: render.Chart{ReleaseName: "argosy", Namespace: "argocd", Values: v}, KubeVersion: "1.33.0",
	})
	if err != nil {
		t.Fatal(err)
	}
	return named(rendered.Documents)
}

const metricsPolicy = "networkpolicy.networking.k8s.io/argosy-cmp-metrics"

// TestMonitoring: Prometheus is admitted to the port that the sidecar has, by the chart as by Kustomize. That is never done unasked: the policy
// cuts off a repo-server that no other policy selects.
func TestMonitoring(t *testing.T) {
	const kustomization = `
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: argocd
resources: [argocd.yaml]
components: [kustomize/cmp, kustomize/monitoring]
`
	const argocd = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: argocd-repo-server}
spec: {template: {spec: {containers: []}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
`
	all := files(t, deploy.Files, tree.File{Name: "kustomization.yaml", Data: []byte(kustomization)}, tree.File{Name: "argocd.yaml", Data: []byte(argocd)})
	built, err := render.Build(t.Context(), render.Kustomization{View: tree.Of(all)})
	if err != nil || len(built.Missing) > 0 {
		t.Fatal(err, built.Missing)
	}
	objects := named(built.Documents)
	want := objects[metricsPolicy]
	if want == nil {
		t.Fatal("Kustomize has no policy")
	}
	if diff := cmp.Diff(want, chart(t, "monitoring: {networkPolicy: true}")[metricsPolicy]); diff != "" {
		t.Errorf("(-kustomize +chart):\n%s", diff)
	}
	other := chart(t, "{argocd: {name: main}, monitoring: {networkPolicy: true}}")[metricsPolicy]
	if got := manifest.Map(other, "spec", "podSelector", "matchLabels")["app.kubernetes.io/name"]; got != "main-repo-server" {
		t.Errorf("the policy is about %v", got)
	}
	if chart(t, "monitoring: {enabled: true, rules: true, dashboard: true}")[metricsPolicy] != nil {
		t.Error("the policy is there unasked")
	}
	port := manifest.Map(want, "spec")["ingress"].([]any)[0].(map[string]any)["ports"].([]any)[0].(map[string]any)["port"]
	sidecar := manifest.Map(objects["deployment.apps/argocd-repo-server"], "spec", "template", "spec")["containers"].([]any)[0].(map[string]any)
	if has := sidecar["ports"].([]any)[0].(map[string]any)["name"]; port != has {
		t.Errorf("the policy admits port %v, and the sidecar has %v", port, has)
	}
}
