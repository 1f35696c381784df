package install_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/install"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

const chart = "../../deploy/chart/argosy"

func renderChart(t *testing.T, values string) ([]manifest.Object, error) {
	t.Helper()
	var all []tree.File
	err := fs.WalkDir(os.DirFS(chart), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(chart + "/" + name)
		all = append(all, tree.File{Name: name, Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tree.Sort(all)
	var v map[string]any
	if err := manifest.Unmarshal([]byte(values), &v); err != nil {
		t.Fatal(err)
	}
	rendered, err := render.Helm(t.Context(), all, render.Options{
		Chart: render.Chart{ReleaseName: "argosy", Namespace: "gitops", Values: v}, KubeVersion: "1.33.0",
	})
	if err != nil {
		return nil, err
	}
	return manifest.Objects(rendered.Documents), nil
}

func chartObjects(t *testing.T, values string) map[string]manifest.Object {
	t.Helper()
	rendered, err := renderChart(t, values)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]manifest.Object{}
	for _, o := range rendered {
		if out[manifest.Name(o)] != nil {
			t.Errorf("%s is there twice", manifest.Name(o))
		}
		out[manifest.Name(o)] = o
	}
	return out
}

// TestChartSame: the chart has the objects that deploy/ has beside those of Argo CD, field by field.
func TestChartSame(t *testing.T) {
	for values, with := range map[string][]string{
		"":                       {"repo"},
		"repo: {enabled: false}": nil,
		"repo: {buckets: true}\nevents: {enabled: true}\nrbac: {secrets: true, anyNamespace: true, apis: {enabled: true}}": install.Parts,
	} {
		cfg := config(install.Manifests)
		cfg.With, cfg.Policy, cfg.Interval = with, "", 0
		cfg.Image = "ghcr.io/argosy-cd/argosy:v0.1.0"
		want := objects(t, files(t, cfg)[0])
		delete(want, "deployment.apps/main-repo-server")
		delete(want, "configmap/argocd-cm")
		got := chartObjects(t, "argocd: {name: main}\n"+values)
		for _, all := range []map[string]manifest.Object{want, got} {
			plainPolicy(t, all["configmap/argosy-policy"])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-deploy +chart):\n%s", values, diff)
		}
	}
}

// plainPolicy replaces the text of a policy by what it says.
func plainPolicy(t *testing.T, o manifest.Object) {
	t.Helper()
	data := manifest.Map(o, "data")
	v, err := manifest.Value([]byte(data["policy.yaml"].(string)))
	if err != nil {
		t.Fatal(err)
	}
	data["policy.yaml"] = v
}

var used = regexp.MustCompile(`argosy_[a-z0-9_]+`)

// TestMetrics: alerts and the dashboard ask for metrics that there are.
func TestMetrics(t *testing.T) {
	known := map[string]bool{}
	for _, dir := range []string{"sidecar", "refresher", "reposerver", "eventserver"} {
		sources, err := fs.Glob(os.DirFS("../"+dir), "*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range sources {
			text, err := os.ReadFile("../" + dir + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`"(argosy_[a-z0-9_]+)"`).FindAllStringSubmatch(string(text), -1) {
				known[m[1]] = true
			}
		}
	}
	all := chartObjects(t, "monitoring: {enabled: true, rules: true, dashboard: true}\nevents: {enabled: true}")
	n := 0
	for _, name := range []string{"prometheusrule.monitoring.coreos.com/argosy", "configmap/argosy-dashboard"} {
		for _, metric := range used.FindAllString(string(manifest.AppendYAML(nil, all[name])), -1) {
			n++
			if !known[strings.TrimSuffix(metric, "_bucket")] {
				t.Errorf("%s: there is no metric %s", name, metric)
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d metrics are asked for", n)
	}
	dashboard := manifest.String(all["configmap/argosy-dashboard"], "data", "argosy.json")
	if v, err := manifest.JSON([]byte(dashboard)); err != nil || len(v.(map[string]any)["panels"].([]any)) != 12 {
		t.Errorf("the dashboard: %v", err)
	}
	for _, name := range []string{"podmonitor.monitoring.coreos.com/argosy-cmp", "servicemonitor.monitoring.coreos.com/appset-repo", "servicemonitor.monitoring.coreos.com/argosy-events"} {
		if all[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestValuesStayTexts: values that would be other YAML than they say are refused, or stay texts.
func TestValuesStayTexts(t *testing.T) {
	for _, values := range []string{
		`image: {tag: "v1\n  privileged: true"}`, `image: {repository: "a b"}`, `image: {digest: latest}`, `image: {pullPolicy: "Always\nx: y"}`,
		`argocd: {name: "x\n  - y"}`, `argocd: {serviceAccount: "x, namespace: kube-system"}`, `argocd: {name: "{{ .Release.Name }}"}`,
		`repo: {interval: "3m\"}"}`, `repo: {interval: often}`, `repo: {serviceAccountName: "a: b"}`, `repo: {replicas: "2"}`, `repo: {replicas: -1}`,
		`events: {args: [{a: b}]}`, `events: {serviceAccountAnnotations: {a: 1}}`, `monitoring: {labels: {a: true}}`,
		`rbac: {apis: {enabled: true, secrets: [""]}}`, `policies: {}`,
	} {
		if _, err := renderChart(t, values); err == nil {
			t.Errorf("%s is not refused", values)
		}
	}
	values := `
argocd: {serviceAccount: "123"}
image: {tag: "010"}
repo: {serviceAccountName: "true", interval: 1h30m}
events: {enabled: true, args: ["--x=\"\n- y", "{{ fail }}", "null"], serviceAccountAnnotations: {a: "1\n2"}}
monitoring: {enabled: true, rules: true, dashboard: true, labels: {release: "on"}}
policy: {projects: [{name: "x\n---\nkind: Secret\n{{ fail }}"}]}
`
	got := chartObjects(t, values)
	for name, o := range got {
		if manifest.String(o, "metadata", "namespace") != "gitops" {
			t.Errorf("%s is in %q", name, manifest.String(o, "metadata", "namespace"))
		}
	}
	spec := manifest.Map(got["deployment.apps/appset-repo"], "spec", "template", "spec")
	if spec["serviceAccountName"] != "true" {
		t.Errorf("the service account is %v", spec["serviceAccountName"])
	}
	container := spec["containers"].([]any)[0].(map[string]any)
	if image := container["image"]; image != "ghcr.io/argosy-cd/argosy:010" {
		t.Errorf("the image is %v", image)
	}
	args := manifest.Map(got["deployment.apps/argosy-events"], "spec", "template", "spec")["containers"].([]any)[0].(map[string]any)["args"].([]any)
	if diff := cmp.Diff([]any{"--x=\"\n- y", "{{ fail }}", "null"}, args[len(args)-3:]); diff != "" {
		t.Error(diff)
	}
	subject := got["rolebinding.rbac.authorization.k8s.io/argosy-cmp"]["subjects"].([]any)[0].(map[string]any)
	if subject["name"] != "123" {
		t.Errorf("the rights are for %v", subject["name"])
	}
	plainPolicy(t, got["configmap/argosy-policy"])
	project := manifest.Map(got["configmap/argosy-policy"], "data", "policy.yaml")["projects"].([]any)[0].(map[string]any)
	if project["name"] != "x\n---\nkind: Secret\n{{ fail }}" {
		t.Errorf("the project is %q", project["name"])
	}
}
