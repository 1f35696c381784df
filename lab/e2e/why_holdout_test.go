package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
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

// TestWhyHoldout: more broken clusters that were chosen without knowledge of the rules of why.
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
	k.names(config, "holdout-toolong", "ConfigMap holdout-toolong/c", "ServerSideApply=true")
	k.finished("holdout-terminating")
	k.names(config, "holdout-terminating", "namespace holdout-terminating", "being deleted")
	k.finished("holdout-job")
	k.names(config, "holdout-job", "Job holdout-job/migrate", "DeadlineExceeded")
	k.await("Application", "holdout-edited", "sync Synced")
	k.must(k.lab.Patch(k.ctx, "ConfigMap", "holdout-edited", "c", `{"data": {"value": "by hand"}}`))
	k.wait("holdout-edited", func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "OutOfSync" })
	k.names(config, "holdout-edited", "ConfigMap holdout-edited/c", "self")
	progressing(k, "holdout-priority")
	k.names(config, "holdout-priority", "Deployment holdout-priority/d", "holdout-high")
	k.finished("holdout-shared")
	k.names(config, "holdout-shared", "ConfigMap holdout-shared/shared", "holdout-owner")
	_, err := k.lab.Wait(k.ctx, application, "holdout-elsewhere", "holdout-unserved", func(o *unstructured.Unstructured) bool { return o != nil })
	k.must(err)
	k.names(config, "holdout-elsewhere/holdout-unserved", "holdout-elsewhere", "")
	_ = lab.Namespace
}

// names wants texts in the first cause, anywhere.
func (k *kit) names(kubeconfig, app string, texts ...string) {
	k.Helper()
	out := k.argosyMay(3, "why", app, "--kubeconfig", kubeconfig, "-o", "json")
	var r struct{ Causes []json.RawMessage }
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		k.Fatalf("%v\n%s", err, out)
	}
	k.Logf("why %s:\n%s", app, out)
	for _, t := range texts {
		if len(r.Causes) == 0 || !strings.Contains(string(r.Causes[0]), t) {
			k.Errorf("why %s: the first cause does not name %q", app, t)
		}
	}
}
