package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apptemplate "github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gosimple/slug"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/scm"
	"github.com/argosy-cd/argosy/internal/scm/scmtest"
)

// TestSCM has Argo CD's own providers and ours ask the same servers, and compares the Applications that show all parameters. AWS CodeCommit
// is missing: Argo CD's client cannot be sent to another address.
func TestSCM(t *testing.T) {
	logrus.SetLevel(logrus.PanicLevel)
	for _, c := range scmtest.Cases() {
		if c.Since > 2 {
			continue
		}
		for _, goTemplate := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", c.Name, goTemplate), func(t *testing.T) {
				server := scmtest.New(t, c.Provider)
				t.Setenv("BITBUCKET_API_BASE_URL", server.URL)
				compareAPIs(t, c.Set(server.URL, goTemplate), server.URL, c.IsError(goTemplate), scmtest.Secret)
			})
		}
	}
}

// compareAPIs has Argo CD and us render a set, with objects in Argo CD's namespace.
func compareAPIs(t *testing.T, set, bitbucket string, fails bool, objects string) {
	t.Helper()
	docs, err := manifest.Decode("objects.yaml", []byte(objects))
	if err != nil {
		t.Fatal(err)
	}
	want, wantErr := upstreamAPIs(t, set, docs)
	got, err := oursAPIs(t, set, bitbucket, docs)
	if (wantErr != nil) != fails || (err != nil) != fails {
		t.Fatalf("Argo CD: %v\nours: %v", wantErr, err)
	}
	for i := range want {
		want[i].TypeMeta = metav1.TypeMeta{Kind: "Application", APIVersion: "argoproj.io/v1alpha1"}
	}
	options := cmp.Options{cmpopts.EquateEmpty(), cmp.Transformer("raw", rawJSON)}
	if strings.Contains(set, "merge:") { // Argo CD's order is that of a map
		options = append(options, cmpopts.SortSlices(func(a, b v1alpha1.Application) bool { return a.Name < b.Name }))
	}
	if diff := cmp.Diff(typed(t, want), typed(t, got), options); diff != "" {
		t.Errorf("(-Argo CD +ours):\n%s", diff)
	}
	if len(want) == 0 && !fails {
		t.Log("no Applications")
	}
}

func oursAPIs(t *testing.T, set, bitbucket string, docs []manifest.Document) ([]manifest.Object, error) {
	t.Helper()
	parsed, err := manifest.Decode("set.yaml", []byte(set))
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := appset.Parse(parsed[0])
	if err != nil {
		return nil, err
	}
	var objects scm.Manifests
	for _, d := range docs {
		objects = append(objects, d.Object)
	}
	clusters, err := generator.SecretClusters(docs)
	if err != nil {
		return nil, err
	}
	asker := &scm.Asker{Client: &scm.Client{Now: time.Now, Bitbucket: bitbucket}, Objects: objects, Namespace: argoNamespace}
	res, err := appset.Generate(context.Background(), appset.Config{
		APIs: asker, AllowEmpty: true, Version: 2,
		Clusters: generator.ClusterList(clusters),
	}, s)
	if err != nil {
		return nil, err
	}
	return res.Applications[0], nil
}

func upstreamAPIs(t *testing.T, text string, docs []manifest.Document) (apps []v1alpha1.Application, err error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	var set v1alpha1.ApplicationSet
	if err := yaml.Unmarshal([]byte(text), &set); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var core, others []runtime.Object
	kinds := map[schema.GroupVersionResource]string{}
	for _, d := range docs {
		data, err := json.Marshal(d.Object)
		if err != nil {
			t.Fatal(err)
		}
		switch manifest.String(d.Object, "kind") {
		case "Secret":
			s := &corev1.Secret{}
			if err := json.Unmarshal(data, s); err != nil {
				t.Fatal(err)
			}
			if s.Data == nil {
				s.Data = map[string][]byte{}
			}
			for k, v := range s.StringData {
				s.Data[k] = []byte(v)
			}
			core = append(core, s)
		case "ConfigMap":
			m := &corev1.ConfigMap{}
			if err := json.Unmarshal(data, m); err != nil {
				t.Fatal(err)
			}
			core = append(core, m)
		default:
			o := &unstructured.Unstructured{Object: d.Object}
			others = append(others, o)
			kinds[schema.GroupVersionResource{
				Group: o.GroupVersionKind().Group, Version: o.GroupVersionKind().Version,
				Resource: "placementdecisions",
			}] = "PlacementDecisionList"
		}
	}
	built := fake.NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(core...).
		WithRuntimeObjects(&v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: argoNamespace}}).Build()
	dynamic := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, others...)
	config := generators.NewSCMConfig("", nil, true, false, nil, false)
	all := generators.GetGenerators(context.Background(), built, kubefake.NewClientset(core...), argoNamespace, nil, dynamic, config)
	apps, _, err = apptemplate.GenerateApplications(logrus.NewEntry(logrus.StandardLogger()), set, all, &utils.Render{}, built)
	return apps, err
}

