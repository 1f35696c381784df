package e2e

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// terminating is a namespace that cannot go.
	terminating = `apiVersion: v1
kind: Namespace
metadata: {name: holdout-terminating}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, namespace: holdout-terminating, finalizers: [example.com/keep]}
`
	// lateJob is a hook that fails after two seconds.
	lateJob = `apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync}}
spec:
  activeDeadlineSeconds: 2
  template:
    spec:
      nodeSelector: {lab.example.com/none: "true"}
      restartPolicy: Never
      containers: [{name: main, image: registry.example.com/pause:1}]
`
)

// TestWhyHoldout: more broken clusters, chosen without knowledge of the rules of why. When they were first asked about, the first cause was
// true for all seven; one sentence was wrong (a failed hook had "not ended"), and one did not name the object.
func TestWhyHoldout(t *testing.T) {
	k := newKit(t, "holdout")
	config := k.liveKubeconfig("argosy-why")
	k.apply(terminating)
	k.must(k.lab.Delete(k.ctx, "Namespace", "", "holdout-terminating"))
	t.Cleanup(func() {
		_ = k.lab.Patch(k.ctx, "ConfigMap", "holdout-terminating", "kept", `{"metadata": {"finalizers": null}}`)
	})
	k.commit(map[string]string{
		"toolong/c.yaml":     configMap("c", strings.Repeat("too long ", 30_000)),
		"terminating/c.yaml": configMap("c", "1"),
		"job/j.yaml":         lateJob, "job/c.yaml": configMap("c", "1"),
		"edited/c.yaml":   configMap("c", "1"),
		"priority/d.yaml": strings.Replace(deployment("d", true), "nodeSelector: {}", "priorityClassName: holdout-high", 1),
		"owner/c.yaml":    inNamespace(configMap("shared", "1"), "holdout-shared"), "shared/c.yaml": configMap("shared", "2"),
		"unserved/c.yaml": configMap("c", "1"),
	})
	k.apply(k.app(app{name: "holdout-owner", path: "owner", namespace: "holdout-shared"}))
	k.await("Application", "holdout-owner", "health Healthy")
	for _, name := range []string{"toolong", "terminating", "job", "edited", "priority", "shared"} {
		manifest := k.app(app{name: "holdout-" + name, path: name, namespace: "holdout-" + name})
		switch name {
		case "edited":
			manifest = strings.Replace(manifest, ", selfHeal: true", "", 1)
		case "shared":
			manifest = strings.Replace(manifest, "CreateNamespace=true", "CreateNamespace=true, FailOnSharedResource=true", 1)
		}
		k.apply(manifest)
	}
	k.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: holdout-elsewhere}\n", strings.Replace(
		k.app(app{name: "holdout-unserved", path: "unserved"}), "namespace: argocd\n", "namespace: holdout-elsewhere\n", 1))

	k.finished("holdout-toolong")
	k.whyIs(config, "holdout-toolong", "too-large", "ConfigMap holdout-toolong/c")
	k.finished("holdout-terminating")
	k.whyIs(config, "holdout-terminating", "finalizer", "its namespace is being deleted")
	k.finished("holdout-job")
	k.whyIs(config, "holdout-job", "hook", "the PreSync hook Job holdout-job/migrate failed")
	k.await("Application", "holdout-edited", "sync Synced")
	k.must(k.lab.Patch(k.ctx, "ConfigMap", "holdout-edited", "c", `{"data": {"value": "by hand"}}`))
	k.wait("holdout-edited", func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "OutOfSync" })
	r := k.whyIs(config, "holdout-edited", "same-revision", "without selfHeal")
	if len(r.Causes) > 0 && r.Causes[0].Detail != "OutOfSync: ConfigMap holdout-edited/c" {
		t.Errorf("what was edited is not named: %+v", r.Causes[0])
	}
	progressing(k, "holdout-priority")
	k.whyIs(config, "holdout-priority", "missing-config", "PriorityClass holdout-high does not exist")
	k.finished("holdout-shared")
	k.whyIs(config, "holdout-shared", "shared-object", "holdout-owner")
	_, err := k.lab.Wait(k.ctx, application, "holdout-elsewhere", "holdout-unserved", func(o *unstructured.Unstructured) bool { return o != nil })
	k.must(err)
	k.whyIs(config, "holdout-elsewhere/holdout-unserved", "not-reconciled", "holdout-elsewhere/holdout-unserved")
}
