package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	apptemplate "github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/scm"
	"github.com/argosy-cd/argosy/internal/scm/scmtest"
)

// TestSCM has Argo CD's own providers and ours ask the same servers, and compares the Applications that show all parameters. AWS CodeCommit is missing: Argo CD's client
// cannot be sent to another address.
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
	if diff := cmp.Diff(typed(t, want), typed(t, got), cmpopts.EquateEmpty(), cmp.Transformer("raw", rawJSON)); diff != "" {
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
	res, err := appset.Generate(context.Background(), appset.Config{APIs: asker, AllowEmpty: true, Version: 2, Clusters: generator.ClusterList(clusters)}, s)
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
			kinds[schema.GroupVersionResource{Group: o.GroupVersionKind().Group, Version: o.GroupVersionKind().Version, Resource: "placementdecisions"}] = "PlacementDecisionList"
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