// TestPlugin has both ask one plugin.
func TestPlugin(t *testing.T) {
	logrus.SetLevel(logrus.PanicLevel)
	for name, c := range map[string]struct {
		generator, annotations string
		fails, goOnly          bool
	}{
		"plain": {generator: `plugin: {configMapRef: {name: p}}`},
		"input": {generator: `plugin: {configMapRef: {name: p}, input: {parameters: {n: 3, s: text, deep: {a: [1, 2.5, null, true]}, big: 12345678901234567}}}`},
		"values": {
			generator: `plugin: {configMapRef: {name: p}, values: {v: "{{ .name }}-{{ .deep.list }}"}, requeueAfterSeconds: 3}`,
			goOnly:    true,
		},
		"selector": {generator: `{plugin: {configMapRef: {name: p}}, selector: {matchLabels: {name: b}}}`},
		"raw": {
			generator:   `plugin: {configMapRef: {name: p}, input: {parameters: {s: "a<b>"}}}`,
			annotations: "raw: '{{ .generator.input.parameters.s }} {{ .generator.input.parameters.s.Raw | toString }} {{ .generator | toJson }}'", goOnly: true,
		},
		"merge":     {generator: `merge: {mergeKeys: [name], generators: [{plugin: {configMapRef: {name: p}}}, {list: {elements: [{name: a, extra: x}]}}]}`},
		"matrix":    {generator: `matrix: {generators: [{list: {elements: [{extra: x}]}}, {plugin: {configMapRef: {name: p}}}]}`},
		"no map":    {generator: `plugin: {configMapRef: {name: none}}`, fails: true},
		"no token":  {generator: `plugin: {configMapRef: {name: no-token}}`, fails: true},
		"literal":   {generator: `plugin: {configMapRef: {name: literal}}`, fails: true},
		"timeout":   {generator: `plugin: {configMapRef: {name: timeout}}`, fails: true},
		"no secret": {generator: `plugin: {configMapRef: {name: no-secret}}`, fails: true},
		"argocd":    {generator: `plugin: {configMapRef: {name: argocd}}`},
		"refused":   {generator: `plugin: {configMapRef: {name: wrong}}`, fails: true},
	} {
		for _, goTemplate := range []bool{true, false} {
			if c.goOnly && !goTemplate {
				continue
			}
			t.Run(fmt.Sprintf("%s/%v", name, goTemplate), func(t *testing.T) {
				var asked []string
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("Authorization")+" "+
						strings.TrimSpace(string(body)))
					if r.Header.Get("Authorization") != "Bearer "+scmtest.Token {
						http.Error(w, `{"error": "who are you?"}`, http.StatusUnauthorized)
						return
					}
					_, _ = io.WriteString(w, `{"output": {"parameters": [{"name": "a", "number": 1234567, "deep": {"list": [1, "x"], "yes": true, "none": null}}, {"name": "b", "float": 0.5, "empty": {}}]}}`)
				}))
				defer server.Close()
				objects := scmtest.Secret
				for name, data := range map[string]string{
					"p": "token: '$scm:token'", "no-token": "x: z", "literal": "token: abc",
					"timeout": "token: '$scm:token', requestTimeout: soon", "no-secret": "token: '$none:token'",
					"argocd": "token: '$plugin.token', requestTimeout: '5'", "wrong": "token: '$scm:wrong'",
				} {
					objects += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name +
						", namespace: argocd}\ndata: {baseUrl: '" + server.URL + "', " + data + "}\n"
				}
				objects += "---\napiVersion: v1\nkind: Secret\nmetadata: {name: argocd-secret, namespace: argocd}\nstringData: {plugin.token: " + scmtest.Token + "}\n"
				objects = strings.Replace(objects, "stringData: {token:", "stringData: {wrong: wrong-one, token:", 1)
				annotations := "a: '{{ .name }} {{ .number }} {{ .deep }} {{ .float }} {{ .values }} {{ .extra }}'"
				name := "{{ .name }}"
				if !goTemplate {
					annotations, name = "a: '{{name}} {{number}} {{deep.list.0}} {{deep.list.1}} {{deep.yes}} {{deep.none}} {{float}} {{empty}} {{extra}} {{generator}}'", "{{name}}"
				}
				set := fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\nspec:\n  goTemplate: %v\n  generators:\n    - %s\n  template:\n"+
					"    metadata:\n      name: '%s'\n      annotations:\n        %s\n        %s\n    spec: {project: default, destination: {server: x}}\n", goTemplate, c.generator, name, annotations, c.annotations)
				compareAPIs(t, set, "", c.fails, objects)
				if n := len(asked) / 2; len(asked)%2 != 0 || !cmp.Equal(asked[:n], asked[n:]) {
					t.Errorf("asked: %s", strings.Join(asked, "\n"))
				}
			})
		}
	}
}

