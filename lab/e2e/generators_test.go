package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/argosy-cd/argosy/lab"
)

// rollingSet is a set with an Application for step one, and two for step two, of which one at a time is updated.
func (k *kit) rollingSet(name string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %[1]s, namespace: argocd}
spec:
  goTemplate: true
  strategy:
    type: RollingSync
    rollingSync:
      steps:
      - matchExpressions: [{key: step, operator: In, values: [one]}]
      - matchExpressions: [{key: step, operator: In, values: [two]}]
        maxUpdate: 1
  generators: [{list: {elements: [{app: c, step: two}, {app: b, step: two}, {app: a, step: one}]}}]
  template:
    metadata: {name: '%[1]s-{{.app}}', labels: {step: '{{.step}}'}}
    spec:
      project: default
      source: {repoURL: %[2]q, targetRevision: main, path: '{{.app}}'}
      destination: {server: https://kubernetes.default.svc, namespace: '%[1]s'}
      syncPolicy: {syncOptions: [CreateNamespace=true, Validate=false]}
`, name, k.repo.URL)
}

// TestRollingSync: the steps of a RollingSync are followed in order, by the stock controller and by the plugin, which makes sync waves of
// them. In step two, one Application is healthy before the other one begins.
func TestRollingSync(t *testing.T) {
	k := newKit(t, "rolling", ourCheck(t))
	k.plugins(native)
	files := map[string]string{"sets/set.yaml": k.rollingSet("rolling-ours")}
	for _, name := range []string{"a", "b", "c"} {
		files[name+"/d.yaml"] = deployment(name, true)
	}
	k.commit(files)
	k.apply(k.rollingSet("rolling-stock"), k.parent("rolling", "sets"))
	for _, set := range []string{"rolling-stock", "rolling-ours"} {
		begins := func(name string) lab.Entry {
			return lab.Entry{Kind: "Application", Name: set + name, What: "operation Running"}
		}
		healthy := func(name string) lab.Entry {
			return lab.Entry{Kind: "Application", Name: set + name, What: "health Healthy"}
		}
		for _, name := range []string{"-a", "-b", "-c"} {
			k.await("Application", set+name, "operation Succeeded")
			k.await("Application", set+name, "health Healthy")
		}
		for _, name := range []string{"-b", "-c"} {
			if !k.journal.Before(healthy("-a"), begins(name)) {
				t.Errorf("%s%s began before step one was healthy", set, name)
			}
		}
		if !k.journal.Before(healthy("-b"), begins("-c")) && !k.journal.Before(healthy("-c"), begins("-b")) {
			t.Errorf("both Applications of step two of %s were updated at once", set)
		}
	}
	// By the plugin they do not even exist before.
	k.healthyBefore("rolling-ours-a", "rolling-ours-b")
	k.healthyBefore("rolling-ours-a", "rolling-ours-c")
}

// TestPluginGenerator: a generator that asks an HTTP plugin, with its token, for the stock controller and for the plugin appset.
func TestPluginGenerator(t *testing.T) {
	k := newKit(t, "asks", ourCheck(t))
	k.plugins(native, "ARGOSY_GENERATOR_APIS=true")
	var asked [2]atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var question struct {
			Set   string `json:"applicationSetName"`
			Input struct {
				Parameters map[string]string `json:"parameters"`
			} `json:"input"`
		}
		if r.URL.Path != "/api/v1/getparams.execute" || r.Header.Get("Authorization") != "Bearer t0ken" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
			t.Error(err)
		}
		i := 0
		if strings.HasSuffix(question.Set, "ours") {
			i = 1
		}
		asked[i].Add(1)
		fmt.Fprintf(w, `{"output": {"parameters": [{"app": "x", "team": %[1]q}, {"app": "y", "team": %[1]q}]}}`, question.Input.Parameters["team"])
	}))
	t.Cleanup(server.Close)
	set := func(name string) string {
		return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %[1]s, namespace: argocd}
spec:
  goTemplate: true
  generators: [{plugin: {configMapRef: {name: asks-plugin}, input: {parameters: {team: shop}}}}]
  template:
    metadata: {name: '%[1]s-{{.app}}', labels: {team: '{{.team}}'}}
    spec:
      project: default
      source: {repoURL: %[2]q, targetRevision: main, path: app}
      destination: {server: https://kubernetes.default.svc, namespace: '%[1]s-{{.app}}'}
      syncPolicy: {automated: {}, syncOptions: [CreateNamespace=true, Validate=false]}
`, name, k.repo.URL)
	}
	k.commit(map[string]string{"app/cm.yaml": configMap("cm", "1"), "sets/set.yaml": set("asks-ours")})
	k.apply(fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata: {name: asks-plugin, namespace: %s}
data: {token: "$asks-token:token", baseUrl: %q, requestTimeout: "30"}
`, lab.Namespace, server.URL), fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: asks-token, namespace: %s, labels: {app.kubernetes.io/part-of: argocd}}
stringData: {token: t0ken}
`, lab.Namespace), set("asks-stock"), k.parent("asks", "sets"))
	for _, name := range []string{"asks-stock-x", "asks-stock-y", "asks-ours-x", "asks-ours-y"} {
		k.await("Application", name, "health Healthy")
		o, err := k.lab.Get(k.ctx, application, lab.Namespace, name)
		k.must(err)
		if labels := o.GetLabels(); labels["team"] != "shop" {
			t.Errorf("%s has the labels %v", name, labels)
		}
	}
	if asked[0].Load() == 0 || asked[1].Load() == 0 {
		t.Errorf("the plugin was asked %d times by the controller and %d times by us", asked[0].Load(), asked[1].Load())
	}
}

