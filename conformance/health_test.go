package conformance

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/resource_customizations"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/gitops-engine/pkg/health"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ours "github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// dice makes objects of a few values.
type dice struct{ *rand.Rand }

func (d dice) pick(values ...any) any { return values[d.IntN(len(values))] }

// maybe sets a field to one of some values, or not at all.
func (d dice) maybe(m map[string]any, key string, values ...any) {
	if v := d.pick(append(values, nil)...); v != nil {
		m[key] = v
	}
}

func (d dice) conditions(types ...any) []any {
	var out []any
	for range d.IntN(3) {
		c := map[string]any{"type": d.pick(types...), "status": d.pick("True", "False", "Unknown"), "message": "m"}
		d.maybe(c, "reason", "ProgressDeadlineExceeded", "FailedGetScale", "InvalidSelector", "Other")
		out = append(out, c)
	}
	return out
}

func (d dice) workload(kind string) map[string]any {
	meta, spec, status := map[string]any{"name": "x"}, map[string]any{}, map[string]any{}
	d.maybe(meta, "generation", int64(1), int64(2))
	d.maybe(status, "observedGeneration", int64(1), int64(2))
	d.maybe(spec, "replicas", int64(0), int64(1), int64(2))
	d.maybe(spec, "paused", true, false)
	for _, field := range []string{
		"replicas", "updatedReplicas", "availableReplicas", "readyReplicas", "updatedNumberScheduled",
		"desiredNumberScheduled", "numberAvailable",
	} {
		d.maybe(status, field, int64(0), int64(1), int64(2))
	}
	strategy := map[string]any{}
	d.maybe(strategy, "type", "RollingUpdate", "OnDelete")
	d.maybe(strategy, "rollingUpdate", map[string]any{}, map[string]any{"partition": int64(1)})
	if kind == "DaemonSet" {
		delete(strategy, "rollingUpdate")
	}
	if kind != "Deployment" && kind != "ReplicaSet" {
		spec["updateStrategy"] = strategy
	}
	d.maybe(status, "currentRevision", "a", "b")
	d.maybe(status, "updateRevision", "a", "b")
	status["conditions"] = d.conditions("Progressing", "ReplicaFailure", "Available")
	return map[string]any{"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec, "status": status}
}

func (d dice) pod() map[string]any {
	container := func() any {
		state := map[string]any{}
		d.maybe(state, "waiting", map[string]any{
			"reason":  d.pick("ErrImagePull", "CrashLoopBackOff", "RunError", "ContainerCreating"),
			"message": "w",
		})
		d.maybe(state, "terminated", map[string]any{
			"exitCode": d.pick(int64(0), int64(1)), "reason": d.pick("OOMKilled", "Error"),
			"message": d.pick("", "t"),
		})
		c := map[string]any{"name": "c", "state": state}
		d.maybe(c, "lastState", map[string]any{"terminated": map[string]any{"exitCode": int64(1)}})
		return c
	}
	spec, status := map[string]any{}, map[string]any{
		"containerStatuses":     []any{container(), container()},
		"initContainerStatuses": []any{container()}, "conditions": d.conditions("Ready"),
	}
	d.maybe(spec, "restartPolicy", "Always", "OnFailure", "Never")
	d.maybe(status, "phase", "Pending", "Running", "Succeeded", "Failed", "Unknown")
	d.maybe(status, "message", "m")
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "x"}, "spec": spec, "status": status}
}

