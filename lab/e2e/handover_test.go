package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// applicationSet is the kind of sets in the lab.
const applicationSet = "ApplicationSet.argoproj.io"

// handover runs the command. If kill is not "", it is killed when it says that it does this step, and that must happen.
func (k *kit) handover(kill string, args ...string) {
	k.Helper()
	k.move(kill, append([]string{"argocd/" + k.name, "--source", "git"}, args...)...)
}

// move is handover with all of its arguments.
func (k *kit) move(kill string, args ...string) {
	k.Helper()
	args = append([]string{"appset", "handover", "--yes", "--argocd-version", argocdVersion(), "--argocd-namespace", lab.Namespace}, args...)
	cmd := exec.CommandContext(k.ctx, argosy, args...)
	cmd.Env = append(os.Environ(), "ARGOSY_KUBECONFIG="+k.lab.Kubeconfig)
	cmd.Dir = k.TempDir() // no repository of ours answers for the set's
	var talk strings.Builder
	cmd.Stderr = &talk
	out, err := cmd.StdoutPipe()
	k.must(err)
	k.must(cmd.Start())
	killed := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		k.Log(lines.Text())
		if kill != "" && strings.HasPrefix(lines.Text(), kill+". doing") {
			killed = true
			k.must(cmd.Process.Kill())
			break
		}
	}
	err = cmd.Wait()
	if kill == "" && err != nil {
		k.Fatalf("%v: %s", err, talk.String())
	}
	if killed != (kill != "") {
		k.Fatalf("not killed at step %s: %v, %s", kill, err, talk.String())
	}
}

// identity is what must not change of an Application and of its workload.
func (k *kit) identity(names []string) map[string]string {
	k.Helper()
	out := map[string]string{}
	for _, name := range names {
		o, err := k.lab.Get(k.ctx, application, lab.Namespace, name)
		k.must(err)
		workload, err := k.lab.Get(k.ctx, "ConfigMap", name, "cm")
		k.must(err)
		if o == nil || workload == nil {
			k.Fatalf("%s: the Application or its workload is gone", name)
		}
		out[name] = fmt.Sprintf("UID %s, workload %s of version %s, synced at %s", o.GetUID(), workload.GetUID(), workload.GetResourceVersion(),
			text(o, "status", "operationState", "startedAt"))
	}
	return out
}

// unchanged compares identities.
func (k *kit) unchanged(before map[string]string, names []string) {
	k.Helper()
	for name, now := range k.identity(names) {
		if before[name] != now {
			k.Errorf("%s: before %s, now %s", name, before[name], now)
		}
	}
}

