package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-cd/argosy/lab"
)

// liveKubeconfig is a kubeconfig with exactly the rights that docs/live.md names for a command.
func (k *kit) liveKubeconfig(role string) string {
	k.Helper()
	page, err := os.ReadFile("../../docs/live.md")
	k.must(err)
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(block[1], "{name: "+role+"}") {
			name := k.name + "-" + role
			k.apply(block[1], fmt.Sprintf(`apiVersion: v1
kind: ServiceAccount
metadata: {name: %[1]s, namespace: argocd}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[2]s}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: argocd}]
`, name, role))
			file, err := k.lab.ServiceAccount(k.ctx, lab.Namespace, name)
			k.must(err)
			return file
		}
	}
	k.Fatalf("docs/live.md has no ClusterRole %s", role)
	return ""
}

// whyReport is what argosy why -o json writes.
type whyReport struct {
	Good   bool
	Causes []struct {
		Kind, Text, Detail string
		Path               []string
		Application        struct{ Name string }
	}
	NotLookedAt []string
}

// whyIs asks why an Application waits, and wants a kind of cause first, with a text in it.
func (k *kit) whyIs(kubeconfig, app, kind, text string) whyReport {
	k.Helper()
	out := k.argosyMay(3, "why", app, "--kubeconfig", kubeconfig, "-o", "json")
	var r whyReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		k.Fatalf("%v\n%s", err, out)
	}
	if len(r.Causes) == 0 || r.Causes[0].Kind != kind || !strings.Contains(r.Causes[0].Text, text) {
		k.Errorf("why %s: the first cause is not %s with %q:\n%s", app, kind, text, out)
	} else {
		k.Logf("why %s: %s: %s (%s)", app, kind, r.Causes[0].Text, strings.Join(r.Causes[0].Path, " → "))
	}
	if len(r.NotLookedAt) > 0 {
		k.Errorf("why %s: not looked at: %q", app, r.NotLookedAt)
	}
	return r
}

// podStatus replaces the status of the first pod whose name begins with a text: kwok leaves a pod alone that was ready once.
func (k *kit) podStatus(namespace, prefix, status string) {
	k.Helper()
	pods := k.lab.API().Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace)
	w, err := pods.Watch(k.ctx, metav1.ListOptions{})
	k.must(err)
	defer w.Stop()
	for event := range w.ResultChan() {
		o, ok := event.Object.(*unstructured.Unstructured)
		if !ok || !strings.HasPrefix(o.GetName(), prefix) || text(o, "status", "podIP") == "" {
			continue
		}
		_, err := pods.Patch(k.ctx, o.GetName(), types.MergePatchType, []byte(`{"status": `+status+`}`), metav1.PatchOptions{}, "status")
		k.must(err)
		return
	}
	k.Fatalf("there is no pod %s in %s", prefix, namespace)
}

// slow is a Deployment whose pods are not available for an hour, so that a test can break them.
func slow(name string) string {
	return strings.Replace(deployment(name, true), "  replicas: 1\n", "  replicas: 1\n  minReadySeconds: 3600\n  progressDeadlineSeconds: 7200\n", 1)
}

const waitingPod = `{"phase": "Pending", "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
	"containerStatuses": [{"name": "main", "image": "registry.example.com/pause:1", "imageID": "", "ready": false, "restartCount": 0, %s}]}`

// finished waits until the sync of an Application has failed, or is about to be tried again.
func (k *kit) finished(name string) {
	k.Helper()
	k.wait(name, func(o *unstructured.Unstructured) bool {
		phase := text(o, "status", "operationState", "phase")
		return phase == "Failed" || phase == "Error" || phase == "Running" && text(o, "status", "operationState", "finishedAt") != ""
	})
}

// condition waits until an Application has a condition.
func (k *kit) condition(name, kind string) {
	k.Helper()
	k.wait(name, func(o *unstructured.Unstructured) bool { return hasCondition(o, kind) })
}

func hasCondition(o *unstructured.Unstructured, kind string) bool {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(list, func(c any) bool { m, _ := c.(map[string]any); return m["type"] == kind })
}

