package e2e

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// healthyBefore checks that an Application was healthy before another one existed.
func (k *kit) healthyBefore(first, second string) {
	k.Helper()
	if !k.journal.Before(lab.Entry{Kind: "Application", Name: first, What: "health Healthy"},
		lab.Entry{Kind: "Application", Name: second, What: "created"}) {
		k.Errorf("%s was created before %s was healthy", second, first)
	}
}

// waitsFor waits until an Application's sync waits for the health of a child.
func (k *kit) waitsFor(root, child string) {
	k.Helper()
	k.wait(root, func(o *unstructured.Unstructured) bool {
		return strings.Contains(text(o, "status", "operationState", "message"),
			"waiting for healthy state of argoproj.io/Application/"+child)
	})
}

// TestWavesWait: with a health check for Applications that copies status.health, an Application of wave 1 is created when those of wave 0
// are healthy.
func TestWavesWait(t *testing.T) {
	k := newKit(t, "waves")
	k.commit(map[string]string{
		"a/d.yaml": deployment("a", true), "b/d.yaml": deployment("b", true), "c/d.yaml": deployment("c", true),
		"root/a.yaml": k.app(app{name: "waves-a", path: "a", wave: "0"}),
		"root/b.yaml": k.app(app{name: "waves-b", path: "b", wave: "1"}),
		"root/c.yaml": k.app(app{name: "waves-c", path: "c", wave: "2"}),
	})
	root := k.root()
	k.await("Application", "waves-c", "health Healthy")
	k.healthyBefore("waves-a", "waves-b")
	k.healthyBefore("waves-b", "waves-c")
	k.await("Application", root, "health Healthy")
}

// TestWavesWithoutHealthCheck: without it nothing waits, because Argo CD has no built-in health check for Applications since 1.8.
func TestWavesWithoutHealthCheck(t *testing.T) {
	k := newKit(t, "nolua", map[string]string{healthKey: ""})
	k.commit(map[string]string{
		"a/d.yaml": deployment("a", false), "b/d.yaml": deployment("b", true),
		"root/a.yaml": k.app(app{name: "nolua-a", path: "a", wave: "0"}),
		"root/b.yaml": k.app(app{name: "nolua-b", path: "b", wave: "1"}),
	})
	root := k.root()
	k.await("Application", "nolua-b", "health Healthy")
	k.await("Application", root, "health Healthy")
	if _, ok := k.journal.First("Application", "nolua-a", "health Healthy", 0); ok {
		t.Error("nolua-a must not be healthy, or this shows nothing")
	}
}

// set is an ApplicationSet with one Application.
func (k *kit) set(name, wave string, child app) string {
	return `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: ` + name + `
  namespace: argocd
  annotations: {argocd.argoproj.io/sync-wave: "` + wave + `"}
spec:
  generators: [{list: {elements: [{name: "` + child.name + `"}]}}]
  template:
    metadata: {name: '{{name}}'}
    spec:
      project: default
      source: {repoURL: ` + k.repo.URL + `, targetRevision: main, path: "` + child.path + `"}
      destination: {server: https://kubernetes.default.svc, namespace: ` + k.name + `}
      syncPolicy: {automated: {}, syncOptions: [CreateNamespace=true, Validate=false]}
`
}

// TestGap is why this project exists. A wave of ApplicationSets does not wait for their Applications: the set is healthy
// when they exist, because its health comes from its own conditions only.
func TestGap(t *testing.T) {
	k := newKit(t, "gap")
	k.commit(map[string]string{
		"x/d.yaml": deployment("x", false), "y/d.yaml": deployment("y", true),
		"root/set.yaml": k.set("gap-set", "1", app{name: "gap-x", path: "x"}),
		"root/y.yaml":   k.app(app{name: "gap-y", path: "y", wave: "2"}),
	})
	root := k.root()
	k.await("Application", "gap-y", "health Healthy")
	k.await("Application", root, "health Healthy")
	if !k.journal.Before(lab.Entry{Kind: "Application", Name: "gap-x", What: "created"},
		lab.Entry{Kind: "Application", Name: "gap-y", What: "created"}) {
		t.Error("gap-x must be there before gap-y, or this shows nothing")
	}
	if _, ok := k.journal.First("Application", "gap-x", "health Healthy", 0); ok {
		t.Error("gap-x must not be healthy, or this shows nothing")
	}
}

