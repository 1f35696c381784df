package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// Ways to run our plugins beside a repo-server.
const (
	native = "native" // argosy cmp, which speaks Argo CD's protocol itself
	stock  = "stock"  // Argo CD's own plugin server, which runs our commands
)

// clusterEnvironment lets our plugins read what Argo CD keeps in the cluster.
func (k *kit) clusterEnvironment() []string {
	return []string{"ARGOSY_KUBECONFIG=" + k.lab.Kubeconfig, "ARGOSY_ARGOCD_NAMESPACE=" + lab.Namespace}
}

// plugins starts our plugins, one way or the other, and returns the way to stop them.
func (k *kit) plugins(how string, env ...string) []*lab.Process {
	k.Helper()
	env = append(append(k.s3Environment(), k.clusterEnvironment()...), env...)
	var out []*lab.Process
	if how == native {
		for n, dir := range k.lab.PluginDirs {
			address, err := lab.FreeAddress()
			k.must(err)
			name := "argosy-cmp"
			if n > 0 {
				name = fmt.Sprintf("%s-%d", name, n+1)
			}
			p, err := k.lab.Run(k.ctx, name, argosy, []string{"cmp", "--socket-dir", dir, "--listen", address}, env,
				lab.Answers("http://"+address+"/readyz"))
			k.must(err)
			out = append(out, p)
		}
	} else {
		for _, name := range []string{"appset", "s3"} {
			config, err := filepath.Abs("../../deploy/" + name + "-cmp")
			k.must(err)
			p, err := k.lab.StockPlugin(k.ctx, name, config, env...)
			k.must(err)
			out = append(out, p)
		}
	}
	k.Cleanup(func() {
		for _, p := range out {
			p.Kill()
		}
		for _, dir := range k.lab.PluginDirs {
			_ = errors.Join(os.Remove(filepath.Join(dir, "appset.sock")), os.Remove(filepath.Join(dir, "s3.sock")))
		}
	})
	return out
}

// listSpec is the spec of a set with one Application for each name.
func (k *kit) listSpec(value string, names ...string) string {
	elements := make([]string, len(names))
	for i, name := range names {
		elements[i] = fmt.Sprintf("{name: %q}", name)
	}
	return fmt.Sprintf(`generators: [{list: {elements: [%s]}}]
template:
  metadata: {name: '{{name}}', labels: {value: %q}, finalizers: []}
  spec:
    project: default
    source: {repoURL: %q, path: app, targetRevision: main, directory: {include: '*.yaml'}}
    destination: {server: https://kubernetes.default.svc, namespace: '{{name}}'}
    syncPolicy: {automated: {}, syncOptions: [CreateNamespace=true, Validate=false]}
`, strings.Join(elements, ", "), value, k.repo.URL)
}

