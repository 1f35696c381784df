package e2e

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestWhyUnseen: broken Applications that were first asked about when the rules of why were done.
func TestWhyUnseen(t *testing.T) {
	k := newKit(t, "unseen")
	config := k.liveKubeconfig("argosy-why")
	k.apply(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: unseen.example.com}
spec:
  failurePolicy: Fail
  matchConstraints:
    objectSelector: {matchLabels: {unseen: policy}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE, UPDATE]}]
  validations: [{expression: "false", message: not on my watch}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: unseen.example.com}
spec: {policyName: unseen.example.com, validationActions: [Deny]}
`)
	k.inForce(strings.Replace(configMap("c", "1"), "{name:", "{labels: {unseen: policy}, namespace: default, name:", 1))
	k.commit(map[string]string{
		"policy/c.yaml": strings.Replace(configMap("c", "1"), "{name:", "{labels: {unseen: policy}, name:", 1),
		"security/n.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: unseen-security, labels: " +
			"{pod-security.kubernetes.io/enforce: restricted}}\n",
		"security/d.yaml": deployment("d", true),
		"cluster/c.yaml":  configMap("c", "1"),
		"types/s.yaml":    "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {type: ClusterIP, ports: [{port: 99999}]}\n",
		"balancer/s.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n",
	})
	for _, name := range []string{"policy", "security", "cluster", "types", "balancer"} {
		manifest := k.app(app{name: "unseen-" + name, path: name, namespace: "unseen-" + name})
		if name == "cluster" {
			manifest = strings.Replace(manifest, `server: "https://kubernetes.default.svc"`, "name: far", 1)
		}
		k.apply(manifest)
	}
	k.apply(fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: unseen-set, namespace: argocd}
spec:
  generators: [{git: {repoURL: %q, revision: nowhere, directories: [{path: "*"}]}}]
  template:
    metadata: {name: "x-{{path.basename}}"}
    spec: {project: default, source: {repoURL: %[1]q, path: "{{path}}"}, destination: {name: in-cluster}}
`, k.repo.URL))
	k.finished("unseen-policy")
	k.whyIs(config, "unseen-policy", "webhook", "not on my watch")
	progressing(k, "unseen-security")
	k.whyIs(config, "unseen-security", "pod-security", "restricted")
	k.wait("unseen-cluster", func(o *unstructured.Unstructured) bool {
		return hasCondition(o, "InvalidSpecError") || hasCondition(o, "ComparisonError")
	})
	k.whyIs(config, "unseen-cluster", "destination", "cluster")
	k.finished("unseen-types")
	k.whyIs(config, "unseen-types", "invalid-manifest", "Service unseen-types/s")
	progressing(k, "unseen-balancer")
	k.whyIs(config, "unseen-balancer", "unhealthy-object", "has no address")
	_, err := k.lab.Wait(k.ctx, "ApplicationSet.argoproj.io", "argocd", "unseen-set", func(o *unstructured.Unstructured) bool {
		return o != nil && hasCondition(o, "ErrorOccurred")
	})
	k.must(err)
	out := k.argosyMay(3, "why", "--kubeconfig", config, "-o", "json")
	if !strings.Contains(out, `"kind": "applicationset"`) && !strings.Contains(out, `"kind": "repository"`) {
		t.Error(out)
	}
}
