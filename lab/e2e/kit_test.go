package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

const (
	application = "Application.argoproj.io"
	healthKey   = "resource.customizations.health.argoproj.io_Application"
	// setHealthKey is for ApplicationSets.
	setHealthKey = "resource.customizations.health.argoproj.io_ApplicationSet"
	// copyingLua is the health check of Applications that most clusters have: it copies status.health of the child, as the one in Argo CD's
	// documentation does.
	copyingLua = `hs = {}
hs.status = "Progressing"
hs.message = ""
if obj.status ~= nil then
  if obj.status.health ~= nil then
    hs.status = obj.status.health.status
    if obj.status.health.message ~= nil then
      hs.message = obj.status.health.message
    end
  end
end
return hs
`
)

// argocdVersion is the version of Argo CD that the labs run, such as 3.2, for --argocd-version.
func argocdVersion() string { return fmt.Sprintf("3.%d", shared.Tools.ArgoCDMinor()) }

// kit is what a test works with.
type kit struct {
	*testing.T
	ctx     context.Context
	lab     *lab.Lab
	repo    *lab.Repo
	journal *lab.Journal
	name    string // in front of the names of this test's objects
	began   time.Time
}

// lane lets as many tests run at once as it has places. Lanes go on side by side.
type lane chan struct{}

// Lanes of tests: those of the shared lab, those of the patient one, and those with a lab of their own.
var sharedLane, patientLane, ownLane = make(lane, 1), make(lane, 1), make(lane, 2)

// enter waits for the turn of a test.
func (l lane) enter(t *testing.T) {
	t.Helper()
	t.Parallel()
	l <- struct{}{}
	t.Cleanup(func() { <-l })
}

// newKit makes a repository and a journal for a test. Settings are keys of argocd-cm during the test; an empty value removes the key.
func newKit(t *testing.T, name string, settings ...map[string]string) *kit {
	t.Helper()
	sharedLane.enter(t)
	return newKitIn(t, shared, name, settings...)
}

// newKitIn is newKit in another lab. The deadline is for a test that hangs, not for a slow machine.
func newKitIn(t *testing.T, l *lab.Lab, name string, settings ...map[string]string) *kit {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	k := &kit{T: t, ctx: ctx, lab: l, name: name, began: time.Now()}
	var err error
	if k.repo, err = l.Repo(ctx, name); err != nil {
		t.Fatal(err)
	}
	if k.journal, err = l.Journal(ctx, application, "ApplicationSet.argoproj.io", "Deployment.apps", "ConfigMap", "Namespace",
		"CustomResourceDefinition.apiextensions.k8s.io"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("journal of %s:\n%s", name, k.journal)
		}
		k.journal.Stop()
		cancel()
		k.clean()
	})
	want := map[string]string{}
	for _, s := range settings {
		maps.Copy(want, s)
	}
	k.settle(want, true)
	return k
}

// clean deletes this test's sets and Applications, so that they do not keep Argo CD busy. Their resources stay. Applications that would
// make a set again go first, and those that a set has made again last.
func (k *kit) clean() {
	for _, kind := range []string{application, "ApplicationSet.argoproj.io", application} {
		names, err := k.lab.Names(context.Background(), kind, lab.Namespace)
		if err != nil {
			k.Error(err)
		}
		for _, name := range names {
			if name != k.name && !strings.HasPrefix(name, k.name+"-") {
				continue
			}
			// Without finalizers, which would wait for a controller that may be busy with the next test.
			_ = k.lab.Patch(context.Background(), kind, lab.Namespace, name, `{"metadata": {"finalizers": null}}`)
			if err := k.lab.Delete(context.Background(), kind, lab.Namespace, name); err != nil {
				k.Error(err)
			}
		}
	}
}

// must ends the test on an error.
func (k *kit) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) commit(files map[string]string) string {
	k.Helper()
	hash, err := k.repo.Commit(k.ctx, files)
	k.must(err)
	return hash
}

func (k *kit) apply(manifests ...string) {
	k.Helper()
	k.must(k.lab.Apply(k.ctx, manifests...))
}

// inForce waits until the API server refuses an object: policies and webhooks are in force some time after they are applied.
func (k *kit) inForce(manifest string) {
	k.Helper()
	for k.lab.Validate(k.ctx, manifest) == nil {
		time.Sleep(50 * time.Millisecond)
	}
	k.must(k.ctx.Err())
}

// await waits until something has happened to an object of this test.
func (k *kit) await(kind, name, what string) lab.Entry {
	k.Helper()
	return k.awaitAfter(lab.Entry{}, kind, name, what)
}

func (k *kit) awaitAfter(after lab.Entry, kind, name, what string) lab.Entry {
	k.Helper()
	e, err := k.journal.Await(k.ctx, kind, name, what, after.Revision)
	k.must(err)
	return e
}

// wait waits until cond holds for an Application.
func (k *kit) wait(name string, cond func(o *unstructured.Unstructured) bool) *unstructured.Unstructured {
	k.Helper()
	o, err := k.lab.Wait(k.ctx, application, lab.Namespace, name, func(o *unstructured.Unstructured) bool { return o != nil && cond(o) })
	k.must(err)
	return o
}

func (k *kit) exists(kind, namespace, name string) bool {
	k.Helper()
	o, err := k.lab.Get(k.ctx, kind, namespace, name)
	k.must(err)
	return o != nil
}

// text returns a string in an object.
func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