// setApp is an Application whose plugin is appset.
func (k *kit) setApp(name, project string, parameters ...string) string {
	var list []string
	for i := 0; i < len(parameters); i += 2 {
		list = append(list, fmt.Sprintf("{name: %q, string: %q}", parameters[i], parameters[i+1]))
	}
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s}
spec:
  project: %s
  source:
    repoURL: %s
    path: app
    targetRevision: main
    plugin: {name: appset, parameters: [%s]}
  destination: {server: https://kubernetes.default.svc, namespace: %s}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
`, name, lab.Namespace, project, k.repo.URL, strings.Join(list, ", "), lab.Namespace)
}

// TestPlugin is the appset plugin with the real repo-server and controller: a spec becomes Applications, which follow it; what
// is wrong is said in the Application's status, and nothing is lost.
func TestPlugin(t *testing.T) {
	t.Parallel()
	for _, how := range []string{native, stock} {
		t.Run(how, func(t *testing.T) {
			k := newKit(t, "plug-"+how)
			p := k.name
			k.plugins(how)
			k.commit(map[string]string{"app/cm.yaml": configMap("cm", "1")})
			names := make([]string, 8)
			for i := range names {
				names[i] = fmt.Sprintf("%s-%d", p, i)
			}
			k.apply(k.setApp(p, "default", "spec", k.listSpec("one", names...)))
			for _, name := range names {
				k.await("Application", name, "sync Synced")
				k.await("Application", name, "health Healthy")
			}
			k.await("Application", p, "health Healthy")

			// A change of the spec.
			k.apply(k.setApp(p, "default", "spec", k.listSpec("two", names...)))
			k.wait(names[7], func(o *unstructured.Unstructured) bool { return o.GetLabels()["value"] == "two" })

			// An element less: its Application goes.
			k.apply(k.setApp(p, "default", "spec", k.listSpec("two", names[:7]...)))
			k.await("Application", names[7], "deleted")

			// An error: it is said, and nothing goes.
			k.apply(k.setApp(p, "default", "spec", k.listSpec("two", append(names[:2:2], "NOT_A_NAME")...)))
			message := k.failure(p, `metadata.name: "NOT_A_NAME" is not a name that Kubernetes allows`)
			t.Log("error in the spec:", message)

			// Too much would go: six of seven, and one is gone already in this hour. The stock plugin is a new process for each call, and knows
			// this only if Argo CD has not synced once more since.
			k.apply(k.setApp(p, "default", "spec", k.listSpec("two", names[0])))
			refusal := "this answer would delete 6 "
			if how == native {
				refusal += "Applications, which makes 7 of 8 in the last hour, and at most 4 may be deleted in an hour: " + strings.Join(names[1:7], ", ")
			}
			message = k.failure(p, refusal)
			t.Log("guard:", message)
			for _, name := range names[:7] {
				if !k.exists(application, lab.Namespace, name) {
					t.Errorf("%s was deleted", name)
				}
			}
			k.apply(k.setApp(p, "default", "spec", k.listSpec("two", names[0]), "max-delete", "7"))
			for _, name := range names[1:7] {
				k.await("Application", name, "deleted")
			}

			// A parameter that nobody knows.
			k.apply(k.setApp(p, "default", "spec", k.listSpec("two", names[0]), "max-deletes", "6"))
			t.Log("parameter:", k.failure(p, `there is no parameter "max-deletes"`))

			// Another project may not generate for default.
			k.project(p)
			k.apply(k.setApp(p+"-team", p, "spec", k.listSpec("one", p+"-team-a")))
			t.Log("policy:", k.failure(p+"-team",
				fmt.Sprintf(`Application "%s-team-a": project "default" is refused: its parent is in project %q`, p, p)))
		})
	}
}

// project makes an AppProject that may do everything.
func (k *kit) project(name string) {
	k.Helper()
	k.apply("apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: " + name +
		", namespace: argocd}\nspec: {sourceRepos: ['*'], destinations: [{namespace: '*', server: '*'}]}\n")
}

// TestPluginParameters: Argo CD's API has the plugin's parameters, which is where its user interface takes them from.
func TestPluginParameters(t *testing.T) {
	t.Parallel()
	for _, how := range []string{native, stock} {
		t.Run(how, func(t *testing.T) {
			k := newKit(t, "params-"+how)
			k.plugins(how)
			k.commit(map[string]string{"app/cm.yaml": configMap("cm", "1")})
			body := fmt.Sprintf(`{"source": {"repoURL": %q, "path": "app", "targetRevision": "main", "plugin": {"name": "appset"}}, "appName": "x", "appProject": "default"}`, k.repo.URL)
			req, err := http.NewRequestWithContext(k.ctx, http.MethodPost,
				k.lab.ArgoCDURL+"/api/v1/repositories/"+url.QueryEscape(k.repo.URL)+"/appdetails", strings.NewReader(body))
			k.must(err)
			req.Header.Set("Authorization", "Bearer "+k.lab.ArgoCDToken)
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(req)
			k.must(err)
			defer res.Body.Close()
			answer, err := io.ReadAll(res.Body)
			k.must(err)
			var details struct {
				Plugin struct {
					ParametersAnnouncement []struct{ Name, Title, Tooltip, String string }
				}
			}
			k.must(json.Unmarshal(answer, &details))
			var names []string
			for _, p := range details.Plugin.ParametersAnnouncement {
				if p.Title == "" || p.Tooltip == "" {
					t.Errorf("%+v", p)
				}
				names = append(names, p.Name+"="+p.String)
			}
			if got := strings.Join(names, " "); got != "spec= recurse=false allow-empty=false max-delete= prune-sets=false pin=false pin-branch=" {
				t.Errorf("%s: %s", got, answer)
			}
		})
	}
}

// TestPluginPolicy: rules of a policy file decide what is generated for whom, and which repositories generators read.
func TestPluginPolicy(t *testing.T) {
	k := newKit(t, "rule")
	k.project("rule")
	file := filepath.Join(t.TempDir(), "policy.yaml")
	server, _, _ := strings.Cut(strings.TrimPrefix(k.repo.URL, "http://"), "/")
	k.must(os.WriteFile(file, []byte(`projects:
- name: rule
  applications:
  - projects: [default]
    destinations: [{namespace: rule-*}]
    repositories: ["http://`+server+`/rule.git"]
`), 0o644))
	k.plugins(native, "ARGOSY_POLICY="+file)
	k.commit(map[string]string{"app/cm.yaml": configMap("cm", "1")})
	other, err := k.lab.Repo(k.ctx, "rule-other")
	k.must(err)
	spec := k.listSpec("one", "rule-a")
	k.apply(
		k.setApp("rule", "rule", "spec", spec),
		k.setApp("rule-elsewhere", "rule", "spec", k.listSpec("one", "kube-system")),
		k.setApp("rule-project", "rule", "spec", strings.Replace(spec, "project: default", "project: infra", 1)),
		k.setApp("rule-default", "default", "spec", spec),
		k.setApp("rule-generator", "rule", "spec", strings.Replace(spec, "generators: [",
			"generators: [{git: {repoURL: "+other.URL+", revision: main, directories: [{path: '*'}]}}, ", 1)),
	)
	k.await("Application", "rule-a", "health Healthy")
	const refused = "refused by "
	for name, want := range map[string]string{
		"rule-elsewhere": `Application "kube-system": ` + refused + file +
			` for project "rule": projects[0].applications[0].destinations does not include namespace "kube-system"`,
		"rule-project":   `projects[0].applications[0].projects does not include "infra"`,
		"rule-default":   `no entry of projects is for project "default"`,
		"rule-generator": `projects[0].applications[0].repositories does not include "` + other.URL + `"`,
	} {
		t.Log(k.failure(name, want))
	}
}

// TestGapClosed is TestGap with sets that our plugin renders: wave 2 waits for the Applications of the set in wave 1, and
// follows by itself when they are repaired.
func TestGapClosed(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(k *kit) map[string]string{
		// The root itself uses the plugin: its set is replaced by Applications in wave 1.
		"folder": func(k *kit) map[string]string {
			return map[string]string{"root/set.yaml": k.set(k.name+"-set", "1", app{name: k.name + "-x", path: "x"})}
		},
		// The root has an Application in the place of the set.
		"spec": func(k *kit) map[string]string {
			set := k.set(k.name+"-set", "1", app{name: k.name + "-x", path: "x"})
			a := k.setApp(k.name+"-set", "default", "spec", set)
			return map[string]string{"root/set.yaml": strings.Replace(a, "namespace: argocd}",
				`namespace: argocd, annotations: {argocd.argoproj.io/sync-wave: "1"}}`, 1)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, "closed-"+name, ourCheck(t))
			k.plugins(native)
			files := build(k)
			files["x/d.yaml"], files["y/d.yaml"] = deployment("x", false), deployment("y", true)
			files["app/none"] = "x"
			files["root/y.yaml"] = k.app(app{name: k.name + "-y", path: "y", wave: "2"})
			k.commit(files)
			plugin := ""
			if name == "folder" {
				plugin = "appset"
			}
			root := k.name + "-root"
			k.apply(k.app(app{name: root, path: "root", namespace: lab.Namespace, plugin: plugin}))
			k.await("Application", k.name+"-x", "health Progressing")
			child := map[string]string{"folder": k.name + "-x", "spec": k.name + "-set"}[name]
			k.waitsFor(root, child)
			if k.exists(application, lab.Namespace, k.name+"-y") {
				t.Fatal("wave 2 was created")
			}
			k.commit(map[string]string{"x/d.yaml": deployment("x", true)})
			k.await("Application", k.name+"-y", "health Healthy")
			k.healthyBefore(k.name+"-x", k.name+"-y")
			k.await("Application", root, "health Healthy")
		})
	}
}

// TestPluginKilled: the sidecar is killed in the middle of a request. Argo CD says so, nothing is lost, and it goes on by
// itself when the sidecar is back, whose sockets are left over from before.
func TestPluginKilled(t *testing.T) {
	k := newKit(t, "killed")
	sidecar := k.plugins(native)[0]
	k.commit(map[string]string{"app/cm.yaml": configMap("cm", "1")})
	k.apply(k.setApp("killed", "default", "spec", k.listSpec("one", "killed-a")))
	k.await("Application", "killed-a", "health Healthy")

	// A generator that reads a repository which does not answer holds the request.
	silent, err := lab.FreeAddress()
	k.must(err)
	listener, err := (&net.ListenConfig{}).Listen(k.ctx, "tcp", silent)
	k.must(err)
	defer listener.Close()
	asked := make(chan struct{}, 100)
	go func() {
		for {
			if _, err := listener.Accept(); err != nil {
				return
			}
			asked <- struct{}{}
		}
	}()
	spec := k.listSpec("two", "killed-a", "killed-b")
	held := strings.Replace(spec, "generators: [", "generators: [{git: {repoURL: http://"+silent+
		"/x, revision: main, directories: [{path: '*'}]}}, ", 1)
	k.apply(k.setApp("killed", "default", "spec", held))
	select {
	case <-asked:
	case <-k.ctx.Done():
		t.Fatal("the generator did not ask")
	}
	sidecar.Kill()
	t.Log(k.failure("killed", "rpc error"))
	if !k.exists(application, lab.Namespace, "killed-a") {
		t.Error("killed-a was deleted")
	}
	k.must(sidecar.Start(k.ctx))
	k.apply(k.setApp("killed", "default", "spec", spec))
	k.await("Application", "killed-b", "health Healthy")
}

// TestPluginFolder is a folder of an app-of-apps, that of examples/cluster, by adding the plugin's name to its root: all sets
// are replaced by their Applications, in their waves.
func TestPluginFolder(t *testing.T) {
	k := newKit(t, "folder")
	k.plugins(native)
	repo, dir := exampleRepo(k.ctx, t, k.lab, true)
	root := k.app(app{
		name: "folder", path: "infrastructure/controllers/argocd/apps", namespace: lab.Namespace, plugin: "appset",
		repo: repo, policy: "{}",
	})
	k.apply(root)
	o := k.wait("folder", func(o *unstructured.Unstructured) bool {
		resources, _, _ := unstructured.NestedSlice(o.Object, "status", "resources")
		return len(resources) > 0
	})
	waves := map[string]int64{}
	resources, _, _ := unstructured.NestedSlice(o.Object, "status", "resources")
	for _, r := range resources {
		m := r.(map[string]any)
		if m["kind"] != "Application" {
			t.Errorf("%v %v", m["kind"], m["name"])
		}
		wave, _ := m["syncWave"].(int64)
		waves[m["name"].(string)] = wave
	}
	rendered := generate(k.ctx, t, repo.URL+"="+dir, filepath.Join(dir, "infrastructure/controllers/argocd/apps"))
	for name := range rendered {
		if _, ok := waves[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	if len(waves) != len(rendered)+9 {
		t.Errorf("%d Applications, want %d and the 9 that are no set's: %v", len(waves), len(rendered), waves)
	}
	for name, want := range map[string]int64{
		"cilium": 0, "longhorn": 1, "pvc-plumber": 2, "cert-manager": 4, "tempo": 5,
		"media-jellyfin": 6,
	} {
		if waves[name] != want {
			t.Errorf("%s is in wave %d, want %d", name, waves[name], want)
		}
	}
}

// TestEngines: both engines give the same Applications, on the command line and as plugins.
func TestEngines(t *testing.T) {
	k := newKit(t, "engine")
	server := []string{"--engine", "argocd", "--argocd-server", k.lab.ArgoCDURL}
	token := filepath.Join(t.TempDir(), "token")
	k.must(os.WriteFile(token, []byte(k.lab.ArgoCDToken+"\n"), 0o600))
	k.commit(map[string]string{
		"app/cm.yaml": configMap("cm", "1"), "apps/a/cm.yaml": configMap("a", "1"),
		"apps/b/cm.yaml": configMap("b", "1"),
	})
	git := fmt.Sprintf("  - git: {repoURL: %q, revision: main, directories: [{path: apps/*}]}\n", k.repo.URL)
	set := func(name, generators, expression string) string {
		return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %[1]s, namespace: argocd, annotations: {argocd.argoproj.io/sync-wave: "3"}}
spec:
  goTemplate: true
  generators:
%[2]s  template:
    metadata: {name: '%[1]s-%[3]s', labels: {a: b}}
    spec:
      project: default
      sources: [{repoURL: %[4]q, path: app, targetRevision: main, directory: {include: '*.yaml'}}]
      destination: {server: https://kubernetes.default.svc, namespace: engine}
      syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true, Validate=false], retry: {limit: 3, backoff: {duration: 5s}}}
      ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}]
`, name, generators, expression, k.repo.URL)
	}
	sets := map[string]string{
		"git":     set("engine-git", git, "{{ .path.basename }}"),
		"list":    set("engine-list", "  - list: {elements: [{name: x}, {name: y}]}\n", "{{ .name }}"),
		"cluster": set("engine-cluster", "  - clusters: {}\n", "{{ .nameNormalized }}"),
	}
	for name, text := range sets {
		dir := k.directory(map[string]string{
			"set.yaml":      text,
			"clusters.yaml": "- {name: in-cluster, server: https://kubernetes.default.svc}\n",
		})
		file := filepath.Join(dir, "set.yaml")
		ours := k.argosy("appset", "generate", "--argocd-version", argocdVersion(), "-o", "json", "--clusters", filepath.Join(dir, "clusters.yaml"),
			file)
		theirs := k.argosy(append([]string{"appset", "generate", "-o", "json", "--argocd-token-file", token, file}, server...)...)
		if ours != theirs {
			t.Errorf("%s: embedded:\n%s\nargocd:\n%s", name, ours, theirs)
		}
	}
	// As a plugin, with an error of Argo CD's in the status.
	k.plugins(native, "ARGOSY_ENGINE=argocd", "ARGOCD_SERVER="+k.lab.ArgoCDURL, "ARGOCD_AUTH_TOKEN="+k.lab.ArgoCDToken)
	k.apply(k.setApp("engine", "default", "spec", sets["git"]), k.setApp("engine-bad", "default", "spec",
		strings.Replace(sets["list"], "project: default", "project: none", 1)))
	k.await("Application", "engine-git-a", "health Healthy")
	k.await("Application", "engine-git-b", "health Healthy")
	o, err := k.lab.Get(k.ctx, application, lab.Namespace, "engine-git-a")
	k.must(err)
	if o.GetAnnotations()["argocd.argoproj.io/sync-wave"] != "3" {
		t.Errorf("the wave is not inherited: %v", o.GetAnnotations())
	}
	message := k.failure("engine-bad", "asking the Argo CD API server: ")
	t.Log(message)
	if strings.Contains(message, k.lab.ArgoCDToken) {
		t.Error("the message has a token")
	}
}
