package conformance

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	appsetmetrics "github.com/argoproj/argo-cd/v3/applicationset/metrics"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/db"
	"github.com/argoproj/argo-cd/v3/util/settings"
	"github.com/argoproj/gitops-engine/pkg/health"
	synccommon "github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// batch is what is synced at once: how many Applications, and the steps that they are in.
type batch struct {
	Size  int
	Steps string
}

// rollout is how the Applications of a set are synced, one batch after the other, and which never are. A batch is healthy before the next
// one, and those of one step are the same whichever comes first.
type rollout struct {
	Batches []batch
	Synced  map[string][]string // by step, all of its Applications that are synced
	Never   []string
}

func (r *rollout) add(names []string, step func(name string) string) {
	var steps []string
	for _, name := range names {
		steps = append(steps, step(name))
		r.Synced[step(name)] = append(r.Synced[step(name)], name)
		slices.Sort(r.Synced[step(name)])
	}
	slices.Sort(steps)
	r.Batches = append(r.Batches, batch{len(names), strings.Join(slices.Compact(steps), " ")})
}

// upstreamRollout lets the applicationset-controller of Argo CD work on a set. Applications that it syncs become healthy at once.
func upstreamRollout(t *testing.T, clusters db.ArgoDB, text string) (*rollout, func(name string) string) {
	t.Helper()
	logrus.SetOutput(io.Discard)
	set := &v1alpha1.ApplicationSet{}
	if err := yaml.UnmarshalStrict([]byte(text), set); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	project := &v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: argoNamespace}}
	owner := func(o client.Object) []string {
		if c := metav1.GetControllerOf(o); c != nil {
			return []string{c.Name}
		}
		return nil
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(set, project).WithStatusSubresource(set).
		WithIndex(&v1alpha1.Application{}, ".metadata.controller", owner).Build()
	r := controllers.ApplicationSetReconciler{
		Client: api, Scheme: scheme, Renderer: &utils.Render{}, Recorder: record.NewFakeRecorder(10_000),
		Generators: map[string]generators.Generator{"List": generators.NewListGenerator()},
		ArgoDB:     clusters, KubeClientset: kubefake.NewClientset(),
		Policy: v1alpha1.ApplicationsSyncPolicySync, ArgoCDNamespace: argoNamespace, EnableProgressiveSyncs: true,
		Metrics: appsetmetrics.NewFakeAppsetMetrics(),
	}
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: argoNamespace, Name: set.Name}}
	out := &rollout{Synced: map[string][]string{}}
	synced := map[string]bool{}
	var apps v1alpha1.ApplicationList
	steps := map[string]string{}
	for idle := 0; idle < 4; {
		if _, err := r.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		if err := api.List(t.Context(), &apps); err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range apps.Items {
			app := &apps.Items[i]
			switch {
			case app.Operation != nil && !synced[app.Name]:
				names = append(names, app.Name)
				synced[app.Name] = true
				app.Operation = nil
				app.Status.OperationState = &v1alpha1.OperationState{Phase: synccommon.OperationSucceeded}
				app.Status.Sync.Status, app.Status.Health.Status = v1alpha1.SyncStatusCodeSynced, health.HealthStatusHealthy
			case app.Status.Sync.Status == "": // as its controller finds it first
				app.Status.Sync.Status, app.Status.Health.Status = v1alpha1.SyncStatusCodeOutOfSync, health.HealthStatusMissing
			default:
				continue
			}
			if err := api.Update(t.Context(), app); err != nil {
				t.Fatal(err)
			}
		}
		if err := api.Get(t.Context(), request.NamespacedName, set); err != nil {
			t.Fatal(err)
		}
		for _, s := range set.Status.ApplicationStatus {
			steps[s.Application] = s.Step
		}
		if idle++; len(names) > 0 {
			idle = 0
			out.add(names, func(name string) string { return steps[name] })
		}
	}
	for _, app := range apps.Items {
		if !synced[app.Name] {
			out.Never = append(out.Never, app.Name)
		}
	}
	slices.Sort(out.Never)
	return out, func(name string) string { return steps[name] }
}

