package kube_test

import (
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// TestRemove: what Helm or Argo CD deploys stays, and nothing is removed while a Deployment has the sidecar.
func TestRemove(t *testing.T) {
	const maps = "/api/v1/namespaces/argocd/configmaps/"
	answers := map[string]string{
		"/api/v1":    `{"resources": [{"name": "configmaps", "kind": "ConfigMap", "namespaced": true}]}`,
		"/apis/apps": `{"preferredVersion": {"version": "v1"}}`, "/apis/apps/v1": `{"resources": [{"name": "deployments", "kind": "Deployment", "namespaced": true}]}`,
		"/apis/coordination.k8s.io": `{"preferredVersion": {"version": "v1"}}`, "/apis/coordination.k8s.io/v1": `{"resources": [{"name": "leases", "kind": "Lease", "namespaced": true}]}`,
		"/apis/apps/v1/namespaces/argocd/deployments": `{"kind": "DeploymentList", "apiVersion": "apps/v1", "items": []}`,
		maps + "ours":     `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ours", "namespace": "argocd", "uid": "1"}}`,
		maps + "released": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "released", "namespace": "argocd", "uid": "2", "annotations": {"meta.helm.sh/release-name": "argosy"}}}`,
		maps + "deployed": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "deployed", "namespace": "argocd", "uid": "3", "annotations": {"argocd.argoproj.io/tracking-id": "argosy:/ConfigMap:argocd/deployed"}}}`,
	}
	var ours []manifest.Object
	for _, name := range []string{"ours", "released", "deployed", "gone"} {
		ours = append(ours, manifest.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "argocd"}})
	}
	remove := func() (string, error) {
		var told []string
		i := kube.Install{
			Lookup: &kube.Lookup{Client: api(t, answers)}, Ours: ours, Sidecar: "argosy-cmp", Later: "operated",
			Tell: func(result kube.Result, key live.Key) { told = append(told, string(result)+" "+key.Name) },
		}
		err := i.Remove(t.Context())
		return strings.Join(told, ", "), err
	}
	if got, err := remove(); err != nil || got != "left deployed, left released, deleted ours" {
		t.Errorf("%q, %v", got, err)
	}
	sidecar := func(name string) string {
		return `{"kind": "DeploymentList", "apiVersion": "apps/v1", "items": [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "` + name +
			`", "namespace": "argocd"}, "spec": {"template": {"spec": {"containers": [{"name": "argosy-cmp"}]}}}}]}`
	}
	answers["/apis/apps/v1/namespaces/argocd/deployments"] = sidecar("main-repo-server")
	if got, err := remove(); err == nil || got != "" || !strings.HasPrefix(err.Error(), "Deployment argocd/main-repo-server still has the container argosy-cmp") {
		t.Errorf("%q, %v", got, err)
	}
	answers["/apis/apps/v1/namespaces/argocd/deployments"] = sidecar("operated")
	if got, err := remove(); err != nil || got == "" {
		t.Errorf("the operator takes it away: %q, %v", got, err)
	}
}
