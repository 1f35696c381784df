package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// proof boots the failing example of a rule.
type proof struct {
	// change are files of the example that are others here, such as a workload that never becomes healthy.
	change map[string]string
	// see looks at what goes wrong.
	see func(t *tree)
}

// sick is a workload that never becomes healthy.
var sick = map[string]string{"web/cm.yaml": deployment("web", false)}

// well is one that has a health check.
var well = map[string]string{"web/cm.yaml": deployment("web", true)}

// passes: a wave does not wait for an Application that is not healthy.
func passes(kind, last string) func(t *tree) {
	return func(t *tree) {
		t.appears(kind, last)
		t.application("web", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Progressing" })
	}
}

// stops: a sync waits for something for ever, and what comes behind it is not there.
func stops(app, message, kind, last string) func(t *tree) {
	return func(t *tree) {
		t.operation(app, message)
		t.absent(kind, last)
	}
}

// proofs are rules whose failing example goes wrong in Argo CD 3.2.11 as the page of the rule says.
var proofs = map[string]proof{
	// Waves.
	"no-health-check":   {sick, passes(application, "last")},
	"set-does-not-gate": {sick, passes("ConfigMap", "last")},
	"health-check-always-healthy": {sick, func(t *tree) {
		t.application("web", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Progressing" })
		t.application("root", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Healthy" })
	}},
	"kind-does-not-gate": {nil, func(t *tree) {
		_, err := t.lab.Wait(t.ctx, "ConfigMap", t.own("web"), t.own("later"), func(o *unstructured.Unstructured) bool { return o != nil })
		t.must(err)
		thing, err := t.lab.Get(t.ctx, "Thing.kind-does-not-gate.example.com", t.own("web"), t.own("thing"))
		t.must(err)
		if thing == nil || thing.Object["status"] != nil {
			t.Errorf("the thing has a status, or is not there: %v", thing)
		}
	}},
	"hook-needs-later": {nil, func(t *tree) {
		t.operation("web", "waiting for completion of hook batch/Job/{migrate}")
		if t.exists("ServiceAccount", t.own("web"), t.own("migrate")) {
			t.Error("the account is there")
		}
	}},
	// Prerequisites.
	"reference-later": {nil, func(t *tree) {
		t.operation("web", "waiting for healthy state of /PersistentVolumeClaim/{data}")
		if t.exists("StorageClass.storage.k8s.io", "", t.own("fast")) {
			t.Error("the class is there")
		}
	}},
	"destination-unknown": {nil, func(t *tree) { t.condition("InvalidSpecError") }},
	"destination-invalid": {nil, func(t *tree) { t.condition("InvalidSpecError") }},
	"kind-later":          {nil, func(t *tree) { t.operation("thing", "one or more synchronization tasks are not valid") }},
	"kind-missing":        {nil, func(t *tree) { t.operation("thing", "one or more synchronization tasks are not valid") }},
	"namespace-later":     {nil, func(t *tree) { t.operation("web", `namespaces "{web}" not found`) }},
	"namespace-missing":   {nil, func(t *tree) { t.operation("web", `namespaces "{web}" not found`) }},
	"project-later":       {nil, func(t *tree) { t.condition("InvalidSpecError") }},
	"project-missing":     {nil, func(t *tree) { t.condition("InvalidSpecError") }},
	"project-forbids":     {nil, func(t *tree) { t.condition("InvalidSpecError") }},
	"volume-waits":        {nil, stops("web", "waiting for healthy state of /PersistentVolumeClaim/{data}", "Deployment.apps", "web")},
	// Wedges.
	"gates-itself": {nil, stops("root", "waiting for healthy state of argoproj.io/Application/{root}", "ConfigMap", "last")},
	"sync-by-hand": {well, stops("root", "waiting for healthy state of argoproj.io/Application/{web}", "ConfigMap", "last")},
	"retry-for-ever": {
		map[string]string{"web/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\n"},
		func(t *tree) {
			t.operation("web", "Retrying attempt #2")
			fixed := t.write(map[string]string{"web/cm.yaml": configMap("web", "1")})
			t.refresh(t.own("web"), "hard")
			t.operation("web", "Retrying attempt #3")
			o := t.application("web", func(*unstructured.Unstructured) bool { return true })
			if got := text(o, "status", "operationState", "syncResult", "revision"); got == fixed {
				t.Errorf("the operation has found the commit that mends it")
			}
		},
	},
	"root-without-self-heal": {nil, func(t *tree) {
		t.application("web", synced)
		t.must(t.lab.Delete(t.ctx, application, lab.Namespace, t.own("web")))
		t.application("root", func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "OutOfSync" })
		t.refresh(t.own("root"), "hard")
		t.absent(application, "web")
	}},
	// Loss.
	"finalizer-unknown": {nil, func(t *tree) {
		t.application("web", synced)
		t.must(t.lab.Delete(t.ctx, application, lab.Namespace, t.own("web")))
		t.application("web", func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil })
	}},
	"application-is-hook": {map[string]string{"apps/first.yaml": configMap("first", "1")}, func(t *tree) {
		first := t.application("web", synced).GetUID()
		t.application("root", func(o *unstructured.Unstructured) bool {
			return text(o, "status", "operationState", "phase") == "Succeeded"
		})
		t.write(map[string]string{"apps/more.yaml": configMap("more", "1")})
		t.refresh(t.own("root"), "normal")
		t.application("web", func(o *unstructured.Unstructured) bool { return o.GetUID() != first })
	}},
	"name-changes": {nil, func(t *tree) {
		t.application("web-head", synced)
		set := strings.Replace(t.files["apps/set.yaml"], "version: HEAD", "version: main", 1)
		t.write(map[string]string{"apps/set.yaml": set})
		t.refresh(t.own("root"), "normal")
		t.application("web-main", synced)
		t.gone(application, lab.Namespace, t.own("web-head"))
	}},
	"finalizer-added": {nil, func(t *tree) {
		if o := t.application("web", synced); len(o.GetFinalizers()) == 0 {
			t.Error("finalizer-added: it has no finalizer")
		}
	}},
	"preserve-without-effect": {nil, func(t *tree) {
		t.application("web", synced)
		t.must(t.lab.Delete(t.ctx, application, lab.Namespace, t.own("root"))) // which would make the set again
		t.must(t.lab.Delete(t.ctx, set, lab.Namespace, t.own("apps")))
		t.gone("ConfigMap", t.own("web"), t.own("web"))
	}},
	"delete-hook-without-source": {nil, func(t *tree) {
		t.application("web", synced)
		t.write(map[string]string{"web/cm.yaml": "", "web/clean.yaml": ""})
		t.must(t.lab.Patch(t.ctx, set, lab.Namespace, t.own("apps"),
			`{"metadata": {"annotations": {"argocd.argoproj.io/application-set-refresh": "true"}}}`))
		t.application("web", func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil })
		t.condition("DeletionError")
	}},
	"allow-empty": {nil, func(t *tree) {
		t.application("web", synced)
		t.write(map[string]string{"web/cm.yaml": "", "web/README.md": "#\n"})
		t.refresh(t.own("web"), "normal")
		t.gone("ConfigMap", t.own("web"), t.own("web"))
	}},
	"no-finalizer": {nil, func(t *tree) {
		t.application("web", synced)
		t.write(map[string]string{"apps/web.yaml": "", "apps/more.yaml": configMap("more", "1")})
		t.refresh(t.own("root"), "normal")
		t.gone(application, lab.Namespace, t.own("web"))
		if !t.exists("ConfigMap", t.own("web"), t.own("web")) {
			t.Error("no-finalizer: the object is gone, too")
		}
	}},
}