// TestWhyPods: from the root through a wave and a Deployment down to a pod. Nothing is read that docs/live.md does not name.
func TestWhyPods(t *testing.T) {
	k := newKit(t, "whypods", ourCheck(t))
	config, status := k.liveKubeconfig("argosy-why"), k.liveKubeconfig("argosy-status")
	record, err := os.Create(filepath.Join(t.TempDir(), "boot.jsonl"))
	k.must(err)
	recording, err := k.lab.Record(k.ctx, record, application, "ApplicationSet.argoproj.io", "Deployment.apps", "ReplicaSet.apps", "Pod", "Event")
	k.must(err)
	k.commit(map[string]string{
		"image/d.yaml": slow("image"), "later/cm.yaml": configMap("later", "1"),
		"root/a.yaml": k.app(app{name: "whypods-image", path: "image", wave: "1"}),
		"root/b.yaml": k.app(app{name: "whypods-later", path: "later", wave: "2"}),
	})
	root := k.root()
	k.await("Application", "whypods-image", "health Progressing")
	k.waitsFor(root, "whypods-image")
	k.podStatus("whypods", "image-", fmt.Sprintf(waitingPod, `"state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}`))
	k.wait("whypods-image", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Progressing" })
	for _, app := range []string{root, "whypods-later", "whypods-image"} {
		r := k.whyIs(config, app, "image-pull", "registry.example.com/pause:1")
		if len(r.Causes) > 0 && app == root {
			want := []string{root, "wave 1: whypods-image", "Deployment whypods/image"}
			if path := r.Causes[0].Path; len(path) != 5 || !slices.Equal(path[:3], want) {
				t.Errorf("path %q", path)
			}
		}
	}
	k.podStatus("whypods", "image-", fmt.Sprintf(waitingPod, `"state": {"waiting": {"reason": "CrashLoopBackOff"}},
		"lastState": {"terminated": {"reason": "Error", "exitCode": 3, "startedAt": null, "finishedAt": null}}`))
	k.whyIs(config, root, "crash", "exit code 3")

	out := k.argosyMay(0, "status", root, "--kubeconfig", status)
	t.Log("\n" + out)
	for _, want := range []string{"1 not created yet", "wave 1 runs", "wave 2 of " + root} {
		if !strings.Contains(out, want) {
			t.Errorf("the status does not have %q:\n%s", want, out)
		}
	}
	// With the rights of status alone, why says what it could not look at.
	out = k.argosyMay(3, "why", root, "--kubeconfig", status)
	if !strings.Contains(out, "NOT READ") || !strings.Contains(out, "no right to get deployments.apps in namespace whypods") {
		t.Error(out)
	}
	wait := exec.CommandContext(k.ctx, argosy, "wait", root, "--kubeconfig", config, "--timeout", "1s")
	if out, err := wait.CombinedOutput(); wait.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "crashes") {
		t.Errorf("%v\n%s", err, out)
	}

	// The repair: the boot goes on, and wait ends.
	head := k.commit(map[string]string{"image/d.yaml": strings.ReplaceAll(deployment("image", true), "pause:1", "pause:2")})
	k.argosyMay(0, "wait", root, "--kubeconfig", status, "--timeout", "5m", "--for", "healthy", "--for", "synced", "--for", "revision="+head[:10])
	k.argosyMay(0, "why", root, "--kubeconfig", config)
	recording.Stop()
	k.must(recording.Err())
	k.must(record.Close())
	if out := k.argosyMay(0, "status", root, "--recording", record.Name()); !strings.Contains(out, "3 of 3 Applications healthy") {
		t.Error(out)
	}
	if file := os.Getenv("KEEP_RECORDING"); file != "" {
		data, err := os.ReadFile(record.Name())
		k.must(err)
		k.must(os.WriteFile(file, data, 0o644))
	}
}

// brokenProject is an AppProject that allows next to nothing.
const brokenProject = `apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: %s, namespace: argocd}
spec: %s
`

// whyCase is an Application that is broken for real, and the cause that must be named first.
type whyCase struct {
	name       string
	files      map[string]string
	edit       func(app string) string
	wait       func(k *kit, name string)
	kind, text string
}

func (c *whyCase) in(project string) func(string) string {
	return func(app string) string { return strings.Replace(app, "project: default", "project: "+project, 1) }
}

