package e2e

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestInstall adds the plugins to Argo CD's own manifests, in another namespace: nothing is in conflict, nothing of Argo CD's is lost, a second
// time changes nothing, an upgrade of Argo CD keeps them, and they can be taken away again. An apply takes away what its field manager has
// applied before, so Argo CD is there by kubectl apply --server-side, by argosy boot --install, and by somebody else.
func TestInstall(t *testing.T) {
	k := newKit(t, "install")
	stock := k.stock()
	for _, manager := range []string{"kubectl", "argosy", "argocd"} {
		k.installed(manager, "install-"+manager, stock)
	}
	out := k.argosyMay(1, "install", "--kubeconfig", k.lab.Kubeconfig, "--namespace", "install-nowhere", "--image", "argosy:v1", "--apply")
	if out != "" || k.exists("ConfigMap", "install-nowhere", "argocd-cm") {
		t.Errorf("an Argo CD that is not there: %s", out)
	}
}

// stock are objects of Argo CD's own manifests that we add something to.
func (k *kit) stock() []*unstructured.Unstructured {
	objects := k.sidecarManifests()
	deployment, settings := find(objects, "Deployment", "argocd-repo-server"), find(objects, "ConfigMap", "argocd-cm")
	pod, _, _ := unstructured.NestedMap(deployment.Object, "spec", "template", "spec")
	without(pod, "containers", "argosy-")
	without(pod, "volumes", "argosy-")
	k.must(unstructured.SetNestedMap(deployment.Object, pod, "spec", "template", "spec"))
	settings.Object["data"] = map[string]any{"url": "https://argocd.example.com"}
	return []*unstructured.Unstructured{deployment, settings, find(objects, "ServiceAccount", "argocd-repo-server")}
}

// installed adds the plugins to an Argo CD, and takes them away.
func (k *kit) installed(manager, ns string, stock []*unstructured.Unstructured) {
	k.Helper()
	k.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + ns + "}\n")
	apply := func() {
		for _, o := range stock {
			o.SetNamespace(ns)
			text, err := yaml.Marshal(o.Object)
			k.must(err)
			k.must(k.lab.ApplyAs(k.ctx, manager, string(text)))
		}
	}
	get := func(kind, name string) map[string]any {
		o, err := k.lab.Get(k.ctx, kind, ns, name)
		k.must(err)
		out := map[string]any{"spec": o.Object["spec"], "data": o.Object["data"]}
		out["labels"], _, _ = unstructured.NestedFieldNoCopy(o.Object, "metadata", "labels")
		return out
	}
	apply()
	deployment, settings := get("Deployment.apps", "argocd-repo-server"), get("ConfigMap", "argocd-cm")
	args := []string{"install", "--kubeconfig", k.lab.Kubeconfig, "--namespace", ns, "--image", "registry.example.com/argosy:v1"}
	add := append(slices.Clone(args), "--with", "repo,secrets,events", "--apply")
	if out := k.argosy(add...); !strings.Contains(out, "changed   Deployment "+ns+"/argocd-repo-server") {
		k.Errorf("%s: %s", manager, out)
	}
	check := func(when string) {
		k.Helper()
		spec, _ := get("Deployment.apps", "argocd-repo-server")["spec"].(map[string]any)
		pod, _, _ := unstructured.NestedMap(spec, "template", "spec")
		if got := names(pod["containers"]); got != "argocd-repo-server argosy-cmp" {
			k.Errorf("%s, %s: containers %s", manager, when, got)
		}
		now := get("ConfigMap", "argocd-cm")
		if data, _ := now["data"].(map[string]any); len(data) != 2 || data[healthKey] == nil || !reflect.DeepEqual(now["labels"], settings["labels"]) {
			k.Errorf("%s, %s: argocd-cm has %v", manager, when, now)
		}
		if !k.exists("RoleBinding.rbac.authorization.k8s.io", ns, "argosy-cmp-secrets") || !k.exists("Deployment.apps", ns, "argosy-events") {
			k.Errorf("%s, %s: something of ours is not there", manager, when)
		}
	}
	check("added")
	for line := range strings.Lines(k.argosy(add...)) {
		if !strings.HasPrefix(line, "unchanged ") {
			k.Errorf("%s, a second time: %s", manager, line)
		}
	}
	apply()
	check("after Argo CD is applied again")
	// Somebody has changed the policy. Nothing is overwritten, not even in part.
	k.apply(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argosy-policy, namespace: %s}\ndata: {policy.yaml: 'projects: []'}\n", ns))
	newer := append(slices.Clone(add), "--image", "registry.example.com/argosy:v2")
	if out := k.argosyMay(1, newer...); out != "" || strings.Contains(fmt.Sprint(get("Deployment.apps", "appset-repo")), "argosy:v2") {
		k.Errorf("%s: a conflict: %s", manager, out)
	}
	remove := append(slices.Clone(args[:len(args)-2]), "--remove")
	// Under another name the sidecar is not found, and does not start again without its policy. Nothing is removed.
	if out := k.argosyMay(1, append(slices.Clone(remove), "--argocd-name", "other")...); out != "" {
		k.Errorf("%s: under another name: %s", manager, out)
	}
	check("after --remove under another name")
	k.argosy(remove...)
	if now := get("Deployment.apps", "argocd-repo-server"); !reflect.DeepEqual(now, deployment) {
		k.Errorf("%s: the repo-server is not as it was:\n%v\n%v", manager, deployment, now)
	}
	if now := get("ConfigMap", "argocd-cm"); !reflect.DeepEqual(now, settings) {
		k.Errorf("%s: argocd-cm is not as it was:\n%v\n%v", manager, settings, now)
	}
	if k.exists("RoleBinding.rbac.authorization.k8s.io", ns, "argosy-cmp-secrets") || k.exists("ConfigMap", ns, "argosy-policy") {
		k.Errorf("%s: something of ours is left", manager)
	}
	if out := k.argosy(remove...); strings.Contains(out, "deleted") {
		k.Errorf("%s, removed again: %s", manager, out)
	}
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
