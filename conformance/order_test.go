package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/controller"
	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/sync/hook"
	"github.com/argoproj/gitops-engine/pkg/sync/ignore"
	"github.com/argoproj/gitops-engine/pkg/sync/syncwaves"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/kube/kubetest"
	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// notFound is an API server that has nothing.
type notFound struct{}

func (notFound) RoundTrip(r *http.Request) (*http.Response, error) {
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	return &http.Response{
		StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader([]byte(body))), Request: r,
	}, nil
}

// task matches a task as the engine logs it: phase/wave, what, group/kind, namespace/name.
var task = regexp.MustCompile(`([A-Za-z]+/-?\d+) (hook|resource) ([^ ]*:[^ ]*) nil->obj`)

// tasks is a log that ends a sync at the line that has its tasks.
type tasks struct {
	logr.LogSink
	values []any
}

func (tasks) Init(logr.RuntimeInfo)                   {}
func (tasks) Enabled(int) bool                        { return true }
func (tasks) Error(error, string, ...any)             {}
func (t tasks) WithName(string) logr.LogSink          { return t }
func (t tasks) WithValues(values ...any) logr.LogSink { return tasks{values: values} }

func (t tasks) Info(_ int, message string, _ ...any) {
	if message == "Tasks" {
		panic(found(fmt.Sprint(t.values[1])))
	}
}

type found string

// theirTasks is what Argo CD's engine would do with objects, in its order.
func theirTasks(t *testing.T, objects []*unstructured.Unstructured, namespace string) (out []string) {
	t.Helper()
	config := &rest.Config{Host: "http://none.invalid", Transport: notFound{}}
	begun := common.ResourceSyncResult{ResourceKey: kube.ResourceKey{Kind: "ConfigMap", Name: "begun"}}
	ctx, cleanup, err := sync.NewSyncContext("", sync.Reconcile(objects, nil, namespace, scopes{}), config, config,
		&kubetest.MockKubectlCmd{}, namespace, nil,
		sync.WithLogr(logr.New(tasks{})), sync.WithSkipDryRunOnMissingResource(true),
		sync.WithInitialState(common.OperationRunning, "", []common.ResourceSyncResult{begun}, metav1.Now()))
	if err != nil {
		t.Fatal(err)
	}
	defer cleanup()
	defer func() {
		text, ok := recover().(found)
		if !ok {
			t.Fatal("the engine has logged no tasks")
		}
		for _, m := range task.FindAllStringSubmatch(string(text), -1) {
			out = append(out, m[1]+" "+m[2]+" "+m[3])
		}
	}()
	ctx.Sync()
	return nil
}

// scopes knows the scope of the kinds in these tests.
type scopes struct{}

func (scopes) IsNamespaced(gk schema.GroupKind) (bool, error) {
	switch gk.Kind {
	case "Namespace", "ClusterRole", "CustomResourceDefinition", "StorageClass":
		return false, nil
	case "Web", "Shop":
		return false, errors.New("not known yet")
	}
	return true, nil
}

// annotations are those that place an object, in all ways.
func (d dice) annotations() map[string]any {
	out := map[string]any{}
	if d.IntN(2) == 0 {
		d.maybe(out, "argocd.argoproj.io/sync-wave", "-1", "0", "1", "2", "+1", "01", "soon", "", " 1", "1.0")
	}
	if d.IntN(4) == 0 {
		d.maybe(out, "helm.sh/hook-weight", "-2", "3", "x", "")
	}
	if d.IntN(4) == 0 {
		d.maybe(out, "argocd.argoproj.io/hook", "PreSync", "Sync", "PostSync", "SyncFail", "Skip", "PreSync,PostSync", "Skip,Sync",
			"Skip,Skip", "Other", "PostDelete", "", "presync", " PreSync , ", ",")
	}
	if d.IntN(4) == 0 {
		d.maybe(out, "helm.sh/hook", "pre-install", "post-install,post-upgrade", "pre-upgrade", "crd-install", "crd-install,pre-install",
			"test", "", "pre-delete", "post-delete", " post-install")
	}
	return out
}