// whyCases are Applications that are broken from the beginning.
func whyCases() []whyCase {
	failed := func(k *kit, name string) { k.finished(name) }
	invalid := func(k *kit, name string) { k.condition(name, "InvalidSpecError") }
	unmade := func(k *kit, name string) { k.condition(name, "ComparisonError") }
	var c whyCase
	return []whyCase{
		{
			name: "crd", files: map[string]string{"w.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"}, wait: failed,
			kind: "missing-crd", text: "Widget",
		},
		{name: "namespace", files: map[string]string{"c.yaml": configMap("c", "1")}, wait: failed, edit: func(app string) string {
			return strings.Replace(app, ", syncOptions: [CreateNamespace=true, Validate=false]", "", 1)
		}, kind: "missing-namespace", text: "namespace why-namespace does not exist"},
		{
			name: "project", files: map[string]string{"c.yaml": configMap("c", "1")}, wait: invalid, edit: c.in("why-closed"), kind: "project",
			text: "why-closed",
		},
		{
			name: "noproject", files: map[string]string{"c.yaml": configMap("c", "1")}, wait: invalid, edit: c.in("why-nowhere"), kind: "project",
			text: "why-nowhere does not exist",
		},
		{
			name: "kind", files: map[string]string{"c.yaml": configMap("c", "1")}, wait: failed, edit: c.in("why-nomaps"), kind: "project",
			text: "does not permit the kind ConfigMap",
		},
		{
			name: "window", files: map[string]string{"c.yaml": configMap("c", "1")}, edit: c.in("why-window"), kind: "sync-window",
			text: "sync windows", wait: func(k *kit, name string) {
				k.wait(name, func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "OutOfSync" })
			},
		},
		{name: "plugin", files: map[string]string{"c.yaml": configMap("c", "1")}, wait: unmade, edit: func(app string) string {
			return strings.Replace(app, "  destination:", "    plugin: {name: nowhere}\n  destination:", 1)
		}, kind: "plugin", text: "nowhere"},
		{name: "path", files: map[string]string{"other.txt": "x"}, wait: unmade, edit: func(app string) string {
			return strings.Replace(app, `path: "path"`, `path: "nowhere"`, 1)
		}, kind: "repository", text: "cannot be read"},
		{
			name: "yaml", files: map[string]string{"c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n"}, wait: unmade, kind: "manifests",
			text: "cannot be rendered",
		},
		{
			name: "hook", files: map[string]string{"j.yaml": hookJob, "c.yaml": configMap("c", "1")}, kind: "unscheduled", text: "finds no node",
			wait: func(k *kit, name string) {
				k.wait(name, func(o *unstructured.Unstructured) bool {
					return strings.HasPrefix(text(o, "status", "operationState", "message"), "waiting for completion of hook")
				})
			},
		},
		{name: "quota", files: map[string]string{"q.yaml": quota, "d.yaml": deployment("d", true)}, kind: "quota", text: "none", wait: progressing},
		{name: "volume", files: map[string]string{"v.yaml": claim}, kind: "pending-volume", text: "nowhere does not exist", wait: progressing},
		{
			name: "webhook", files: map[string]string{"c.yaml": strings.Replace(configMap("c", "1"), "{name:", "{labels: {why: webhook}, name:", 1)},
			wait: failed, kind: "webhook", text: "why.example.com",
		},
		{
			name: "manual", files: map[string]string{"c.yaml": configMap("c", "1")}, kind: "manual-sync", text: "no automated sync",
			edit: func(app string) string {
				return strings.Replace(app, "automated: {prune: true, selfHeal: true}, ", "", 1)
			}, wait: func(k *kit, name string) {
				k.wait(name, func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "OutOfSync" })
			},
		},
	}
}

func progressing(k *kit, name string) {
	k.Helper()
	k.wait(name, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") == "Succeeded" && text(o, "status", "health", "status") != "Healthy"
	})
}

const (
	hookJob = `apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync}}
spec:
  template:
    spec:
      nodeSelector: {lab.example.com/none: "true"}
      restartPolicy: Never
      containers: [{name: main, image: registry.example.com/pause:1}]
`
	quota = `apiVersion: v1
kind: ResourceQuota
metadata: {name: none, annotations: {argocd.argoproj.io/sync-wave: "-1"}}
spec: {hard: {pods: "0"}}
`
	claim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: nowhere, resources: {requests: {storage: 1Gi}}}
