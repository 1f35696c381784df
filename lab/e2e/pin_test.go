package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// version is a deployment of a version. One that does not become healthy is Degraded after some seconds.
func version(name, version string, healthy bool) string {
	return strings.NewReplacer("pause:1", "pause:"+version, "replicas: 1",
		"replicas: 1\n  progressDeadlineSeconds: 4").Replace(deployment(name, healthy))
}

// parent is an Application of the plugin appset for a folder. A sync that failed takes the newest commit when it is tried again.
func (k *kit) parent(name, folder string, parameters ...string) string {
	a := strings.Replace(k.setApp(name, "default", parameters...), "path: app\n", "path: "+folder+"\n", 1)
	return strings.Replace(a, "selfHeal: true}", "selfHeal: true}, retry: {limit: 10, refresh: true, backoff: {duration: 2s, factor: 1}}",
		1)
}

// target waits until an Application has a target revision.
func (k *kit) target(after lab.Entry, name, revision string) lab.Entry {
	k.Helper()
	return k.awaitAfter(after, "Application", name, "target "+revision)
}

// runs returns the version that a Deployment of this test runs.
func (k *kit) runs(name string) string {
	k.Helper()
	o, err := k.lab.Get(k.ctx, "Deployment.apps", k.name, name)
	k.must(err)
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	image, _ := containers[0].(map[string]any)["image"].(string)
	return image[strings.LastIndexByte(image, ':')+1:]
}

// inOrder waits until pin-a and pin-b have a commit, and demands that pin-a was synced to it before pin-b was told about it.
func (k *kit) inOrder(after lab.Entry, commit string) lab.Entry {
	k.Helper()
	synced := k.awaitAfter(k.target(after, "pin-a", commit), "Application", "pin-a", "operation Succeeded")
	told := k.target(after, "pin-b", commit)
	if told.Revision < synced.Revision {
		k.Errorf("pin-b was told about %s before pin-a was synced", commit)
	}
	k.awaitAfter(told, "Application", "pin-b", "revision "+commit)
	return told
}

// rollback syncs an Application to a commit, with automated sync off. The end of a sync that is still running takes an operation with it
// that was written meanwhile, so it is asked for until it is seen.
// The state of the last sync goes, because Argo CD merges the new one into it: behind a partial sync, as self-healing makes them, a whole
// one would be partial, too.
func (k *kit) rollback(name, commit string) {
	k.Helper()
	for k.ctx.Err() == nil {
		k.must(k.lab.Patch(k.ctx, application, lab.Namespace, name,
			`{"spec": {"syncPolicy": {"automated": null}}, "status": {"operationState": null}, "operation": {"sync": {"revision": "`+
				commit+`"}}}`))
		ctx, cancel := context.WithTimeout(k.ctx, 20*time.Second)
		_, err := k.lab.Wait(ctx, application, lab.Namespace, name, func(o *unstructured.Unstructured) bool {
			return o != nil && text(o, "status", "operationState", "operation", "sync", "revision") == commit
		})
		cancel()
		if err == nil {
			return
		}
	}
	k.Fatalf("%s is not rolled back", name)
}

// TestPin: updates in order. A commit changes wave 0 and wave 1. By pin, wave 1 hears of it only when wave 0 is healthy with it, or with
// the repair. Children that follow the branch change at once.
func TestPin(t *testing.T) {
	k := newKit(t, "pin", ourCheck(t))
	k.plugins(native)
	children := func(folder string, names ...string) map[string]string {
		out := map[string]string{}
		for wave, name := range names {
			out[folder+"/"+name+".yaml"] = k.app(app{name: "pin-" + name, path: name, wave: fmt.Sprint(wave)})
		}
		return out
	}
	versions := func(v string, healthy bool, names ...string) map[string]string {
		out := map[string]string{}
		for i, name := range names {
			out[name+"/d.yaml"] = version(name, v, healthy || i%2 == 1)
		}
		return out
	}
	names := []string{"a", "b", "x", "y"}
	files := versions("1", true, append(names, "deep")...)
	for _, list := range []map[string]string{
		children("pinned", "a", "b"), children("loose", "x", "y"), children("nested", "deep"),
		// A parent in a last wave, which pins its own child.
		{"pinned/nested.yaml": strings.Replace(k.parent("pin-nested", "nested", "pin", "true"), "namespace: argocd}",
			`namespace: argocd, annotations: {argocd.argoproj.io/sync-wave: "2"}}`, 1)},
	} {
		for name, content := range list {
			files[name] = content
		}
	}
	first := k.commit(files)
	k.apply(k.parent("pin", "pinned", "pin", "true"), k.parent("pin-loose", "loose"))
	k.await("Application", "pin-y", "health Healthy")
	k.inOrder(lab.Entry{}, first)
	k.target(lab.Entry{}, "pin-deep", first)
	start := k.await("Application", "pin-deep", "health Healthy")

	// Wave 0 is broken.
	second := k.commit(versions("2", false, names...))
	k.awaitAfter(k.target(start, "pin-a", second), "Application", "pin-a", "health Degraded")
	k.awaitAfter(start, "Application", "pin-x", "health Degraded")
	k.awaitAfter(start, "Application", "pin-y", "revision "+second)
	k.wait("pin-y", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "sync", "status") == "Synced" && text(o, "status", "health", "status") == "Healthy"
	})
	if got := k.runs("a") + k.runs("b") + " " + k.runs("x") + k.runs("y"); got != "21 22" {
		t.Errorf("versions of a, b and x, y: %s", got)
	}

	// The repair.
	third := k.commit(versions("3", true, names...))
	told := k.inOrder(start, third)
	if healthy := k.awaitAfter(k.target(start, "pin-a", third), "Application", "pin-a",
		"health Healthy"); told.Revision < healthy.Revision {
		t.Error("b was told about the repair before a was healthy")
	}
	if e, ok := k.journal.First("Application", "pin-b", "target "+second, 0); ok {
		t.Errorf("b was told about the broken commit: %v", e)
	}
	deep := k.target(told, "pin-deep", third)
	o := k.wait("pin-nested", func(o *unstructured.Unstructured) bool { return text(o, "spec", "source", "targetRevision") == third })
	parameters, _, _ := unstructured.NestedSlice(o.Object, "spec", "source", "plugin", "parameters")
	if fmt.Sprint(parameters) != "[map[name:pin string:true] map[name:pin-branch string:main]]" {
		t.Errorf("parameters of the nested parent: %v", parameters)
	}

	// A revert is a commit like any other.
	fourth := k.commit(versions("1", true, names...))
	k.inOrder(deep, fourth)
	reverted := k.target(deep, "pin-deep", fourth)
	k.wait("pin", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") == "Succeeded"
	})

	// A rollback of the parent, which Argo CD allows without automated sync.
	k.rollback("pin", third)
	k.inOrder(reverted, third)
	k.awaitAfter(reverted, "Application", "pin-b", "operation Succeeded")
	if got := k.runs("a"); got != "3" {
		t.Errorf("after the rollback a runs %s", got)
	}
	t.Logf("%s", time.Since(k.began).Round(time.Second))
}