// TestDecisions has both read the same objects.
func TestDecisions(t *testing.T) {
	logrus.SetLevel(logrus.PanicLevel)
	objects := `
apiVersion: v1
kind: Secret
metadata: {name: far, namespace: argocd, labels: {argocd.argoproj.io/secret-type: cluster}}
stringData: {name: far, server: 'https://far.example.com'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: map, namespace: argocd}
data: {apiVersion: cluster.open-cluster-management.io/v1beta1, kind: placementdecisions, statusListKey: decisions, matchKey: clusterName}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: no-key, namespace: argocd}
data: {apiVersion: cluster.open-cluster-management.io/v1beta1, kind: placementdecisions, statusListKey: decisions}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: bad, namespace: argocd}
data: {apiVersion: v1beta1, kind: placementdecisions, matchKey: clusterName}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: default-key, namespace: argocd}
data: {apiVersion: cluster.open-cluster-management.io/v1beta1, kind: placementdecisions, matchKey: clusterName}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata: {name: one, namespace: argocd, labels: {tier: prod}}
status: {decisions: [{clusterName: far, reason: near}, {clusterName: in-cluster}, {clusterName: unknown}, {reason: none}], clusters: [{clusterName: far, other: x}]}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata: {name: two, namespace: argocd, labels: {tier: test}}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata: {name: numbers, namespace: argocd, labels: {tier: odd}}
status: {decisions: [{clusterName: far, score: 3}]}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata: {name: elsewhere, namespace: other, labels: {tier: prod}}
status: {decisions: [{clusterName: far, reason: wrong}]}
`
	for name, c := range map[string]struct {
		spec  string
		fails bool
	}{
		"by label":      {spec: `configMapRef: map, labelSelector: {matchLabels: {tier: prod}}, values: {v: "{{ .name }}{{name}}"}`},
		"by expression": {spec: `configMapRef: map, labelSelector: {matchExpressions: [{key: tier, operator: In, values: [prod, test]}]}`},
		"default key":   {spec: `configMapRef: default-key, labelSelector: {matchLabels: {tier: prod}}, requeueAfterSeconds: 5`},
		"no match key":  {spec: `configMapRef: no-key, labelSelector: {matchLabels: {tier: prod}}`},
		"no status":     {spec: `configMapRef: map, labelSelector: {matchLabels: {tier: test}}`},
		"none":          {spec: `configMapRef: map, labelSelector: {matchLabels: {tier: none}}`, fails: true},
		"bad map":       {spec: `configMapRef: bad, labelSelector: {matchLabels: {tier: prod}}`, fails: true},
		"no map":        {spec: `configMapRef: nothing, labelSelector: {matchLabels: {tier: prod}}`, fails: true},
		"both":          {spec: `configMapRef: map, name: one, labelSelector: {matchLabels: {tier: prod}}`, fails: true},
		"neither":       {spec: `configMapRef: map`, fails: true},
		"numbers":       {spec: `configMapRef: map, labelSelector: {matchLabels: {tier: odd}}`, fails: true},
	} {
		for _, goTemplate := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", name, goTemplate), func(t *testing.T) {
				app, annotation := "{{ .name }}", "{{ .name }} {{ .server }} {{ .clusterName }} {{ .reason }} {{ .values }}"
				if !goTemplate {
					app, annotation = "{{name}}", "{{name}} {{server}} {{clusterName}} {{reason}} {{values.v}}"
				}
				compareAPIs(t, fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\nspec:\n  goTemplate: %v\n  generators: [{clusterDecisionResource: {%s}}]\n"+
					"  template:\n    metadata: {name: '%s', annotations: {a: '%s'}}\n    spec: {project: default, destination: {server: x}}\n", goTemplate, c.spec, app, annotation), "", c.fails, objects)
			})
		}
	}
}

// TestSlug compares the slugs of branches with those of Argo CD's library, as its pull request generator sets it up.
func TestSlug(t *testing.T) {
	slug.MaxLength, slug.CustomSub, slug.EnableSmartTruncate = 50, map[string]string{"_": "-"}, true
	letters := []rune("abcXYZ019-_./@&'\"’–— #+~äöüßÉŁŉĳŒ×÷ſ")
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{
		"", "-", "feature/Some_Thing", strings.Repeat("a", 60), strings.Repeat("ab-", 30), strings.Repeat("x", 50) + "-y",
		"中文", "привет",
	}
	for range 20_000 {
		b := make([]rune, random.IntN(80))
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		names = append(names, string(b))
	}
	for r := rune(0xC0); r < 0x180; r++ {
		names = append(names, "x"+string(r)+"y")
	}
	for _, name := range names {
		if got, ok := template.Slug(name); ok && got != slug.Make(name) {
			t.Errorf("%q: %q, want %q", name, got, slug.Make(name))
		}
	}
	for _, name := range names[:6] {
		if _, ok := template.Slug(name); !ok {
			t.Errorf("%q is not known", name)
		}
	}
}
