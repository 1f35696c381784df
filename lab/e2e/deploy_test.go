package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// TestDeploy lets a real API server check what deploy/ has, and runs it as far as a cluster without a kubelet can.
func TestDeploy(t *testing.T) {
	k := newKit(t, "deploy")
	out, err := exec.CommandContext(k.ctx, k.lab.Tools.Path("kustomize"), "build", "../../deploy/kustomize/appset-repo").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	k.must(k.lab.Validate(k.ctx, string(out)))
	root, err := filepath.Abs("../../deploy/kustomize")
	k.must(err)
	overlay := filepath.Join(k.TempDir(), "overlay")
	k.must(os.CopyFS(overlay, os.DirFS(root)))
	k.must(os.WriteFile(filepath.Join(overlay, "kustomization.yaml"),
		[]byte("resources: [appset-repo]\ncomponents: [appset-repo-buckets]\n"), 0o600))
	buckets, err := exec.CommandContext(k.ctx, k.lab.Tools.Path("kustomize"), "build", overlay).CombinedOutput()
	if err != nil || !strings.Contains(string(buckets), "--users=/users/users") {
		t.Fatalf("%v\n%s", err, buckets)
	}
	k.must(k.lab.Validate(k.ctx, string(buckets)))
	if err := k.lab.Validate(k.ctx, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: argocd}\ndatum: {}\n"); err == nil {
		t.Error("an unknown field is valid")
	}
	k.apply(string(out))
	_, err = k.lab.Wait(k.ctx, "Deployment.apps", lab.Namespace, "appset-repo", func(o *unstructured.Unstructured) bool {
		if o == nil {
			return false
		}
		n, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
		return n == 2
	})
	k.must(err)
	// What selects nothing in particular would select all of Argo CD.
	for kind, field := range map[string]string{
		"PodDisruptionBudget.policy": "selector", "Service": "selector",
		"NetworkPolicy.networking.k8s.io": "podSelector",
	} {
		o, err := k.lab.Get(k.ctx, kind, lab.Namespace, "appset-repo")
		k.must(err)
		if o == nil {
			t.Errorf("there is no %s", kind)
			continue
		}
		selector, _, _ := unstructured.NestedMap(o.Object, "spec", field)
		if labels, ok := selector["matchLabels"].(map[string]any); ok {
			selector = labels
		}
		if selector["app.kubernetes.io/name"] != "appset-repo" {
			t.Errorf("%s selects %v", kind, selector)
		}
	}
}