// TestPinMany: 60 children, or 200 with LONG, with the rights of deploy/ and in a lab that looks at nothing by itself. By pin: changed a
// commit reaches those that it changes; by pin: true it reaches all.
func TestPinMany(t *testing.T) {
	many := 60
	if long {
		many = 200
	}
	k := newPatientKit(t, "pinmany", ourCheck(t))
	k.replica(0, k.rights())
	name := func(i int) string { return fmt.Sprintf("pinmany-%03d", i) }
	file := func(i int) string { return fmt.Sprintf("apps/%03d/cm.yaml", i) }
	files := map[string]string{"root/set.yaml": fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: pinmany-set, namespace: argocd}
spec:
  goTemplate: true
  generators: [{git: {repoURL: %[1]q, revision: main, directories: [{path: apps/*}]}}]
  template:
    metadata: {name: 'pinmany-{{ .path.basename }}', finalizers: []}
    spec:
      project: default
      source: {repoURL: %[1]q, targetRevision: main, path: '{{ .path.path }}'}
      destination: {server: https://kubernetes.default.svc, namespace: pinmany}
      syncPolicy: {automated: {}, syncOptions: [CreateNamespace=true, Validate=false]}
`, k.repo.URL)}
	for i := range many {
		files[file(i)] = configMap(name(i), "1")
	}
	// settled waits until a child is synced at a target revision, and nothing is about to happen.
	settled := func(i int, target string) *unstructured.Unstructured {
		return k.wait(name(i), func(o *unstructured.Unstructured) bool {
			return text(o, "spec", "source", "targetRevision") == target &&
				text(o, "status", "sync", "comparedTo", "source", "targetRevision") == target &&
				text(o, "status", "sync", "status") == "Synced" && text(o, "status", "operationState", "phase") == "Succeeded" &&
				o.Object["operation"] == nil
		})
	}
	// history is how many syncs children have had, in all.
	history := func() (n int) {
		for i := range many {
			o, err := k.lab.Get(k.ctx, application, lab.Namespace, name(i))
			k.must(err)
			list, _, _ := unstructured.NestedSlice(o.Object, "status", "history")
			n += len(list)
		}
		return n
	}
	first := k.commit(files)
	k.apply(k.parent("pinmany", "root", "pin", "changed"))
	for i := range many {
		settled(i, first)
	}
	t.Logf("boot: %s", time.Since(k.began).Round(time.Second))
	changed := map[int]bool{7: true, 17: true, many - 3: true}
	// update commits a change of three children, with a value of pin for the parent, and returns how many children the parent has told
	// about it, and how often children were synced.
	update := func(value, pin string) (told, syncs int) {
		before := history()
		change := map[string]string{}
		for i := range changed {
			change[file(i)] = configMap(name(i), value)
		}
		commit := k.commit(change)
		at := time.Now()
		k.apply(k.parent("pinmany", "root", "pin", pin))
		k.refresh("pinmany", "normal")
		for i := range many {
			if pin == "true" || changed[i] {
				settled(i, commit)
			}
		}
		k.wait("pinmany", func(o *unstructured.Unstructured) bool {
			return text(o, "status", "sync", "revision") == commit && text(o, "status", "sync", "status") == "Synced" &&
				o.Object["operation"] == nil
		})
		took := time.Since(at)
		for i := range many {
			o, err := k.lab.Get(k.ctx, application, lab.Namespace, name(i))
			k.must(err)
			if text(o, "spec", "source", "targetRevision") == commit {
				told++
			}
		}
		syncs = history() - before
		t.Logf("pin %s: %d children have the commit, %d syncs, %s", pin, told, syncs, took.Round(time.Second))
		return told, syncs
	}
	if told, syncs := update("2", "changed"); told != 3 || syncs != 3 {
		t.Errorf("changed: %d were told, and %d synced", told, syncs)
	}
	// Argo CD compares all of them with the new commit, and syncs those that differ.
	if told, syncs := update("3", "true"); told != many || syncs != 3 {
		t.Errorf("true: %d were told, and %d synced", told, syncs)
	}
	t.Logf("all: %s", time.Since(k.began).Round(time.Second))
}
