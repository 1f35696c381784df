package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// refused is an object that the API server refuses. While it is missing, it does not count: argocd-cm does not customize its kind.
const refused = "apiVersion: v1\nkind: Secret\nmetadata: {name: Not_A_Name}\n"

// byPlugin lets the plugin appset render the root.
var byPlugin = map[string]string{"root.yaml": strings.Replace(exampleApp("root", "apps", "", "plugin: {name: appset}"), "metadata:\n",
	"metadata:\n  namespace: argocd\n", 1)}

// exampleApp is an Application of the repository of the examples; more are further fields of its source.
func exampleApp(name, path, wave, more string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: %s
  annotations: {argocd.argoproj.io/sync-wave: %q}
spec:
  project: default
  source: {repoURL: %s, path: %s, %s}
  destination: {name: in-cluster, namespace: %s}
  syncPolicy: {automated: {selfHeal: true}}
`, name, wave, exampleURL, path, more, map[bool]string{true: lab.Namespace, false: name}[name == "root"])
}

func inHealth(status string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == status }
}

// proofs are rules whose failing example goes wrong in Argo CD 3.2.11 as the page of the rule says.
var proofs = map[string]proof{
	// Waves.
	"no-health-check":   {change: sick, see: passes(application)},
	"set-does-not-gate": {change: sick, see: passes("ConfigMap")},
	"health-check-always-healthy": {change: sick, see: func(t *tree) {
		t.application("web", inHealth("Progressing"))
		t.application("root", inHealth("Healthy"))
	}},
	"kind-does-not-gate": {see: func(t *tree) {
		t.appearsIn("ConfigMap", t.own("web"), "later")
		thing, err := t.lab.Get(t.ctx, "Thing.kind-does-not-gate.example.com", t.own("web"), t.own("thing"))
		t.must(err)
		if thing == nil || thing.Object["status"] != nil {
			t.Errorf("the thing has a status, or is not there: %v", thing)
		}
	}},
	"needs-cycle":   {change: byPlugin, see: func(t *tree) { t.refuses("they need each other") }},
	"needs-missing": {change: byPlugin, see: func(t *tree) { t.refuses("there is no Application") }},
	"needs-later": {change: map[string]string{"db/cm.yaml": deployment("db", false)}, see: func(t *tree) {
		t.application("db", inHealth("Progressing"))
		if !t.journal.Before(lab.Entry{Kind: "Application", Name: t.own("web"), What: "health Healthy"},
			lab.Entry{Kind: "Application", Name: t.own("db"), What: "created"}) {
			t.Error("web has waited for db")
		}
	}},
	// The nested Application cannot sync, so its child does not exist.
	"health-check-ignores-nested": {
		change:  map[string]string{"nested/first.yaml": inWave(refused, -1)},
		prepare: func(t *tree) { t.settings = nil }, // the check of most examples, which copies status.health, too
		see: func(t *tree) {
			t.appears("ConfigMap", "last")
			t.absent(application, "web")
		},
	},
	"cycle": {see: func(t *tree) {
		id := t.own("web") + ":argoproj.io/Application:argocd/" + t.own("root")
		t.application("root", func(o *unstructured.Unstructured) bool {
			return o.GetAnnotations()["argocd.argoproj.io/tracking-id"] == id
		})
	}},
	"updates-unordered": {
		prepare: func(t *tree) { _, t.settings = t.example("wave-gap") }, // a check that sees a new revision of a child
		change: map[string]string{
			"apps/web.yaml": exampleApp("web", "web", "1", "targetRevision: main"), "web/cm.yaml": configMap("web", "1"),
			"apps/db.yaml": exampleApp("db", "db", "0", ""), "db/d.yaml": deployment("db", true),
		},
		see: func(t *tree) {
			t.application("web", synced)
			second := t.write(map[string]string{"db/d.yaml": deployment("db", false), "web/cm.yaml": configMap("web", "2")})
			t.refresh(t.own("root"), "normal")
			t.operation("root", "waiting for healthy state of argoproj.io/Application/{db}")
			t.application("web", func(o *unstructured.Unstructured) bool {
				return text(o, "status", "operationState", "syncResult", "revision") == second
			})
		},
	},
	"pinned-by-paths": {see: func(t *tree) {
		t.application("web", synced)
		first := text(t.application("web", synced), "spec", "source", "targetRevision")
		second := t.write(map[string]string{"web/cm.yaml": configMap("web", "2")})
		t.refresh(t.own("root"), "normal")
		t.atRevision(t.own("root"), second)
		t.refresh(t.own("root"), "normal") // a sync would have begun
		if now := text(t.application("web", synced), "spec", "source", "targetRevision"); now != first || now == second {
			t.Errorf("web had the revision %s, and has %s", first, now)
		}
	}},
	"wave-in-set-template": {
		prepare: func(t *tree) {
			t.replace("apps/set.yaml", `[{name: web, wave: "1"}]`, `[{name: web, wave: "1"}, {name: last, wave: "2"}]`)
		},
		change: sick, see: passes(application),
	},
	// Argo CD never looks at this Application, so it never has a status.
	"health-check-without-status": {
		prepare: func(t *tree) {
			t.replace("apps/web.yaml", "  annotations:\n", "  annotations:\n    argocd.argoproj.io/skip-reconcile: \"true\"\n")
		},
		see: func(t *tree) {
			message := t.conditionOf("root", "ComparisonError")
			if !strings.Contains(message, "failed to get resource health") {
				t.Errorf("root: %s", message)
			}
			t.absent("ConfigMap", "last")
		},
	},
	"wave-inside-contradicts": {
		change: map[string]string{"apps/db.yaml": exampleApp("db", "db", "2", ""), "db/d.yaml": deployment("db", false)},
		see: func(t *tree) { // the object of wave 1 waits for the Application of wave 2
			t.operation("root", "waiting for healthy state of argoproj.io/Application/{db}")
			if t.exists("ConfigMap", t.own("web"), t.own("web")) {
				t.Error("the object is there")
			}
		},
	},
	"wave-gap": {see: func(t *tree) { t.application("c", synced) }},
	"hook-without-deadline": {
		prepare: func(t *tree) {
			t.replace("web/job.yaml", "restartPolicy: Never", "restartPolicy: Never\n      nodeSelector: {lab.example.com/none: \"true\"}")
		},
		see: func(t *tree) {
			t.operation("web", "waiting for completion of hook batch/Job/{migrate}")
			t.ignored("web", map[string]string{"web/job.yaml": "", "web/cm.yaml": configMap("fixed", "1")})
			if t.exists("ConfigMap", t.own("web"), t.own("fixed")) {
				t.Error("the fix was deployed")
			}
		},
	},
	// Prerequisites.
	"reference-later": {see: func(t *tree) {
		t.operation("web", "waiting for healthy state of /PersistentVolumeClaim/{data}")
		if t.exists("StorageClass.storage.k8s.io", "", t.own("fast")) {
			t.Error("the class is there")
		}
	}},
	"destination-unknown": {see: func(t *tree) { t.condition("InvalidSpecError") }},
	"destination-invalid": {see: func(t *tree) { t.condition("InvalidSpecError") }},
	"kind-later":          {see: func(t *tree) { t.operation("thing", "one or more synchronization tasks are not valid") }},
	"kind-missing":        {see: func(t *tree) { t.operation("thing", "one or more synchronization tasks are not valid") }},
	"namespace-later":     {see: func(t *tree) { t.operation("web", `namespaces "{web}" not found`) }},
	"namespace-missing":   {see: func(t *tree) { t.operation("web", `namespaces "{web}" not found`) }},
	"project-later":       {see: func(t *tree) { t.condition("InvalidSpecError") }},
	"project-missing":     {see: func(t *tree) { t.condition("InvalidSpecError") }},
	"project-forbids":     {see: func(t *tree) { t.condition("InvalidSpecError") }},
	"volume-waits":        {see: stops("web", "waiting for healthy state of /PersistentVolumeClaim/{data}", "Deployment.apps", "web")},
	"webhook-before-service": {
		prepare: (*tree).guardNamespace,
		change:  map[string]string{"web/cm.yaml": inWave(configMap("web", "1"), 1)},
		see:     func(t *tree) { t.operation("web", "failed calling webhook") },
	},
	"service-missing": {
		prepare: (*tree).guardNamespace,
		change:  map[string]string{"web/cm.yaml": inWave(configMap("web", "1"), 3)},
		see:     func(t *tree) { t.operation("web", `service "{guard}" not found`) },
	},
	"reference-missing": {
		prepare: func(t *tree) {
			for _, kind := range []string{"Certificate", "ClusterIssuer"} {
				t.apply(strings.NewReplacer("things", strings.ToLower(kind)+"s", "Thing", kind, "thing",
					strings.ToLower(kind)).Replace(definition("cert-manager.io")))
			}
		},
		change: map[string]string{"web/last.yaml": inWave(configMap("last", "1"), 1)},
		see: func(t *tree) {
			// What cert-manager writes, which is not here.
			for object, status := range map[string]string{
				"ClusterIssuer/lets-encrypt": `[{"type": "Ready", "status": "True"}]`,
				"Certificate/web": `[{"type": "Issuing", "status": "True", "reason": "DoesNotExist"},
					{"type": "Ready", "status": "False", "reason": "DoesNotExist", "message": "Issuing certificate as Secret does not exist"}]`,
			} {
				kind, name, _ := strings.Cut(object, "/")
				t.appearsIn(kind+".cert-manager.io", t.own("web"), name)
				t.must(t.lab.Patch(t.ctx, kind+".cert-manager.io", t.own("web"), t.own(name), `{"status": {"conditions": `+status+`}}`))
			}
			t.operation("web", "waiting for healthy state of cert-manager.io/Certificate/{web}")
			if t.exists("ConfigMap", t.own("web"), t.own("last")) {
				t.Error("the next wave is there")
			}
		},
	},
	"class-missing": {
		change: map[string]string{"web/last.yaml": inWave(configMap("last", "1"), 1)},
		see: func(t *tree) {
			t.operation("web", "waiting for healthy state of /PersistentVolumeClaim/{data}")
			if t.exists("ConfigMap", t.own("web"), t.own("last")) {
				t.Error("the next wave is there")
			}
		},
	},
	// Wedges.
	"gates-itself": {see: stops("root", "waiting for healthy state of argoproj.io/Application/{root}", "ConfigMap", "last")},
	"sync-by-hand": {change: well, see: stops("root", "waiting for healthy state of argoproj.io/Application/{web}", "ConfigMap", "last")},
	"retry-for-ever": {
		change: map[string]string{"web/cm.yaml": refused},
		see: func(t *tree) {
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
	"root-without-self-heal": {see: func(t *tree) {
		t.application("web", synced)
		t.must(t.lab.Delete(t.ctx, application, lab.Namespace, t.own("web")))
		t.application("root", func(o *unstructured.Unstructured) bool { return text(o, "status", "sync", "status") == "OutOfSync" })
		t.refresh(t.own("root"), "hard")
		t.absent(application, "web")
	}},
	"no-sync-timeout": {change: sick, see: func(t *tree) {
		t.operation("root", "waiting for healthy state of argoproj.io/Application/{web}")
		t.ignored("root", map[string]string{"apps/web.yaml": exampleApp("web", "good", "0", ""), "good/cm.yaml": configMap("good", "1")})
		if o := t.application("web", func(*unstructured.Unstructured) bool { return true }); text(o, "spec", "source", "path") != t.rule+"/web" {
			t.Error("the fix was deployed")
		}
	}},
	"argocd-gates-root": {
		prepare: func(t *tree) {
			t.replace("argocd/controller.yaml", "      containers:", "      nodeSelector: {lab.example.com/none: \"true\"}\n      containers:")
		},
		see: func(t *tree) {
			t.operation("root", "waiting for healthy state of argoproj.io/Application/{argocd}")
			t.absent("ConfigMap", "last")
			t.ignored("root", map[string]string{"apps/argocd.yaml": exampleApp("argocd", "good", "0", ""), "good/cm.yaml": configMap("good", "1")})
			if o := t.application("argocd", func(*unstructured.Unstructured) bool {
				return true
			}); text(o, "spec", "source", "path") != t.rule+"/argocd" {
				t.Error("the fix was deployed")
			}
		},
	},
	"s3-plugin-not-named": {
		change: map[string]string{"from-s3/cm.yaml": configMap("plain", "1")},
		prepare: func(t *tree) {
			t.replace("apps/web.yaml", "automated: {selfHeal: true}", "automated: {selfHeal: true, prune: true}")
			t.discovered = t.discover("s3", "s3-source.yaml", configMap("from-bucket", "1"))
		},
		see: func(t *tree) {
			t.application("from-s3", synced)
			if !t.exists("ConfigMap", t.own("from-s3"), "from-bucket") {
				t.Fatal("the plugin was not found, so this shows nothing")
			}
			t.discovered.Kill()
			t.must(os.Remove(filepath.Join(t.lab.PluginDir, "s3.sock")))
			t.refresh(t.own("from-s3"), "hard")
			t.gone("ConfigMap", t.own("from-s3"), "from-bucket")
			t.appearsIn("ConfigMap", t.own("from-s3"), "plain")
		},
	},
	// Loss.
	"name-template-changed": {see: func(t *tree) {
		t.application("web", synced)
		t.write(t.after)
		t.refresh(t.own("root"), "normal")
		t.application("app-web", synced)
		t.gone(application, lab.Namespace, t.own("web"))
	}},
	"generator-can-shrink": {
		prepare: func(t *tree) {
			t.replace("apps/set.yaml", "organization: example", "organization: example, api: "+t.gitHub("web"))
		},
		see: func(t *tree) {
			t.application("web", synced)
			t.hidden.Store(true) // the token has lost a right: the answer is shorter, and no error
			t.must(t.lab.Patch(t.ctx, set, lab.Namespace, t.own("from-api"),
				`{"metadata": {"annotations": {"argocd.argoproj.io/application-set-refresh": "true"}}}`))
			t.gone(application, lab.Namespace, t.own("web"))
			t.gone("ConfigMap", t.own("web"), t.own("web"))
		},
	},
	"finalizer-unknown": {see: func(t *tree) {
		t.application("web", synced)
		t.must(t.lab.Delete(t.ctx, application, lab.Namespace, t.own("web")))
		t.application("web", func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil })
	}},
	"application-is-hook": {change: map[string]string{"apps/first.yaml": configMap("first", "1")}, see: func(t *tree) {
		first := t.application("web", synced).GetUID()
		t.application("root", func(o *unstructured.Unstructured) bool {
			return text(o, "status", "operationState", "phase") == "Succeeded"
		})
		t.write(map[string]string{"apps/more.yaml": configMap("more", "1")})
		t.refresh(t.own("root"), "normal")
		t.application("web", func(o *unstructured.Unstructured) bool { return o.GetUID() != first })
	}},
	"name-changes": {see: func(t *tree) {
		t.application("web-head", synced)
		set := strings.Replace(t.files["apps/set.yaml"], "version: HEAD", "version: main", 1)
		t.write(map[string]string{"apps/set.yaml": set})
		t.refresh(t.own("root"), "normal")
		t.application("web-main", synced)
		t.gone(application, lab.Namespace, t.own("web-head"))
	}},
	"finalizer-added": {see: func(t *tree) {
		if o := t.application("web", synced); len(o.GetFinalizers()) == 0 {
			t.Error("finalizer-added: it has no finalizer")
		}
	}},
	"preserve-without-effect": {see: func(t *tree) {
		t.application("web", synced)
		t.must(t.lab.Delete(t.ctx, application, lab.Namespace, t.own("root"))) // which would make the set again
		t.must(t.lab.Delete(t.ctx, set, lab.Namespace, t.own("apps")))
		t.gone("ConfigMap", t.own("web"), t.own("web"))
	}},
	"delete-hook-without-source": {see: func(t *tree) {
		t.application("web", synced)
		// Argo CD must not compare before it deletes: without the source it would find no hook, and remove the finalizer of hooks.
		t.repo.Quiet = true
		t.write(map[string]string{"web/cm.yaml": "", "web/clean.yaml": ""})
		t.must(t.lab.Patch(t.ctx, set, lab.Namespace, t.own("apps"),
			`{"metadata": {"annotations": {"argocd.argoproj.io/application-set-refresh": "true"}}}`))
		t.application("web", func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil })
		t.condition("DeletionError")
	}},
	"allow-empty": {see: func(t *tree) {
		t.application("web", synced)
		t.write(map[string]string{"web/cm.yaml": "", "web/README.md": "#\n"})
		t.refresh(t.own("web"), "normal")
		t.gone("ConfigMap", t.own("web"), t.own("web"))
	}},
	"no-finalizer": {see: func(t *tree) {
		t.application("web", synced)
		t.write(map[string]string{"apps/web.yaml": "", "apps/more.yaml": configMap("more", "1")})
		t.refresh(t.own("root"), "normal")
		t.gone(application, lab.Namespace, t.own("web"))
		if !t.exists("ConfigMap", t.own("web"), t.own("web")) {
			t.Error("no-finalizer: the object is gone, too")
		}
	}},
}

// replace changes a text in a file of the example.
func (t *tree) replace(file, old, with string) {
	t.Helper()
	if !strings.Contains(t.files[file], old) {
		t.Fatalf("%s has no %q", file, old)
	}
	t.files[file] = strings.Replace(t.files[file], old, with, 1)
}

// refuses waits until the root cannot be rendered, with a text in the reason.
func (t *tree) refuses(reason string) {
	t.Helper()
	if message := t.conditionOf("root", "ComparisonError"); !strings.Contains(message, reason) {
		t.Errorf("%s: %s", t.rule, message)
	}
}

// ignored commits a fix that a running operation keeps from being deployed: Argo CD has compared it, and goes on with the old commit.
func (t *tree) ignored(name string, fix map[string]string) {
	t.Helper()
	fixed := t.write(fix)
	t.refresh(t.own(name), "hard")
	t.atRevision(t.own(name), fixed)
	t.refresh(t.own(name), "normal") // a sync would have begun
	o := t.application(name, func(*unstructured.Unstructured) bool { return true })
	if text(o, "status", "operationState", "phase") != "Running" || text(o, "status", "operationState", "syncResult", "revision") == fixed {
		t.Errorf("%s: %v", t.rule, o.Object["status"].(map[string]any)["operationState"])
	}
}

// guardNamespace restricts the webhook of the example to its namespace: others boot beside it.
func (t *tree) guardNamespace() {
	t.replace("web/webhook.yaml", "    sideEffects:",
		"    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "+t.own("web")+"}}\n    sideEffects:")
}

// discover starts a plugin that Argo CD finds by a file, and that answers with a manifest.
func (t *tree) discover(name, file, answer string) *lab.Process {
	t.Helper()
	dir := t.TempDir()
	t.must(os.WriteFile(filepath.Join(dir, "plugin.yaml"), fmt.Appendf(nil, `apiVersion: argoproj.io/v1alpha1
kind: ConfigManagementPlugin
metadata: {name: %s}
spec:
  discover: {fileName: ./%s}
  generate: {command: [printf, "%%s", %q]}
`, name, file, answer), 0o644))
	p, err := t.lab.StockPlugin(t.ctx, name, dir)
	t.must(err)
	t.Cleanup(p.Kill)
	return p
}

// gitHub serves an organization with one repository, the API of GitHub as far as a generator asks it. The token sees nothing when
// hidden is set.
func (t *tree) gitHub(name string) string {
	t.hidden = new(atomic.Bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.Path, "/branches") {
			fmt.Fprintln(w, `{"name": "main", "commit": {"sha": "0123456789012345678901234567890123456789"}}`)
			return
		}
		if t.hidden.Load() {
			fmt.Fprintln(w, "[]")
			return
		}
		fmt.Fprintf(w, `[{"id": 1, "name": %q, "default_branch": "main", "clone_url": %q, "owner": {"login": "example"}}]`, name, exampleURL)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