func synced(o *unstructured.Unstructured) bool {
	return text(o, "status", "sync", "status") == "Synced"
}

// gone waits until an object is not there.
func (t *tree) gone(kind, namespace, name string) {
	t.Helper()
	_, err := t.lab.Wait(t.ctx, kind, namespace, name, func(o *unstructured.Unstructured) bool { return o == nil })
	t.must(err)
}

// TestLint boots the failing examples of argosy lint. Those with one health check of Applications boot beside each other.
func TestLint(t *testing.T) {
	k := newKit(t, "lint")
	groups := map[string][]*tree{}
	for _, rule := range slices.Sorted(maps.Keys(proofs)) {
		tree := k.newTree(rule)
		maps.Copy(tree.files, proofs[rule].change)
		check := tree.settings[healthKey]
		if tree.settings == nil {
			check = seedLua
		}
		groups[check] = append(groups[check], tree)
	}
	k.settings(map[string]string{healthKey: seedLua})
	for i, check := range slices.Sorted(maps.Keys(groups)) {
		k.must(k.lab.Patch(k.ctx, "ConfigMap", lab.Namespace, "argocd-cm", dataPatch(map[string]string{healthKey: check})))
		t.Run(fmt.Sprint("check", i), func(t *testing.T) {
			for _, tree := range groups[check] {
				tree.boot()
				t.Run(tree.rule, func(t *testing.T) {
					t.Parallel()
					own := *tree.kit
					own.T = t
					tree.kit = &own
					proofs[tree.rule].see(tree)
				})
			}
		})
	}
}

// TestCRDsStay is why no rule is about CRDs that are pruned: Argo CD gives a CRD no tracking, so it does not prune one that a source has
// lost.
func TestCRDsStay(t *testing.T) {
	k := newKit(t, "crds")
	k.commit(map[string]string{"app/crd.yaml": definition("stays.example.com"), "app/a.yaml": configMap("crds-a", "1")})
	k.apply(k.app(app{name: "crds", path: "app"}))
	k.await("ConfigMap", "crds-a", "created")
	k.await("CustomResourceDefinition", "things.stays.example.com", "created")
	k.commit(map[string]string{"app/crd.yaml": "", "app/a.yaml": "", "app/b.yaml": configMap("crds-b", "1")})
	k.refresh("crds", "normal")
	k.await("ConfigMap", "crds-a", "deleted")
	if !k.exists("CustomResourceDefinition.apiextensions.k8s.io", "", "things.stays.example.com") {
		t.Error("the CRD was pruned")
	}
}

// TestLintPages: the page of a rule says that the lab boots its example if that is so.
func TestLintPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/lint/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(err, pages)
	}
	var named []string
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(data), "\n## ")[1:] {
			if rule, text, _ := strings.Cut(part, "\n"); strings.Contains(text, "`TestLint`") {
				named = append(named, rule)
			}
		}
	}
	slices.Sort(named)
	if want := slices.Sorted(maps.Keys(proofs)); !slices.Equal(want, named) {
		t.Errorf("the pages name %v, and the proofs are %v", named, want)
	}
}
