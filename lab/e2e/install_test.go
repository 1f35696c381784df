package e2e

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestInstall adds what argosy install prints to Argo CD's own manifests, in another namespace, by server-side apply: nothing is in
// conflict, nothing of Argo CD's is lost, a second time changes nothing, and it can be taken away again.
func TestInstall(t *testing.T) {
	k := newKit(t, "install")
	const ns = "install-gitops"
	k.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + ns + "}\n")
	objects := k.sidecarManifests()
	stock := map[string]*unstructured.Unstructured{}
	for kind, name := range map[string]string{"Deployment": "argocd-repo-server", "ConfigMap": "argocd-cm", "ServiceAccount": "argocd-repo-server"} {
		o := find(objects, kind, name)
		o.SetNamespace(ns)
		switch kind {
		case "Deployment":
			pod, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
			without(pod, "containers", "argosy-")
			without(pod, "volumes", "argosy-")
			k.must(unstructured.SetNestedMap(o.Object, pod, "spec", "template", "spec"))
		case "ConfigMap":
			o.Object["data"] = map[string]any{"url": "https://argocd.example.com"}
		}
		text, err := yaml.Marshal(o.Object)
		k.must(err)
		k.must(k.lab.ApplyAs(k.ctx, "argocd", string(text)))
		stock[kind], err = k.lab.Get(k.ctx, kindIn(kind), ns, name)
		k.must(err)
	}
	additions := k.argosy("install", "--namespace", ns, "--image", "registry.example.com/argosy:v1", "--with", "repo,secrets,events")
	_, additions, _ = strings.Cut(additions, "---\n")
	k.must(k.lab.ApplyAs(k.ctx, "kubectl", additions))
	deployment, err := k.lab.Get(k.ctx, "Deployment.apps", ns, "argocd-repo-server")
	k.must(err)
	pod, _, _ := unstructured.NestedMap(deployment.Object, "spec", "template", "spec")
	if got := names(pod["containers"]); got != "argocd-repo-server argosy-cmp" {
		t.Errorf("containers %s", got)
	}
	settings, err := k.lab.Get(k.ctx, "ConfigMap", ns, "argocd-cm")
	k.must(err)
	if data := settings.Object["data"].(map[string]any); len(data) != 2 || data[healthKey] == nil {
		t.Errorf("argocd-cm has %v", data)
	}
	for kind, name := range map[string]string{"RoleBinding.rbac.authorization.k8s.io": "argosy-cmp-secrets", "Deployment.apps": "argosy-events"} {
		o, err := k.lab.Get(k.ctx, kind, ns, name)
		k.must(err)
		if o == nil {
			t.Errorf("there is no %s", name)
		}
	}

	k.must(k.lab.ApplyAs(k.ctx, "kubectl", additions))
	again, err := k.lab.Get(k.ctx, "Deployment.apps", ns, "argocd-repo-server")
	k.must(err)
	if again.GetGeneration() != deployment.GetGeneration() {
		t.Error("a second time changes it")
	}

	// What docs/install.md says to take it away: the same manager, without fields.
	k.must(k.lab.ApplyAs(k.ctx, "kubectl",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: argocd-repo-server, namespace: "+ns+"}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: "+ns+"}\n"))
	for kind, before := range stock {
		after, err := k.lab.Get(k.ctx, kindIn(kind), ns, before.GetName())
		k.must(err)
		for _, part := range []string{"spec", "data"} {
			if !reflect.DeepEqual(before.Object[part], after.Object[part]) {
				t.Errorf("%s is not as it was:\n%v\n%v", kind, before.Object[part], after.Object[part])
			}
		}
	}
}

func kindIn(kind string) string {
	if kind == "Deployment" {
		return "Deployment.apps"
	}
	return kind
}

func names(list any) string {
	var out []string
	for _, e := range list.([]any) {
		out = append(out, e.(map[string]any)["name"].(string))
	}
	return strings.Join(out, " ")
}

// without removes the elements of a list whose names begin with a prefix.
func without(pod map[string]any, list, prefix string) {
	var out []any
	for _, e := range pod[list].([]any) {
		if !strings.HasPrefix(e.(map[string]any)["name"].(string), prefix) {
			out = append(out, e)
		}
	}
	pod[list] = out
}