// app is an Application; every field but name has a default. By default, manifests are not validated before they are applied: Argo CD reads
// the schema of the API server for each object and each apply, which is half of the processor time of a boot.
type app struct {
	name, path, wave, namespace string
	plugin                      string
	repo                        *lab.Repo
	policy                      string // syncPolicy, as YAML in flow style
	annotations                 map[string]string
}

func (k *kit) app(a app) string {
	if a.repo == nil {
		a.repo = k.repo
	}
	if a.namespace == "" {
		a.namespace = k.name
	}
	if a.policy == "" {
		a.policy = "{automated: {prune: true, selfHeal: true}, syncOptions: [CreateNamespace=true, Validate=false]}"
	}
	notes := ""
	if a.wave != "" {
		notes += fmt.Sprintf("    argocd.argoproj.io/sync-wave: %q\n", a.wave)
	}
	for key, value := range a.annotations {
		notes += fmt.Sprintf("    %s: %q\n", key, value)
	}
	if notes != "" {
		notes = "  annotations:\n" + notes
	}
	plugin := ""
	if a.plugin != "" {
		plugin = "\n    plugin: {name: " + a.plugin + "}"
	}
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: %s
  namespace: argocd
%sspec:
  project: default
  source:
    repoURL: %s
    targetRevision: main
    path: %q%s
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
  syncPolicy: %s
`, a.name, notes, a.repo.URL, a.path, plugin, a.namespace, a.policy)
}

// root applies an Application that deploys the folder "root" of the test's repository into Argo CD's namespace.
func (k *kit) root() string {
	k.Helper()
	name := k.name + "-root"
	k.apply(k.app(app{name: name, path: "root", namespace: lab.Namespace}))
	return name
}

// deployment is a Deployment that becomes healthy, or one whose pods find no node.
func deployment(name string, healthy bool) string {
	selector := "{}"
	if !healthy {
		selector = `{lab.example.com/none: "true"}`
	}
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]q}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]q}}
  template:
    metadata: {labels: {app: %[1]q}}
    spec:
      nodeSelector: %[2]s
      containers: [{name: main, image: registry.example.com/pause:1}]
`, name, selector)
}

func configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %q}\ndata: {value: %q}\n", name, value)
}

// settings changes keys of argocd-cm until the test ends.
func (k *kit) settings(values map[string]string) {
	k.Helper()
	k.settle(values, false)
}

// untouched are the values in argocd-cm of a lab before tests changed them.
var untouched = struct {
	sync.Mutex
	of map[*lab.Lab]map[string]string
}{of: map[*lab.Lab]map[string]string{}}

// settle changes keys of argocd-cm, if they have other values, and if only, restores all others. Nothing is restored when a test ends: with
// each change Argo CD forgets the whole cluster and reads it again, and two changes at once can make it miss what happens meanwhile.
func (k *kit) settle(want map[string]string, only bool) {
	k.Helper()
	untouched.Lock()
	defer untouched.Unlock()
	before := untouched.of[k.lab]
	if before == nil {
		before = map[string]string{}
		untouched.of[k.lab] = before
	}
	if len(want)+len(before) == 0 {
		return
	}
	now, err := k.lab.Get(k.ctx, "ConfigMap", lab.Namespace, "argocd-cm")
	k.must(err)
	changes := map[string]string{}
	if only {
		maps.Copy(changes, before)
	}
	for key, value := range want {
		if _, known := before[key]; !known {
			before[key] = text(now, "data", key)
		}
		changes[key] = value
	}
	maps.DeleteFunc(changes, func(key, value string) bool { return text(now, "data", key) == value })
	if len(changes) > 0 {
		k.must(k.lab.Patch(k.ctx, "ConfigMap", lab.Namespace, "argocd-cm", dataPatch(changes)))
	}
}

// ourCheck is the health check of "argosy health script applications", as a setting. With one that copies status.health, an Application
// that Argo CD has not compared yet may count as Healthy, and on a busy machine that takes long.
func ourCheck(t *testing.T) map[string]string {
	t.Helper()
	script, err := ourScript()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{healthKey: script}
}

var ourScript = sync.OnceValues(func() (string, error) {
	out, err := exec.Command(argosy, "health", "script", "applications").Output()
	return strings.TrimSpace(string(out)), err
})

func dataPatch(values map[string]string) string {
	parts := make([]string, 0, len(values))
	for key, value := range values {
		if value == "" {
			parts = append(parts, fmt.Sprintf("%q: null", key))
		} else {
			parts = append(parts, fmt.Sprintf("%q: %q", key, value))
		}
	}
	return `{"data": {` + strings.Join(parts, ", ") + `}}`
}

// plugin starts a stock argocd-cmp-server with a plugin that runs a shell script.
func (k *kit) plugin(name, script string, env ...string) {
	k.Helper()
	dir := k.TempDir()
	config := fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ConfigManagementPlugin
metadata: {name: %s}
spec:
  generate: {command: [sh, -c, %q]}
`, name, script)
	k.must(os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte(config), 0o644))
	p, err := k.lab.StockPlugin(k.ctx, name, dir, env...)
	k.must(err)
	k.Cleanup(p.Kill)
}

// refresh asks Argo CD to look at an application, "normal" or "hard", and waits until it has.
func (k *kit) refresh(name, how string) {
	k.Helper()
	k.must(k.lab.Patch(k.ctx, application, lab.Namespace, name, `{"metadata": {"annotations": {"argocd.argoproj.io/refresh": "`+how+`"}}}`))
	k.wait(name, func(o *unstructured.Unstructured) bool { return o.GetAnnotations()["argocd.argoproj.io/refresh"] == "" })
}