`
	deadWebhook = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: why}
webhooks:
- name: why.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  objectSelector: {matchLabels: {why: webhook}}
  clientConfig: {service: {name: nowhere, namespace: default}}
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE, UPDATE]}]
`
)

// TestWhy: Applications that are broken for real, each in another way, and the true cause named first.
func TestWhy(t *testing.T) {
	k := newKit(t, "why")
	config := k.liveKubeconfig("argosy-why")
	k.apply(
		fmt.Sprintf(brokenProject, "why-closed", "{sourceRepos: ['*'], destinations: [{server: '*', namespace: elsewhere}]}"),
		fmt.Sprintf(brokenProject, "why-nomaps", `{sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}],
  clusterResourceWhitelist: [{group: "*", kind: "*"}], namespaceResourceBlacklist: [{group: "", kind: ConfigMap}]}`),
		fmt.Sprintf(brokenProject, "why-window", `{sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}],
  clusterResourceWhitelist: [{group: "*", kind: "*"}], syncWindows: [{kind: deny, schedule: "* * * * *", duration: 1h, applications: ["*"]}]}`),
		deadWebhook)
	t.Cleanup(func() {
		_ = k.lab.Delete(k.ctx, "ValidatingWebhookConfiguration.admissionregistration.k8s.io", "", "why")
	})
	k.inForce(strings.Replace(configMap("c", "1"), "{name:", "{labels: {why: webhook}, namespace: default, name:", 1))
	files := map[string]string{}
	for _, c := range whyCases() {
		for name, content := range c.files {
			files[c.name+"/"+name] = content
		}
	}
	// Those that break later: a field that cannot change, an object that cannot go, a sync that cannot end.
	files["immutable/d.yaml"], files["finalizer/c.yaml"] = deployment("d", true), configMap("c", "1")
	files["finalizer/kept.yaml"] = "apiVersion: v1\nkind: Service\nmetadata: {name: kept, finalizers: [example.com/keep]}\nspec: {ports: [{port: 80}]}\n"
	files["stale/w.yaml"] = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"
	k.commit(files)
	for _, c := range whyCases() {
		manifest := k.app(app{name: "why-" + c.name, path: c.name, namespace: "why-" + c.name})
		if c.edit != nil {
			manifest = c.edit(manifest)
		}
		k.apply(manifest)
	}
	for _, name := range []string{"immutable", "finalizer"} {
		k.apply(k.app(app{name: "why-" + name, path: name, namespace: "why-" + name}))
	}
	k.apply(k.app(app{
		name: "why-stale", path: "stale", namespace: "why-stale",
		policy: "{automated: {}, syncOptions: [CreateNamespace=true, Validate=false], retry: {limit: -1, backoff: {duration: 2s, maxDuration: 2s}}}",
	}))
	k.await("Application", "why-immutable", "health Healthy")
	k.await("Application", "why-finalizer", "health Healthy")
	k.finished("why-stale")
	k.commit(map[string]string{
		"immutable/d.yaml": strings.ReplaceAll(deployment("d", true), `abels: {app: "d"}`, `abels: {app: "d", more: "1"}`),
		"stale/w.yaml":     configMap("fixed", "1"), "finalizer/kept.yaml": "",
	})
	for _, c := range whyCases() {
		c.wait(k, "why-"+c.name)
		k.whyIs(config, "why-"+c.name, c.kind, c.text)
	}
	k.finished("why-immutable")
	k.whyIs(config, "why-immutable", "immutable-field", "Deployment why-immutable/d")
	k.wait("why-finalizer", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "health", "status") == "Progressing" && text(o, "status", "sync", "status") == "OutOfSync"
	})
	k.whyIs(config, "why-finalizer", "finalizer", "example.com/keep")
	k.wait("why-stale", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "sync", "revision") != text(o, "status", "operationState", "operation", "sync", "revision")
	})
	k.whyIs(config, "why-stale", "stale-operation", "still deploys revision")
}