// ourRollout follows the waves that the plugin gives to the Applications of a set. A wave ends when all of its Applications are healthy, so
// it does not end if one of them is not synced.
func ourRollout(t *testing.T, text string, step func(name string) string) *rollout {
	t.Helper()
	docs, err := manifest.Decode("set.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	res, err := appset.Expansion{Engine: appset.Embedded{}, Namespace: argoNamespace, Deployed: true}.Expand(context.Background(), docs)
	if err != nil {
		t.Fatal(err)
	}
	waves := map[int][]manifest.Object{}
	for _, app := range res.Objects {
		_, wave, _ := order.Place(app)
		waves[wave] = append(waves[wave], app)
	}
	out := &rollout{Synced: map[string][]string{}}
	stuck := false
	for wave := -1000; wave < 1000; wave++ {
		var names []string
		waits := false
		for _, app := range waves[wave] {
			name := manifest.String(app, "metadata", "name")
			automated := manifest.Map(app, "spec", "syncPolicy", "automated")
			if stuck || automated == nil || automated["enabled"] == false {
				out.Never = append(out.Never, name)
				waits = true
				continue
			}
			names = append(names, name)
		}
		if len(names) > 0 {
			out.add(names, step)
		}
		stuck = stuck || waits
	}
	slices.Sort(out.Never)
	return out
}

// rollingSet is a set with labels and steps that a generator of random numbers chooses.
func rollingSet(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	var elements, steps []string
	for i := range 1 + random.IntN(12) {
		elements = append(elements, fmt.Sprintf("{name: a%02d, env: %q, tier: %q}", i, pick("dev", "qa", "prod", "other"), pick("web", "db", "")))
	}
	values := map[string][]string{"env": {"dev", "qa", "prod"}, "tier": {"web", "db"}}
	used := map[string]bool{}
	for range 1 + random.IntN(4) {
		// Steps that select an Application twice never end in Argo CD, so each value is in one step.
		key := pick("env", "tier")
		if len(used) > 0 {
			key = "env"
		}
		if used["tier"] {
			break
		}
		var free []string
		for _, v := range values[key] {
			if !used[v] {
				free = append(free, v)
			}
		}
		if len(free) == 0 {
			break
		}
		chosen := free[:1+random.IntN(len(free))]
		for _, v := range chosen {
			used[v] = true
		}
		if key == "tier" {
			used["tier"] = true
		}
		expressions := []string{fmt.Sprintf("{key: %s, operator: In, values: [%s]}", key, strings.Join(chosen, ", "))}
		switch random.IntN(6) {
		case 0:
			expressions = append(expressions, "{key: tier, operator: NotIn, values: [db]}")
		case 1:
			expressions = append(expressions, "{key: missing, operator: NotIn, values: [x]}")
		case 2:
			expressions = append(expressions, "{key: missing, operator: Exists, values: [x]}")
		case 3:
			if random.IntN(3) == 0 {
				expressions = append(expressions, "{key: tier, operator: Exists, values: [web]}")
			}
		}
		step := "{matchExpressions: [" + strings.Join(expressions, ", ") + "]"
		if random.IntN(2) == 0 {
			step += ", maxUpdate: " + pick("1", "2", "3", "0", "10", "'0%'", "'1%'", "'20%'", "'34%'", "'50%'", "'75%'", "'100%'", "'200%'", "-1", "'-5%'", "'00%'")
		}
		steps = append(steps, step+"}")
	}
	if random.IntN(5) == 0 { // the rest
		all := slices.Sorted(func(yield func(string) bool) {
			for v := range used {
				if v != "tier" && v != "web" && v != "db" && !yield(v) {
					return
				}
			}
		})
		if !used["tier"] {
			steps = append(steps, "{matchExpressions: [{key: env, operator: NotIn, values: ["+strings.Join(all, ", ")+"]}]}")
		}
	}
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set, namespace: argocd}
spec:
  goTemplate: true
  strategy: {type: RollingSync, rollingSync: {steps: [%s]}}
  generators: [{list: {elements: [%s]}}]
  template:
    metadata: {name: '{{.name}}', labels: {env: '{{.env}}'}}
    spec:
      project: default
      source: {repoURL: https://git.example.com/x, path: '{{.name}}'}
      destination: {server: https://kubernetes.default.svc, namespace: '{{.name}}'}
  templatePatch: |
    {{ if .tier }}
    metadata: {labels: {tier: '{{.tier}}'}}
    {{ end }}
`, strings.Join(steps, ", "), strings.Join(elements, ", "))
}

// knownClusters are those of an Argo CD that has none but its own.
func knownClusters(t *testing.T) db.ArgoDB {
	t.Helper()
	clientset := kubefake.NewClientset(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "argocd-secret", Namespace: argoNamespace}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm", Namespace: argoNamespace, Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}}})
	return db.NewDB(argoNamespace, settings.NewSettingsManager(t.Context(), clientset, argoNamespace), clientset)
}

// TestRollingSyncTwice: two steps that select an Application never end in Argo CD. Here the first one counts, with a warning.
func TestRollingSyncTwice(t *testing.T) {
	const expression = "{matchExpressions: [{key: env, operator: In, values: [dev]}]}"
	text := strings.Replace(rollingSet(rand.New(rand.NewPCG(1, 1))), "steps: [", "steps: ["+expression+", "+expression+", ", 1)
	text = text[:strings.Index(text, "elements: [")] + "elements: [{name: a, env: dev, tier: ''}, {name: b, env: other, tier: ''}]}}]" +
		text[strings.Index(text, "\n  template:"):]
	want, step := upstreamRollout(t, knownClusters(t), text)
	if len(want.Batches) != 0 || len(want.Never) != 2 {
		t.Errorf("Argo CD has mended it: %v", want)
	}
	if got := ourRollout(t, text, step); len(got.Batches) != 1 || len(got.Never) != 1 {
		t.Errorf("%v", got)
	}
}

// TestRollingSync compares the waves of our Applications with what the applicationset-controller syncs, step by step: which Applications a
// step has, how many of them are synced at once, and which are never synced.
func TestRollingSync(t *testing.T) {
	n := 100
	if text := os.Getenv("CASES"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	several, never, clusters := 0, 0, knownClusters(t)
	for seed := range n {
		text := rollingSet(rand.New(rand.NewPCG(uint64(seed), 20)))
		want, step := upstreamRollout(t, clusters, text)
		got := ourRollout(t, text, step)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d (-Argo CD +ours):\n%s\n%s", seed, diff, text)
		}
		if len(want.Batches) > 1 {
			several++
		}
		if len(want.Never) > 0 {
			never++
		}
	}
	if several < n/5 || never < n/5 {
		t.Errorf("the cases show little: %d of %d have several batches, %d have Applications that are never synced", several, n, never)
	}
}