// TestAPIRights: with the component cmp-apis, the sidecar may get the Secret and the ConfigMap that a generator names, and no others.
func TestAPIRights(t *testing.T) {
	k := newKit(t, "apis", ourCheck(t))
	objects := k.sidecarManifests()
	apply := func(kind, name string) { k.applyOf(objects, kind, name) }
	apply("ServiceAccount", "argocd-repo-server")
	apply("Role", "argosy-cmp")
	apply("RoleBinding", "argosy-cmp")
	kubeconfig, err := k.lab.ServiceAccount(k.ctx, lab.Namespace, "argocd-repo-server")
	k.must(err)
	on := false
	for _, env := range k.sidecarContainer(objects).Object["env"].([]any) {
		m := env.(map[string]any)
		on = on || m["name"] == "ARGOSY_GENERATOR_APIS" && m["value"] == "true"
	}
	if !on {
		t.Error("the component does not turn APIs on")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t0ken" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		_, _ = fmt.Fprint(w, `{"output": {"parameters": [{"app": "x"}]}}`)
	}))
	t.Cleanup(server.Close)
	set := func(name, plugin string) string {
		return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %[1]s, namespace: argocd}
spec:
  goTemplate: true
  generators: [{plugin: {configMapRef: {name: %[3]s}}}]
  template:
    metadata: {name: '%[1]s-{{.app}}'}
    spec:
      project: default
      source: {repoURL: %[2]q, targetRevision: main, path: app}
      destination: {server: https://kubernetes.default.svc, namespace: '%[1]s-{{.app}}'}
      syncPolicy: {automated: {}, syncOptions: [CreateNamespace=true, Validate=false]}
`, name, k.repo.URL, plugin)
	}
	k.commit(map[string]string{
		"app/cm.yaml": configMap("cm", "1"), "sets/set.yaml": set("apis-set", "apis-plugin"),
		"others/set.yaml": set("apis-other", "apis-others"),
	})
	plugin := func(name, token string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {token: %q, baseUrl: %q}\n",
			name, lab.Namespace, "$"+token+":token", server.URL)
	}
	secret := func(name string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\nstringData: {token: t0ken}\n", name, lab.Namespace)
	}
	k.apply(plugin("apis-plugin", "apis-token"), plugin("apis-others", "apis-token"), secret("apis-token"), secret("apis-others"))
	k.plugins(native, "ARGOSY_GENERATOR_APIS=true", "ARGOSY_KUBECONFIG="+kubeconfig)
	k.apply(k.parent("apis", "sets"), k.parent("apis-beside", "others"))
	t.Log(k.failure("apis", "reading configmaps argocd/apis-plugin: forbidden"))
	apply("Role", "argosy-cmp-apis")
	apply("RoleBinding", "argosy-cmp-apis")
	k.refresh("apis", "hard")
	k.await("Application", "apis-set-x", "health Healthy")
	// Neither another ConfigMap nor, by the one that is allowed, another Secret.
	k.refresh("apis-beside", "hard")
	k.failure("apis-beside", "reading configmaps argocd/apis-others: forbidden")
	k.apply(plugin("apis-plugin", "apis-others"))
	k.refresh("apis", "hard")
	k.failure("apis", "reading secrets argocd/apis-others: forbidden")
}