func (d dice) object() map[string]any {
	simple := func(version, kind string, status map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": "x"}, "spec": map[string]any{},
			"status": status,
		}
	}
	balancer := map[string]any{}
	d.maybe(balancer, "loadBalancer", map[string]any{"ingress": []any{map[string]any{"ip": "1.2.3.4"}}}, map[string]any{})
	phase := map[string]any{}
	var o map[string]any
	switch d.IntN(11) {
	case 0, 1, 2:
		o = d.workload(d.pick("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet").(string))
	case 3, 4:
		o = d.pod()
	case 5:
		o = simple("v1", "Service", balancer)
		d.maybe(o["spec"].(map[string]any), "type", "LoadBalancer", "ClusterIP")
	case 6:
		o = simple("networking.k8s.io/v1", "Ingress", balancer)
	case 7:
		d.maybe(phase, "phase", "Bound", "Pending", "Lost", "Other")
		o = simple("v1", "PersistentVolumeClaim", phase)
	case 8:
		o = simple("batch/v1", "Job", map[string]any{"conditions": d.conditions("Failed", "Complete", "Suspended")})
	case 9:
		o = simple(d.pick("autoscaling/v2", "autoscaling/v1").(string), "HorizontalPodAutoscaler",
			map[string]any{"conditions": d.conditions("AbleToScale", "ScalingActive", "ScalingLimited")})
		if o["apiVersion"] == "autoscaling/v1" {
			o["status"] = map[string]any{}
			d.maybe(o["metadata"].(map[string]any), "annotations", map[string]any{"autoscaling.alpha.kubernetes.io/conditions": d.pick("[]",
				"no", `[{"type": "AbleToScale", "status": "True"}]`)})
		}
	default:
		o = simple("apiregistration.k8s.io/v1", "APIService", map[string]any{"conditions": d.conditions("Available", "Other")})
	}
	if d.IntN(20) == 0 {
		meta := o["metadata"].(map[string]any)
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		d.maybe(meta, "finalizers", []any{"argocd.argoproj.io/hook-finalizer"})
	}
	return o
}

// TestHealth compares the checks for core kinds with Argo CD's, on objects by chance.
func TestHealth(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(1, 2))}
	seen := map[string]int{}
	for range 20_000 {
		o := d.object()
		theirs, _ := health.GetResourceHealth(&unstructured.Unstructured{Object: manifest.Copy(o).(map[string]any)}, nil)
		mine, ok, err := ours.Evaluate(o, nil, ours.Limits{Version: 2})
		if err != nil || ok != (theirs != nil) || ok && string(mine.Status) != string(theirs.Status) {
			t.Fatalf("%v\nArgo CD: %+v\nours:    %+v, %v, %v", o, theirs, mine, ok, err)
		}
		seen[fmt.Sprint(o["kind"], " ", mine.Status)]++
	}
	if len(seen) < 30 {
		t.Errorf("only %d different answers: %v", len(seen), seen)
	}
}

// TestHealthScripts compares what scripts may do, and how their results are read, with Argo CD's own Lua.
func TestHealthScripts(t *testing.T) {
	o := map[string]any{
		"apiVersion": "x.io/v1", "kind": "X", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"n": int64(3), "list": []any{"a", true, nil, 1.5}},
	}
	for _, script := range []string{
		`return {status = "Healthy", message = "m"}`, `return {status = "Great"}`, `return {}`, `return nil`, `local x`, `return {"a"}`,
		`return {status = 1}`, `return {message = "m"}`,
		`return "Healthy"`, `return {status = "Healthy", message = 5}`, `return {status = "Healthy", more = {1, 2}}`,
		`return {status = "Healthy", f = print}`, `return {"a", status = "Healthy"}`,
		`return {Status = "Degraded"}`, `return {`, `return obj.nothing.x`, `error("no")`,
		`return {status = "Healthy", message = obj.metadata.name .. obj.spec.n}`,
		`return {status = "Healthy", message = "" .. #obj.spec.list}`, `return {status = string.format("Healthy")}`,
		`return {status = "Healthy", message = os.date()}`,
		`local os = require("os"); return {status = "Healthy", message = os.date("!%Y-%m-%dT%H:%M:%SZ", 0)}`,
		`return {status = "Healthy", message = table.concat({"a", "b"})}`,
		`return {status = "Healthy", message = table.date("!%H", 3600)}`, `return {status = "Healthy", message = math.floor(1.5)}`,
		`return {status = tostring("Suspended")}`, `hs = {}; hs.status = "Missing"; return hs`,
		`for k, v in pairs(obj) do if k == "kind" then return {status = "Unknown", message = v} end end`, ours.ApplicationScript,
	} {
		vm := lua.ResourceHealthOverrides{"x.io/X": v1alpha1.ResourceOverride{HealthLua: script}}
		theirs, theirErr := vm.GetResourceHealth(&unstructured.Unstructured{Object: o})
		mine, err := ours.Lua(ours.Script{Health: script}, o, ours.Limits{})
		if (err == nil) != (theirErr == nil) {
			t.Errorf("%s\nArgo CD: %v\nours:    %v", script, theirErr, err)
			continue
		}
		if err == nil && (string(mine.Status) != string(theirs.Status) || mine.Status != ours.Unknown && mine.Message != theirs.Message) {
			t.Errorf("%s\nArgo CD: %+v\nours:    %+v", script, theirs, mine)
		}
	}
}