func (d dice) placed(i int) *unstructured.Unstructured {
	gvk := d.pick("v1 ConfigMap", "v1 Namespace", "v1 Secret", "v1 Service", "apps/v1 Deployment", "batch/v1 Job",
		"rbac.authorization.k8s.io/v1 ClusterRole", "apiextensions.k8s.io/v1 CustomResourceDefinition",
		"example.com/v1 Web", "example.com/v1 Shop", "serving.example.com/v1 Service", "storage.k8s.io/v1 StorageClass").(string)
	version, kind, _ := strings.Cut(gvk, " ")
	o := map[string]any{"apiVersion": version, "kind": kind}
	meta := map[string]any{"name": fmt.Sprintf("%s%d", d.pick("a", "b", "c"), i)}
	if annotations := d.annotations(); len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	switch kind {
	case "Namespace":
		meta["name"] = d.pick("a", "b", "destination")
	case "CustomResourceDefinition":
		o["spec"] = map[string]any{
			"group": d.pick("example.com", "serving.example.com"),
			"names": map[string]any{"kind": d.pick("Web", "Shop", "Service")},
		}
	}
	if d.IntN(2) == 0 {
		meta["namespace"] = d.pick("a", "b")
	}
	o["metadata"] = meta
	return &unstructured.Unstructured{Object: o}
}

// ourTasks is what we say about the same objects.
func ourTasks(objects []*unstructured.Unstructured, namespace string) []*order.Task {
	var out []*order.Task
	for _, o := range objects {
		phases, wave, _ := order.Place(o.Object)
		for _, phase := range phases {
			out = append(out, &order.Task{
				Group: manifest.Group(o.Object), Kind: o.GetKind(), Namespace: o.GetNamespace(),
				Name: o.GetName(), Phase: phase, Wave: wave, Object: o.Object,
			})
		}
	}
	order.Sort(out, namespace)
	return out
}

// TestOrder compares the tasks of a sync and their order with Argo CD's engine: what is a hook, phases, waves, and Namespaces and CRDs that
// are moved to what needs them.
func TestOrder(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(3, 4))}
	moved := 0
	for n := range 10_000 {
		const namespace = "destination"
		var objects []*unstructured.Unstructured
		ids := map[string]bool{}
		for i := range 1 + d.IntN(9) {
			// Equal objects, and hooks of one name that differ in nothing that sorts, have no order.
			if o := d.placed(i); !ids[o.GetKind()+o.GetName()] {
				ids[o.GetKind()+o.GetName()] = true
				objects = append(objects, o)
			}
		}
		theirs, _, err := controller.DeduplicateTargetObjects(namespace, copies(objects), scopes{})
		if err != nil {
			t.Fatal(err)
		}
		want := theirTasks(t, theirs, namespace)
		var got []string
		for _, i := range ourTasks(objects, namespace) {
			what := "resource"
			if order.IsHook(i.Object) {
				what = "hook"
			}
			space := cmp.Or(i.Namespace, namespace)
			if ok, err := (scopes{}).IsNamespaced(schema.GroupKind{Kind: i.Kind}); !ok && err == nil {
				space = namespace
			}
			got = append(got, fmt.Sprintf("%s/%d %s %s/%s:%s/%s", i.Phase, i.Wave, what, i.Group, i.Kind, space, i.Name))
			if i.Moved != "" {
				moved++
			}
		}
		if !slices.Equal(got, want) {
			text, _ := json.MarshalIndent(objects, "", " ")
			t.Fatalf("%d: (-Argo CD +Argosy)\n%s\n%s", n, gocmp.Diff(want, got), text)
		}
	}
	if moved < 500 {
		t.Errorf("only %d objects were moved", moved)
	}
}

func copies(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range objects {
		out = append(out, o.DeepCopy())
	}
	return out
}

// TestHooks compares which objects are hooks, skipped or left out, and their waves, with the functions of Argo CD's engine.
func TestHooks(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(5, 6))}
	for range 5_000 {
		o := d.placed(0)
		deployed := order.Deploys(o.Object)
		if want := !hook.Skip(o) && !ignore.Ignore(o); deployed != want {
			t.Fatalf("deployed: %v, Argo CD says %v\n%v", deployed, want, o.GetAnnotations())
		}
		types, isHook := hook.Types(o), order.IsHook(o.Object)
		if isHook != hook.IsHook(o) {
			t.Fatalf("hook: %v, Argo CD says %v\n%v", isHook, !isHook, o.GetAnnotations())
		}
		phases, wave, _ := order.Place(o.Object)
		for _, phase := range phases {
			if wave != syncwaves.Wave(o) || isHook && !slices.Contains(types, common.HookType(phase)) {
				t.Fatalf("wave %d, phase %s; Argo CD says %d, %v\n%v", wave, phase, syncwaves.Wave(o), types, o.GetAnnotations())
			}
		}
	}
}