// TestGapClosedByNesting: the same with an Application in the place of the set. Wave 2 is not created until the child is
// repaired, and follows then by itself. With our health check: one that copies status.health calls the nested Application healthy as long
// as its child does not exist, which takes long on a busy machine.
func TestGapClosedByNesting(t *testing.T) {
	k := newKit(t, "nested", ourCheck(t))
	k.commit(map[string]string{
		"x/d.yaml": deployment("x", false), "y/d.yaml": deployment("y", true),
		"set/x.yaml":       k.app(app{name: "nested-x", path: "x"}),
		"root/nested.yaml": k.app(app{name: "nested-set", path: "set", wave: "1", namespace: lab.Namespace}),
		"root/y.yaml":      k.app(app{name: "nested-y", path: "y", wave: "2"}),
	})
	root := k.root()
	k.await("Application", "nested-x", "health Progressing")
	k.waitsFor(root, "nested-set")
	if k.exists(application, lab.Namespace, "nested-y") {
		t.Fatal("wave 2 was created")
	}
	k.commit(map[string]string{"x/d.yaml": deployment("x", true)})
	k.await("Application", "nested-y", "health Healthy")
	k.healthyBefore("nested-x", "nested-y")
	k.healthyBefore("nested-set", "nested-y")
}

// TestWaveRules shows the rules of waves on one application: kinds without a health check pass at once, waves are in order, the last
// wave is not awaited, a wave with leading zeros is decimal, and one that is not a number is 0.
func TestWaveRules(t *testing.T) {
	k := newKit(t, "rules")
	wave := func(manifest, wave string) string {
		return strings.Replace(manifest, "metadata: {name:", `metadata: {annotations: {argocd.argoproj.io/sync-wave: "`+wave+`"}, name:`, 1)
	}
	k.commit(map[string]string{
		"app/a.yaml": wave(configMap("rules-first", "1"), "-1"),
		"app/b.yaml": wave(configMap("rules-word", "1"), "soon"),
		"app/c.yaml": wave(deployment("rules-second", true), "1"),
		"app/d.yaml": wave(configMap("rules-third", "1"), "08"),
		"app/e.yaml": wave(configMap("rules-fourth", "1"), "9"),
		"app/f.yaml": wave(deployment("rules-last", false), "10"),
	})
	k.apply(k.app(app{name: "rules", path: "app"}))
	done := k.await("Application", "rules", "operation Succeeded")
	k.await("Application", "rules", "health Progressing")
	order := []lab.Entry{
		{Kind: "ConfigMap", Name: "rules-first", What: "created"},
		{Kind: "ConfigMap", Name: "rules-word", What: "created"},
		{Kind: "Deployment", Name: "rules-second", What: "created"},
		{Kind: "Deployment", Name: "rules-second", What: "available"},
		{Kind: "ConfigMap", Name: "rules-third", What: "created"},
		{Kind: "ConfigMap", Name: "rules-fourth", What: "created"},
		{Kind: "Deployment", Name: "rules-last", What: "created"},
	}
	for i := 1; i < len(order); i++ {
		if !k.journal.Before(order[i-1], order[i]) {
			t.Errorf("%s of %s did not come before %s of %s", order[i-1].What, order[i-1].Name, order[i].What, order[i].Name)
		}
	}
	if _, ok := k.journal.First("Deployment", "rules-last", "available", 0); ok {
		t.Error("the last wave must not be available, or this shows nothing")
	}
	if last, _ := k.journal.First("Deployment", "rules-last", "created", 0); last.Revision > done.Revision {
		t.Error("the sync succeeded before its last wave was created")
	}
}