// TestHandover moves 20 Applications from the stock controller to the plugin, and back, also when the command is killed at each of its steps.
// Neither the Applications nor their workloads change, and no Application syncs.
func TestHandover(t *testing.T) {
	k := newKit(t, "handover", ourCheck(t))
	k.plugins(native)
	files, names := map[string]string{}, []string{}
	for i := range 20 {
		name := fmt.Sprintf("%s-%02d", k.name, i)
		names = append(names, name)
		files["apps/"+name+"/cm.yaml"] = configMap("cm", "1")
	}
	k.commit(files)
	k.apply(fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %s, namespace: argocd, labels: {team: shop}}
spec:
  goTemplate: true
  generators: [{git: {repoURL: %q, revision: main, directories: [{path: apps/*}]}}]
  template:
    metadata: {name: '{{.path.basename}}', labels: {app: '{{.path.basename}}'}}
    spec:
      project: default
      source: {repoURL: %q, path: '{{.path.path}}', targetRevision: main}
      destination: {server: https://kubernetes.default.svc, namespace: '{{.path.basename}}'}
      syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true, Validate=false]}
`, k.name, k.repo.URL, k.repo.URL))
	for _, name := range names {
		k.await("Application", name, "health Healthy")
		k.await("Application", name, "sync Synced")
	}
	before := k.identity(names)

	handedOver := func() {
		k.Helper()
		if k.exists(applicationSet, lab.Namespace, k.name) {
			t.Error("the set is still there")
		}
		k.wait(k.name, func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "Synced" })
		k.unchanged(before, names)
	}
	controlled := func() {
		k.Helper()
		if k.exists(application, lab.Namespace, k.name) {
			t.Error("the parent is still there")
		}
		set, err := k.lab.Get(k.ctx, applicationSet, lab.Namespace, k.name)
		k.must(err)
		if set == nil || set.GetLabels()["team"] != "shop" {
			t.Fatalf("the set is %v", set)
		}
		for _, name := range names {
			k.wait(name, func(o *unstructured.Unstructured) bool {
				owners := o.GetOwnerReferences()
				return len(owners) == 1 && owners[0].UID == set.GetUID()
			})
		}
		k.unchanged(before, names)
	}

	k.handover("")
	handedOver()
	k.handover("", "--back")
	controlled()

	// Killed at each step on the way there, and gone on, or back.
	for step := 1; step <= 5; step++ {
		k.handover(fmt.Sprint(step))
		if step%2 == 0 {
			k.handover("", "--back")
			controlled()
			k.handover("")
		} else {
			k.handover("")
		}
		handedOver()
		// And on the way back.
		if step <= 3 {
			k.handover(fmt.Sprint(step), "--back")
		}
		k.handover("", "--back")
		controlled()
	}

	// Both still do their work: the plugin deploys a new directory, and the controller another one.
	k.handover("")
	handedOver()
	k.commit(map[string]string{"apps/" + k.name + "-new/cm.yaml": configMap("cm", "1")})
	k.await("Application", k.name+"-new", "health Healthy")
	k.handover("", "--back")
	k.commit(map[string]string{"apps/" + k.name + "-more/cm.yaml": configMap("cm", "1")})
	k.must(k.lab.Patch(k.ctx, applicationSet, lab.Namespace, k.name,
		`{"metadata": {"annotations": {"argocd.argoproj.io/application-set-refresh": "true"}}}`))
	k.await("Application", k.name+"-more", "health Healthy")
	controlled()
}

// folderSet is a set with an Application for each name.
func (k *kit) folderSet(set string, names ...string) string {
	var elements []string
	for _, name := range names {
		elements = append(elements, fmt.Sprintf("{app: %s}", name))
	}
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %s, namespace: argocd}
spec:
  goTemplate: true
  generators: [{list: {elements: [%s]}}]
  template:
    metadata: {name: '{{.app}}', labels: {app: '{{.app}}'}}
    spec:
      project: default
      source: {repoURL: %q, path: 'apps', targetRevision: main}
      destination: {server: https://kubernetes.default.svc, namespace: '{{.app}}'}
      syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true, Validate=false]}
`, set, strings.Join(elements, ", "), k.repo.URL)
}

// folder commits two sets of two Applications each, and lets a stock Application deploy them.
func (k *kit) folder(root string) (names []string) {
	k.Helper()
	names = []string{k.name + "-a", k.name + "-b", k.name + "-c", k.name + "-d"}
	k.commit(map[string]string{
		"apps/cm.yaml":  configMap("cm", "1"),
		"sets/one.yaml": k.folderSet(k.name+"-one", names[:2]...), "sets/two.yaml": k.folderSet(k.name+"-two", names[2:]...),
		"sets/cm.yaml": configMap(k.name+"-beside", "1"),
	})
	k.apply(k.app(app{name: root, path: "sets", namespace: lab.Namespace}))
	for _, name := range names {
		k.await("Application", name, "health Healthy")
		k.await("Application", name, "sync Synced")
	}
	k.wait(root, func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "Synced" })
	return names
}

// TestFolderGuard: the plugin on a folder whose sets are live would have Argo CD prune them, and Kubernetes delete their Applications. The
// answer is refused, the Application says so, and nothing is deleted.
func TestFolderGuard(t *testing.T) {
	k := newKit(t, "folderguard", ourCheck(t))
	k.plugins(native)
	root := k.name + "-root"
	names := k.folder(root)
	before := k.identity(names)

	k.apply(k.app(app{name: root, path: "sets", namespace: lab.Namespace, plugin: "appset"}))
	t.Log(k.failure(root, "refused: this answer would prune ApplicationSets, and with them the 4 Applications that they own: "+
		`folderguard-one, folderguard-two; move them first with "argosy appset handover --folder argocd/folderguard-root"`))
	k.refresh(root, "hard")
	k.failure(root, "refused: this answer would prune ApplicationSets")
	k.unchanged(before, names)
	for _, set := range []string{k.name + "-one", k.name + "-two"} {
		if !k.exists(applicationSet, lab.Namespace, set) {
			t.Errorf("%s is gone", set)
		}
	}

	// Without the plugin everything is as before.
	k.apply(k.app(app{name: root, path: "sets", namespace: lab.Namespace}))
	k.wait(root, func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "Synced" })
	k.unchanged(before, names)
}

// TestFolderHandover moves the sets of a folder to the plugin in its root, and back, also when the command is killed. Neither the
// Applications nor their workloads change, and no Application syncs.
func TestFolderHandover(t *testing.T) {
	k := newKit(t, "folders", ourCheck(t))
	k.plugins(native)
	root := k.name + "-root"
	names := k.folder(root)
	before := k.identity(names)
	synced := func() {
		k.Helper()
		k.wait(root, func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "Synced" })
		k.unchanged(before, names)
		if k.exists(application, lab.Namespace, root+"-handover") {
			t.Error("the Application of the proof is still there")
		}
	}
	handedOver := func() {
		k.Helper()
		synced()
		for _, set := range []string{k.name + "-one", k.name + "-two"} {
			if k.exists(applicationSet, lab.Namespace, set) {
				t.Errorf("%s is still there", set)
			}
		}
	}
	controlled := func() {
		k.Helper()
		synced()
		for _, name := range names {
			k.wait(name, func(o *unstructured.Unstructured) bool { return len(o.GetOwnerReferences()) == 1 })
		}
		for _, set := range []string{k.name + "-one", k.name + "-two"} {
			o, err := k.lab.Get(k.ctx, applicationSet, lab.Namespace, set)
			k.must(err)
			if o == nil || o.GetAnnotations()["argosy.dev/handover"] != "" {
				t.Errorf("%s is %v", set, o)
			}
		}
	}
	there, back := []string{"--folder", "argocd/" + root}, []string{"--folder", "argocd/" + root, "--back"}
	k.move("", there...)
	handedOver()
	k.move("", back...)
	controlled()
	for step := 1; step <= 8; step++ {
		k.move(fmt.Sprint(step), there...)
		if step%2 == 0 {
			k.move("", back...)
			controlled()
		}
		k.move("", there...)
		handedOver()
		if step <= 5 && step != 4 { // step 4 has nothing to do on the way back
			k.move(fmt.Sprint(step), back...)
		}
		k.move("", back...)
		controlled()
	}
	// Both still do their work.
	k.commit(map[string]string{"sets/two.yaml": k.folderSet(k.name+"-two", append(names[2:], k.name+"-e")...)})
	k.refresh(root, "normal")
	k.await("Application", k.name+"-e", "health Healthy")
	k.wait(root, func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "Synced" })
	k.move("", there...)
	handedOver()
	k.commit(map[string]string{"sets/two.yaml": k.folderSet(k.name+"-two", append(names[2:], k.name+"-e", k.name+"-f")...)})
	k.refresh(root, "normal")
	k.await("Application", k.name+"-f", "health Healthy")
	k.unchanged(before, names)
}

// thereAndBack moves a set of three Applications to the plugin and back, twice. Neither the Applications nor their workloads change.
func (k *kit) thereAndBack(set func(names ...string) string, there ...string) {
	k.Helper()
	k.commit(map[string]string{"apps/cm.yaml": configMap("cm", "1")})
	names := []string{k.name + "-a", k.name + "-b", k.name + "-c"}
	k.apply(set(names...))
	for _, name := range names {
		k.await("Application", name, "health Healthy")
		k.await("Application", name, "sync Synced")
	}
	before := k.identity(names)
	for range 2 {
		k.move("", append([]string{"argocd/" + k.name}, there...)...)
		k.wait(k.name, func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "Synced" })
		if k.exists(applicationSet, lab.Namespace, k.name) {
			k.Error("the set is still there")
		}
		k.unchanged(before, names)
		k.move("", append([]string{"argocd/" + k.name, "--back"}, there...)...)
		if k.exists(application, lab.Namespace, k.name) {
			k.Error("the parent is still there")
		}
		for _, name := range names {
			k.wait(name, func(o *unstructured.Unstructured) bool { return len(o.GetOwnerReferences()) == 1 })
		}
		k.unchanged(before, names)
	}
}

// TestHandoverByLabel is a hand-over where Argo CD tracks resources by label, with a trigger repository as source.
func TestHandoverByLabel(t *testing.T) {
	k := newKit(t, "bylabel", ourCheck(t), map[string]string{"application.resourceTrackingMethod": "label"})
	k.plugins(native)
	url, _ := k.triggerServer("1m")
	k.thereAndBack(func(names ...string) string { return k.folderSet(k.name, names...) }, "--trigger-url", url)
}

// TestHandoverCreateOnly is a hand-over of a set whose Applications the controller must not update, so it does not own them again by itself.
// Somebody has changed one of them, and that stays.
func TestHandoverCreateOnly(t *testing.T) {
	k := newKit(t, "createonly", ourCheck(t))
	k.plugins(native)
	url, _ := k.triggerServer("1m")
	k.thereAndBack(func(names ...string) string {
		return strings.Replace(k.folderSet(k.name, names...), "  goTemplate: true\n", "  goTemplate: true\n  syncPolicy: {applicationsSync: create-only}\n", 1)
	}, "--trigger-url", url)
	o, err := k.lab.Get(k.ctx, application, lab.Namespace, k.name+"-a")
	k.must(err)
	k.must(k.lab.Patch(k.ctx, application, lab.Namespace, k.name+"-a", `{"spec": {"info": [{"name": "changed", "value": "by hand"}]}}`))
	k.move("", "argocd/"+k.name, "--trigger-url", url)
	k.move("", "argocd/"+k.name, "--trigger-url", url, "--back")
	after, err := k.lab.Get(k.ctx, application, lab.Namespace, k.name+"-a")
	k.must(err)
	if info, _, _ := unstructured.NestedSlice(after.Object, "spec", "info"); len(info) != 1 || after.GetUID() != o.GetUID() {
		t.Errorf("the change by hand is lost: %v", after.Object["spec"])
	}
}
