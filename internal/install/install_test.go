package install_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/deploy"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/install"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

func config(target install.Target) install.Config {
	return install.Config{
		Target: target, Files: deploy.Files, With: install.Parts, Namespace: "gitops", Name: "main",
		Image: "registry.example.com:5000/argosy:v1", Interval: 10 * time.Minute, Policy: "projects: [{name: 'team-{{x}}'}]\n",
	}
}

func files(t *testing.T, cfg install.Config) []tree.File {
	t.Helper()
	out, err := install.Render(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range out {
		if !strings.HasPrefix(string(f.Data), install.Marker) {
			t.Errorf("%s begins with %.40q", f.Name, f.Data)
		}
	}
	return out
}

func objects(t *testing.T, f tree.File) map[string]manifest.Object {
	t.Helper()
	docs, err := manifest.Decode(f.Name, f.Data)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]manifest.Object{}
	for _, o := range manifest.Objects(docs) {
		all[manifest.Name(o)] = o
	}
	return all
}

// TestSame: what kubectl applies is what Kustomize builds with the component.
func TestSame(t *testing.T) {
	plain := objects(t, files(t, config(install.Manifests))[0])
	all := files(t, config(install.Kustomize))
	for i := range all {
		all[i].Name = "argosy/" + all[i].Name
	}
	all = append(all, tree.File{Name: "kustomization.yaml", Data: []byte(
		"namespace: gitops\nresources: [argo.yaml]\ncomponents: [argosy]\n")}, tree.File{Name: "argo.yaml", Data: []byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: main-repo-server}
spec: {template: {spec: {containers: [{name: main, image: argocd}], volumes: [{name: plugins, emptyDir: {}}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
data: {url: https://argocd.example.com}
`)})
	tree.Sort(all)
	built, err := render.Build(t.Context(), render.Kustomization{View: tree.Of(all)})
	if err != nil {
		t.Fatal(err)
	}
	with := map[string]manifest.Object{}
	for _, o := range manifest.Objects(built.Documents) {
		with[manifest.Name(o)] = o
	}
	pod := manifest.Map(with["deployment.apps/main-repo-server"], "spec", "template", "spec")
	containers, volumes := pod["containers"].([]any), pod["volumes"].([]any)
	if len(containers) != 2 || len(volumes) != 4 {
		t.Fatalf("%d containers, %d volumes", len(containers), len(volumes))
	}
	other := func(name string) func(any) bool {
		return func(v any) bool { return v.(map[string]any)["name"] == name }
	}
	pod["containers"] = slices.DeleteFunc(containers, other("main"))
	pod["volumes"] = slices.DeleteFunc(volumes, other("plugins"))
	delete(manifest.Map(with["configmap/argocd-cm"], "data"), "url")
	if diff := cmp.Diff(plain, with); diff != "" {
		t.Errorf("(-kubectl +kustomize):\n%s", diff)
	}
}

// TestNamed: nothing is left of the names in deploy/.
func TestNamed(t *testing.T) {
	for _, target := range []install.Target{install.Manifests, install.Operator} {
		text := string(files(t, config(target))[0].Data)
		for _, bad := range []string{"namespace: argocd\n", "name: argocd-repo-server", "- argocd-server", "image: argosy", "value: 3m", "runAsUser"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: %q", target, bad)
			}
		}
		for _, want := range []string{"registry.example.com:5000/argosy:v1", "value: 10m0s", "namespace: gitops", "- main-server", "team-{{x}}"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q", target, want)
			}
		}
	}
}

// TestAccounts: who gets the rights is who runs the sidecar.
func TestAccounts(t *testing.T) {
	for target, want := range map[install.Target]string{install.Manifests: "main-repo-server", install.Operator: "argosy-repo-server"} {
		all := objects(t, files(t, config(target))[0])
		for _, name := range []string{"argosy-cmp", "argosy-cmp-secrets", "argosy-cmp-apis"} {
			subject := all["rolebinding.rbac.authorization.k8s.io/"+name]["subjects"].([]any)[0].(map[string]any)
			if subject["name"] != want || subject["namespace"] != "gitops" {
				t.Errorf("%s: %s is for %v", target, name, subject)
			}
		}
		if target == install.Operator {
			repo := manifest.Map(all["argocd.argoproj.io/main"], "spec", "repo")
			if repo["serviceaccount"] != want || all["serviceaccount/"+want] == nil {
				t.Errorf("the operator runs %v", repo["serviceaccount"])
			}
		}
	}
}

// TestChart: the values of the chart have all objects, the sidecar and the health check, and texts of ours are not evaluated.
func TestChart(t *testing.T) {
	cfg := config(install.ArgoHelm)
	cfg.Namespace, cfg.Name = "argocd", "argocd"
	values := objects(t, tree.File{Data: append([]byte("apiVersion: v1\nkind: Values\nmetadata: {name: x}\n"), files(t, cfg)[0].Data...)})["values/x"]
	if check := manifest.Map(values, "configs", "cm")[health.ApplicationKey]; check != health.NamedScript("applications") {
		t.Errorf("the health check is %.60v", check)
	}
	repo := manifest.Map(values, "repoServer")
	if got := slices.Sorted(maps.Keys(repo)); !slices.Equal(got, []string{"extraContainers", "volumes"}) {
		t.Errorf("the repo-server gets %v", got)
	}
	text := fmt.Sprint(values["extraObjects"])
	for _, want := range []string{`team-{{ "{{" }}x}}`, `name:{{ include "argo-cd.repoServer.serviceAccountName" . }}`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, "namespace:argocd") || strings.Contains(text, "name:argocd-repo-server") {
		t.Error("a name is fixed that the chart may change")
	}
}

func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*install.Config){
		`--with: unknown "x"; there are any-namespace, apis,`: func(c *install.Config) { c.With = []string{"x"} },
		"--with: buckets needs repo":                          func(c *install.Config) { c.With = []string{"buckets"} },
		`--for: unknown "x"; there are manifests,`:            func(c *install.Config) { c.Target = "x" },
		`--namespace: "a b" is not a name`:                    func(c *install.Config) { c.Namespace = "a b" },
		`--argocd-name: "" is not a name`:                     func(c *install.Config) { c.Name = "" },
		`--image: "a\nb" is not NAME:TAG`:                     func(c *install.Config) { c.Image = "a\nb" },
		"--interval: 1ms is shorter than a second":            func(c *install.Config) { c.Interval = time.Millisecond },
		`--env: "A B" is not NAME=VALUE`:                      func(c *install.Config) { c.Env = []string{"A B=secret"} },
		`--env: "A" is not NAME=VALUE`:                        func(c *install.Config) { c.Env = []string{"A"} },
		`--env-secret: "A_B" is not a name of a Secret`:       func(c *install.Config) { c.EnvSecret = "A_B" },
		`--memory: "2 GB" is not a quantity such as 2Gi`:      func(c *install.Config) { c.Memory = "2 GB" },
	} {
		cfg := config(install.Manifests)
		change(&cfg)
		_, err := install.Render(t.Context(), cfg)
		if !errors.As(err, new(problem.UsageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	cfg := config(install.Manifests)
	cfg.Policy, cfg.PolicyFile = "project: []", "policy"
	if _, err := install.Render(t.Context(), cfg); err == nil || !strings.HasPrefix(err.Error(), "policy:1:1") {
		t.Errorf("a bad policy: %v", err)
	}
}

// TestDigest: an image may have a port, a tag or a digest.
func TestDigest(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0f", 32)
	for given, want := range map[string]string{
		"localhost:5000/a": "localhost:5000/a", "a:v1" + digest: "a" + digest, "host:5000/a/b:v1": "host:5000/a/b:v1",
	} {
		cfg := config(install.Manifests)
		cfg.Image = given
		if text := string(files(t, cfg)[0].Data); strings.Count(text, "image: "+want+"\n") != 3 {
			t.Errorf("%s is not the image everywhere", want)
		}
	}
}

// TestSidecarOnly: what the chart argosy brings is left out.
func TestSidecarOnly(t *testing.T) {
	for target, want := range map[install.Target]string{
		install.Manifests: "configmap/argocd-cm deployment.apps/main-repo-server", install.Operator: "argocd.argoproj.io/main serviceaccount/argosy-repo-server",
	} {
		cfg := config(target)
		cfg.SidecarOnly, cfg.Policy = true, ""
		if got := strings.Join(slices.Sorted(maps.Keys(objects(t, files(t, cfg)[0]))), " "); got != want {
			t.Errorf("%s: %s", target, got)
		}
	}
	cfg := config(install.ArgoHelm)
	cfg.SidecarOnly, cfg.Policy = true, ""
	if text := string(files(t, cfg)[0].Data); strings.Contains(text, "extraObjects") {
		t.Error("the values have objects")
	}
	cfg.Target = install.Kustomize
	if names := strings.Join(tree.Names(files(t, cfg)), " "); names != "argocd-cm.yaml repo-server.yaml kustomization.yaml" {
		t.Errorf("the component is %s", names)
	}
}

// TestIgnored: settings that would have no effect are refused.
func TestIgnored(t *testing.T) {
	for want, change := range map[string]func(*install.Config){
		"--policy and --sidecar-only": func(c *install.Config) { c.SidecarOnly, c.Policy, c.PolicyFile = true, "projects: []", "p.yaml" },
		"use --policy":                func(c *install.Config) { c.Env = []string{"ARGOSY_POLICY=/x"} },
		"work volume":                 func(c *install.Config) { c.Env = []string{"ARGOSY_CACHE_DIR=/x"} },
		"use --interval":              func(c *install.Config) { c.Env = []string{"APPSET_REFRESH_INTERVAL=10m"} },
	} {
		cfg := config(install.Manifests)
		change(&cfg)
		if _, err := install.Render(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestInjection: a name that would be YAML, a path or a template is refused, for every target.
func TestInjection(t *testing.T) {
	for _, bad := range []string{
		"", "a\n", "a\nb: c", "a\n---\nkind: Secret", `a"`, "a'", "a: b", "a #", "{a}", "{{ .Release.Name }}", "*a", "&a", "!a", "../a", "a/b", "A", "ä", "-a", "a-",
		strings.Repeat("a", 64),
	} {
		for _, target := range install.Targets {
			for what, change := range map[string]func(*install.Config){
				"--namespace":   func(c *install.Config) { c.Namespace = bad },
				"--argocd-name": func(c *install.Config) { c.Name = bad },
				"--with":        func(c *install.Config) { c.With = []string{bad} },
				"--image": func(c *install.Config) {
					if c.Image = bad; bad == "a-" || bad == "a/b" || bad == "A" || len(bad) == 64 { // those are images
						c.Image = "a b"
					}
				},
			} {
				cfg := config(install.Target(target))
				change(&cfg)
				if out, err := install.Render(t.Context(), cfg); !errors.As(err, new(problem.UsageError)) || !strings.HasPrefix(err.Error(), what) {
					t.Errorf("%s: %s %q: %d files, %v", target, what, bad, len(out), err)
				}
			}
		}
	}
	// Names that are other things in YAML stay names.
	for _, odd := range []string{"null", "true", "1", "0x1f", "1e3", "on", "y"} {
		cfg := config(install.Manifests)
		cfg.Namespace, cfg.Name = odd, odd
		for name, o := range objects(t, files(t, cfg)[0]) {
			if ns := manifest.Map(o, "metadata")["namespace"]; ns != odd && ns != nil {
				t.Errorf("%s is in %#v, want %q", name, ns, odd)
			}
		}
	}
}

// TestContainer: variables, a Secret and the memory of the sidecar are what the user says, for every target.
func TestContainer(t *testing.T) {
	for _, target := range install.Targets {
		t.Run(target, func(t *testing.T) {
			cfg := config(install.Target(target))
			cfg.Container = install.Container{
				Env: []string{"ARGOSY_ARGOCD_VERSION=3.2", "ARGOCD_APPLICATION_NAMESPACES=team", "AWS_REGION=a=b"}, EnvSecret: "aws.keys", Memory: "2Gi",
			}
			var text strings.Builder
			for _, f := range files(t, cfg) {
				for _, o := range objects(t, f) {
					text.WriteString(find(o))
				}
			}
			want := `memory 2Gi, from aws.keys, ARGOCD_APPLICATION_NAMESPACES=team ARGOSY_ARGOCD_VERSION=3.2 ARGOSY_GENERATOR_APIS=true APPSET_REFRESH_INTERVAL=10m0s AWS_REGION=a=b`
			if got := text.String(); sorted(got) != sorted(want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// sorted are the words of a text, in order.
func sorted(text string) string {
	return strings.Join(slices.Sorted(slices.Values(strings.Fields(text))), " ")
}

// find describes the sidecar in an object, wherever it is.
func find(v any) string {
	m, _ := v.(map[string]any)
	if m["name"] == install.Sidecar && m["args"] != nil {
		from, _ := m["envFrom"].([]any)
		out := fmt.Sprintf("memory %v, from %s,", manifest.Map(m, "resources", "limits")["memory"],
			manifest.String(from[0].(map[string]any), "secretRef", "name"))
		for _, e := range m["env"].([]any) {
			e, _ := e.(map[string]any)
			out += fmt.Sprintf(" %s=%s", e["name"], manifest.String(e, "value"))
		}
		return out
	}
	var out string
	for _, e := range m {
		out += find(e)
	}
	list, _ := v.([]any)
	for _, e := range list {
		out += find(e)
	}
	return out
}

// TestComplete: only a release has an image, and the removal needs none.
func TestComplete(t *testing.T) {
	for name, c := range map[string]struct {
		image, version, want string
	}{
		"release":     {"", "v1.2.3", "ghcr.io/argosy-cd/argosy:v1.2.3"},
		"given":       {"registry.example.com/argosy:x", "v1.2.3", "registry.example.com/argosy:x"},
		"given alone": {"registry.example.com/argosy:x", "(devel)", "registry.example.com/argosy:x"},
		"devel":       {"", "(devel)", ""},
		"candidate":   {"", "v1.2.3-rc.1", ""},
	} {
		cfg, err := install.Config{Image: c.image}.Complete(c.version)
		if cfg.Image != c.want || (err != nil) != (c.want == "") || err != nil && !errors.As(err, new(problem.UsageError)) {
			t.Errorf("%s: %q, %v", name, cfg.Image, err)
		}
	}
	whole, err := install.Config{With: []string{"repo"}}.Whole().Complete("(devel)")
	if err != nil || !slices.Equal(whole.With, install.Parts) {
		t.Errorf("%v, %v", whole.With, err)
	}
	for target, want := range map[install.Target]string{install.Manifests: "", install.Operator: "main-repo-server"} {
		if got := config(target).Later(); got != want {
			t.Errorf("%s: %q", target, got)
		}
	}
}