// TestStaleHealthy: a health check that copies status.health reads a stale Healthy as long as Argo CD has not compared the new spec of the
// child. An update then lets the next wave through although the child is about to become unhealthy.
func TestStaleHealthy(t *testing.T) {
	k := newKit(t, "stale")
	// The child's new manifests take longer than Argo CD's pause of 2 s between waves.
	k.plugin("stale", "sleep 8; cat *.yaml")
	k.commit(map[string]string{
		"a/d.yaml": deployment("a", true), "bad/d.yaml": deployment("bad", false), "b/d.yaml": deployment("b", true),
		"root/a.yaml": k.app(app{name: "stale-a", path: "a", wave: "0"}),
	})
	k.root()
	healthy := k.await("Application", "stale-a", "health Healthy")
	k.commit(map[string]string{
		"root/a.yaml": k.app(app{name: "stale-a", path: "bad", wave: "0", plugin: "stale"}),
		"root/b.yaml": k.app(app{name: "stale-b", path: "b", wave: "1"}),
	})
	created := k.await("Application", "stale-b", "created")
	degraded := k.awaitAfter(healthy, "Application", "stale-a", "health Progressing")
	if degraded.Revision < created.Revision {
		t.Error("stale-b waited for the new state of stale-a: a copied status.health is not stale")
	}
}

// TestBrokenChild: an Application whose manifests cannot be made is Healthy to Argo CD, so a health check that copies status.health lets
// the next wave through. Ours does not, until it is mended. That is how argosy simulate has it.
func TestBrokenChild(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]map[string]string{"copying": nil, "ours": ourCheck(t)} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, "broken"+name, check)
			a, b := "broken"+name+"-a", "broken"+name+"-b"
			k.commit(map[string]string{
				"a/cm.yaml": configMap("a", "1"), "a/broken.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n",
				"b/cm.yaml":   configMap("b", "1"),
				"root/a.yaml": k.app(app{name: a, path: "a", wave: "0"}),
				"root/b.yaml": k.app(app{name: b, path: "b", wave: "1"}),
			})
			root := k.root()
			k.await("Application", a, "created")
			// Argo CD says nothing about it for three minutes, unless it is asked like this.
			k.refresh(a, "hard")
			k.wait(a, func(o *unstructured.Unstructured) bool {
				return text(o, "status", "sync", "status") == "Unknown" && text(o, "status", "health", "status") == "Healthy"
			})
			if check == nil {
				k.await("Application", b, "created")
				return
			}
			k.waitsFor(root, a)
			if k.exists(application, lab.Namespace, b) {
				t.Error("the next wave was let through")
			}
			k.commit(map[string]string{"a/broken.yaml": configMap("more", "1")})
			k.await("Application", b, "health Healthy")
		})
	}
}

// TestMissingChildDoesNotCount: an Application that has not been synced is Missing, and its parent is Healthy all the same.
func TestMissingChildDoesNotCount(t *testing.T) {
	k := newKit(t, "missing")
	k.commit(map[string]string{
		"a/d.yaml":    deployment("a", true),
		"root/a.yaml": k.app(app{name: "missing-a", path: "a", policy: "{syncOptions: [CreateNamespace=true, Validate=false]}"}),
	})
	root := k.root()
	missing := k.await("Application", "missing-a", "health Missing")
	// The root looks at its children again, and finds one that is missing.
	k.refresh(root, "normal")
	o := k.wait(root, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "health", "status") == "Healthy" && text(o, "status", "sync", "status") == "Synced"
	})
	if child := k.wait("missing-a", func(*unstructured.Unstructured) bool {
		return true
	}); text(child, "status", "health", "status") != "Missing" {
		t.Error("missing-a must be missing, or this shows nothing")
	}
	if revision, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64); err != nil || revision < missing.Revision {
		t.Errorf("the root's health is from before its child was missing: %d, %d, %v", revision, missing.Revision, err)
	}
}
