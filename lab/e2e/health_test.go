package e2e

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// TestHealthScript runs our health check of Applications in real Argo CD. A stale status.health (TestStaleHealthy) does not fool
// it: a child whose spec has just changed does not let the next wave through. And a child that may not sync now does not
// hold it up.
func TestHealthScript(t *testing.T) {
	k := newKit(t, "script", ourCheck(t))
	// The child's new manifests take longer than Argo CD's pause of 2 s between waves.
	k.plugin("script", "sleep 8; cat *.yaml")
	k.project("script")
	windowed := func(a app) string { return strings.Replace(k.app(a), "project: default", "project: script", 1) }
	k.commit(map[string]string{
		"a/d.yaml": deployment("a", true), "bad/d.yaml": deployment("bad", false), "b/d.yaml": deployment("b", true),
		"w/cm.yaml":   configMap("w", "1"),
		"root/a.yaml": k.app(app{name: "script-a", path: "a", wave: "0"}),
		"root/w.yaml": windowed(app{name: "script-w", path: "w", wave: "0"}),
		"root/b.yaml": k.app(app{name: "script-b", path: "b", wave: "1"}),
	})
	root := k.root()
	k.await("Application", "script-b", "health Healthy")
	k.healthyBefore("script-a", "script-b")
	k.await("Application", root, "health Healthy")

	// A new spec, of which the child does not know yet.
	k.commit(map[string]string{
		"root/a.yaml": k.app(app{name: "script-a", path: "bad", wave: "0", plugin: "script"}),
		"root/c.yaml": k.app(app{name: "script-c", path: "b", wave: "1", namespace: "script-c"}),
	})
	k.waitsFor(root, "script-a")
	progressing := k.await("Application", "script-a", "health Progressing")
	if k.exists(application, lab.Namespace, "script-c") {
		t.Fatal("the next wave was let through by a stale Healthy")
	}
	k.commit(map[string]string{"bad/d.yaml": deployment("bad", true)})
	healthy := k.awaitAfter(progressing, "Application", "script-a", "health Healthy")
	if created := k.await("Application", "script-c", "created"); created.Revision < healthy.Revision {
		t.Error("script-c was created before script-a was healthy")
	}
	k.await("Application", root, "health Healthy")

	// Out of sync, in a window that allows no sync.
	k.must(k.lab.Patch(k.ctx, "AppProject.argoproj.io", lab.Namespace, "script",
		`{"spec": {"syncWindows": [{"kind": "deny", "schedule": "* * * * *", "duration": "24h", "applications": ["*"]}]}}`))
	k.commit(map[string]string{
		"w/cm.yaml":   configMap("w", "2"),
		"root/w.yaml": strings.Replace(windowed(app{name: "script-w", path: "w", wave: "0"}), "path: \"w\"", "path: \"./w\"", 1),
		"root/d.yaml": k.app(app{name: "script-d", path: "b", wave: "1", namespace: "script-d"}),
	})
	k.await("Application", "script-d", "created")
	o := k.wait("script-w", func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "OutOfSync" })
	if text(o, "status", "health", "status") != "Healthy" {
		t.Errorf("script-w is %s", text(o, "status", "health", "status"))
	}
}