// TestOurHealthScripts runs our own scripts in Argo CD's Lua: they say there what our tests say.
func TestOurHealthScripts(t *testing.T) {
	operation := `"operationState": {"phase": "Succeeded", "finishedAt": "2026-01-01T00:00:05Z"}, "sync": {"status": "OutOfSync", "comparedTo": {}}, "resources": [{"status": "OutOfSync"}]`
	for _, c := range []struct{ kind, rest, want string }{
		{"Application", `"status": {}`, "Progressing waiting for Argo CD to reconcile it"},
		{"Application", `"status": {"controllerNamespace": "argocd", "operationState": {"phase": "Running"}}, "metadata": {"name": "r", "namespace": "argocd", "annotations": {"argocd.argoproj.io/tracking-id": "r:argoproj.io/Application:argocd/r"}}`, "Healthy it deploys itself, so its sync does not wait for it"},
		{
			"Application", `"status": {"health": {"status": "Healthy"}, "reconciledAt": "2026-01-01T00:00:05Z", ` + operation + `}`,
			"Progressing waiting for Argo CD to compare it after its sync",
		},
		{
			"Application", `"status": {"health": {"status": "Healthy"}, "reconciledAt": "2026-01-01T00:00:06Z", ` + operation + `}`,
			"Healthy ",
		},
		{"ApplicationSet", `"status": {"conditions": [{"type": "ResourcesUpToDate", "status": "True"}], "resourcesCount": 6000, "resources": [{"name": "a", "status": "Synced", "health": {"status": "Healthy"}}]}`, "Progressing it lists 1 of 6000 Applications; see --max-resources-status-count of the applicationset-controller"},
		{"ApplicationSet", `"status": {"conditions": [{"type": "ResourcesUpToDate", "status": "True"}], "resourcesCount": 1, "resources": [{"name": "a", "status": "Synced", "health": {"status": "Healthy"}}]}`, "Healthy its 1 Applications are healthy"},
	} {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(`{"apiVersion": "argoproj.io/v1alpha1", "kind": "` + c.kind + `", ` + c.rest + `}`)); err != nil {
			t.Fatal(err)
		}
		script := map[string]string{"Application": ours.ApplicationScript, "ApplicationSet": ours.ApplicationSetScript}[c.kind]
		theirs, err := lua.ResourceHealthOverrides{"argoproj.io/" +
			c.kind: v1alpha1.ResourceOverride{HealthLua: script}}.GetResourceHealth(o)
		if err != nil {
			t.Errorf("%s: %v", c.rest, err)
		} else if got := string(theirs.Status) + " " + theirs.Message; got != c.want {
			t.Errorf("%s: %s, want %s", c.rest, got, c.want)
		}
	}
}

// TestHealthBundled compares our list of the scripts that Argo CD has of its own.
func TestHealthBundled(t *testing.T) {
	var theirs []string
	err := fs.WalkDir(resource_customizations.Embedded, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Base(name) == "health.lua" {
			theirs = append(theirs, path.Dir(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(theirs)
	mine := ours.BundledKinds(2)
	slices.Sort(mine)
	if !slices.Equal(mine, theirs) {
		t.Errorf("%d scripts, Argo CD 3.2.11 has %d:\n%s", len(mine), len(theirs), strings.Join(theirs, "\n"))
	}
	for kind, want := range map[string]bool{
		"CustomResourceDefinition apiextensions.k8s.io/v1": true, "Bucket s3.aws.upbound.io/v1": true,
		"Certificate cert-manager.io/v1": true, "ConfigMap v1": false, "Foo example.com/v1": false,
	} {
		name, version, _ := strings.Cut(kind, " ")
		if got := ours.Bundled(manifest.Object{"apiVersion": version, "kind": name}, 2); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
}
