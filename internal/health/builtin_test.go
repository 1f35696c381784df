package health

import (
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// TestBuiltIn: the health of core kinds as Argo CD has it in Go. conformance/ compares with Argo CD on random objects; this is the same in
// words.
func TestBuiltIn(t *testing.T) {
	for _, tt := range []struct{ name, apiVersion, kind, rest, want string }{
		{"paused, whatever else", "apps/v1", "Deployment", "metadata: {generation: 2}, spec: {paused: true}", "Suspended: it is paused"},
		{
			"new spec", "apps/v1", "Deployment", "metadata: {generation: 2}, status: {observedGeneration: 1}",
			"Progressing: its controller has not seen the new spec yet",
		},
		{
			"deadline", "apps/v1", "Deployment",
			"spec: {replicas: 1}, status: {conditions: [{type: Available}, {type: Progressing, reason: ProgressDeadlineExceeded}]}",
			"Degraded: it has exceeded its progress deadline",
		},
		{
			"updated", "apps/v1", "Deployment", "spec: {replicas: 3}, status: {updatedReplicas: 1}",
			"Progressing: 1 of 3 replicas are updated",
		},
		{
			"old ones", "apps/v1", "Deployment", "spec: {replicas: 3}, status: {updatedReplicas: 3, replicas: 5}",
			"Progressing: 2 old replicas are still there",
		},
		{
			"available", "apps/v1", "Deployment", "spec: {replicas: 3}, status: {updatedReplicas: 3, replicas: 3, availableReplicas: 2}",
			"Progressing: 2 of 3 updated replicas are available",
		},
		{
			"done", "apps/v1", "Deployment",
			"metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2, updatedReplicas: 3, replicas: 3, availableReplicas: 3}", "Healthy: ",
		},
		{
			"replicas of an autoscaler", "apps/v1", "Deployment", "status: {updatedReplicas: 2, replicas: 2, availableReplicas: 2}",
			"Healthy: ",
		},
		{
			"another version", "apps/v1beta1", "Deployment", "spec: {paused: true}",
			"Unknown: Argo CD has no check for Deployment of apps/v1beta1",
		},

		{"never seen", "apps/v1", "StatefulSet", "spec: {replicas: 0}", "Progressing: its controller has not seen the new spec yet"},
		{
			"ready", "apps/v1", "StatefulSet", "spec: {replicas: 2}, status: {observedGeneration: 1, readyReplicas: 1}",
			"Progressing: 1 of 2 pods are ready",
		},
		{
			"partition", "apps/v1", "StatefulSet",
			"spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}, status: {observedGeneration: 1, readyReplicas: 3, updatedReplicas: 1}", "Progressing: 1 of 2 pods of the partition are updated",
		},
		{
			"partition done", "apps/v1", "StatefulSet",
			"spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}, status: {observedGeneration: 1, readyReplicas: 3, updatedReplicas: 2, currentRevision: a, updateRevision: b}", "Healthy: ",
		},
		{
			"by hand", "apps/v1", "StatefulSet",
			"spec: {replicas: 1, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 1, readyReplicas: 1, currentRevision: a, updateRevision: b}", "Healthy: ",
		},
		{
			"revisions", "apps/v1", "StatefulSet",
			"spec: {replicas: 1}, status: {observedGeneration: 1, readyReplicas: 1, updatedReplicas: 1, currentRevision: a, updateRevision: b}", "Progressing: 1 pods are at revision b",
		},
		{
			"one revision", "apps/v1", "StatefulSet",
			"spec: {replicas: 1}, status: {observedGeneration: 1, readyReplicas: 1, currentRevision: b, updateRevision: b}", "Healthy: ",
		},

		{"new spec", "apps/v1", "DaemonSet", "metadata: {generation: 1}", "Progressing: its controller has not seen the new spec yet"},
		{
			"updated", "apps/v1", "DaemonSet", "status: {desiredNumberScheduled: 2, updatedNumberScheduled: 1}",
			"Progressing: 1 of 2 pods are updated",
		},
		{
			"available", "apps/v1", "DaemonSet", "status: {desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1}",
			"Progressing: 1 of 2 pods are available",
		},
		{"by hand", "apps/v1", "DaemonSet", "spec: {updateStrategy: {type: OnDelete}}, status: {desiredNumberScheduled: 2}", "Healthy: "},
		{"no nodes", "apps/v1", "DaemonSet", "status: {}", "Healthy: "},

		{
			"failure", "apps/v1", "ReplicaSet",
			"spec: {replicas: 1}, status: {conditions: [{type: ReplicaFailure, status: 'True', message: quota}]}", "Degraded: quota",
		},
		{
			"no failure any more", "apps/v1", "ReplicaSet",
			"spec: {replicas: 1}, status: {availableReplicas: 1, conditions: [{type: ReplicaFailure, status: 'False'}]}", "Healthy: ",
		},
		{
			"available", "apps/v1", "ReplicaSet", "spec: {replicas: 2}, status: {availableReplicas: 1}",
			"Progressing: 1 of 2 replicas are available",
		},
		{
			"new spec", "apps/v1", "ReplicaSet", "metadata: {generation: 3}, status: {observedGeneration: 2}",
			"Progressing: its controller has not seen the new spec yet",
		},

		{"no address", "networking.k8s.io/v1", "Ingress", "status: {loadBalancer: {}}", "Progressing: "},
		{"address", "networking.k8s.io/v1", "Ingress", "status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}", "Healthy: "},
		{"the old group", "extensions/v1beta1", "Ingress", "status: {}", "Progressing: "},
		{"inside", "v1", "Service", "spec: {type: ClusterIP}", "Healthy: "},
		{"no address", "v1", "Service", "spec: {type: LoadBalancer}", "Progressing: "},
		{"address", "v1", "Service", "spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{hostname: x}]}}", "Healthy: "},

		{"pending", "v1", "PersistentVolumeClaim", "status: {phase: Pending}", "Progressing: "},
		{"bound", "v1", "PersistentVolumeClaim", "status: {phase: Bound}", "Healthy: "},
		{"lost", "v1", "PersistentVolumeClaim", "status: {phase: Lost}", "Degraded: "},
		{"new", "v1", "PersistentVolumeClaim", "status: {}", "Unknown: "},

		{"running", "batch/v1", "Job", "status: {active: 1}", "Progressing: "},
		{"complete", "batch/v1", "Job", "status: {conditions: [{type: Complete, status: 'True', message: done}]}", "Healthy: done"},
		{"failed", "batch/v1", "Job", "status: {conditions: [{type: Failed, status: 'True', message: too often}]}", "Degraded: too often"},
		{"suspended", "batch/v1", "Job", "status: {conditions: [{type: Suspended, status: 'True'}]}", "Suspended: "},

		{"no conditions", "autoscaling/v2", "HorizontalPodAutoscaler", "status: {}", "Progressing: it has not scaled yet"},
		{
			"able", "autoscaling/v2", "HorizontalPodAutoscaler",
			"status: {conditions: [{type: AbleToScale, status: 'True', message: ready}]}",
			"Healthy: ready",
		},
		{
			"no metrics", "autoscaling/v2", "HorizontalPodAutoscaler",
			"status: {conditions: [{type: ScalingActive, status: 'False', reason: FailedGetResourceMetric, message: no metrics}]}",
			"Degraded: no metrics",
		},
		{
			"an annotation of old", "autoscaling/v1", "HorizontalPodAutoscaler",
			`metadata: {annotations: {autoscaling.alpha.kubernetes.io/conditions: '[{"type":"ScalingLimited","status":"True","message":"at its limit"}]'}}`, "Healthy: at its limit",
		},
		{
			"no annotation", "autoscaling/v1", "HorizontalPodAutoscaler", "status: {conditions: [{type: AbleToScale, status: 'True'}]}",
			"Progressing: it has not scaled yet",
		},
		{
			"a broken annotation", "autoscaling/v1", "HorizontalPodAutoscaler",
			"metadata: {annotations: {autoscaling.alpha.kubernetes.io/conditions: '['}}",
			"Unknown: its annotation with conditions is not JSON",
		},

		{"new", "apiregistration.k8s.io/v1", "APIService", "status: {}", "Progressing: Kubernetes has not checked it yet"},
		{
			"away", "apiregistration.k8s.io/v1", "APIService",
			"status: {conditions: [{type: Available, status: 'False', reason: NoEndpoints, message: none}]}",
			"Progressing: NoEndpoints: none",
		},
		{
			"there", "apiregistration.k8s.io/v1", "APIService",
			"status: {conditions: [{type: Available, status: 'True', reason: Passed, message: all}]}", "Healthy: Passed: all",
		},

		{"new", "argoproj.io/v1alpha1", "Workflow", "status: {}", "Progressing: "},
		{"succeeded", "argoproj.io/v1alpha1", "Workflow", "status: {phase: Succeeded, message: ok}", "Healthy: ok"},
		{"an error", "argoproj.io/v1alpha1", "Workflow", "status: {phase: Error, message: bad}", "Degraded: bad"},
		{"a phase of the future", "argoproj.io/v1alpha1", "Workflow", "status: {phase: Dreaming}", "Unknown: "},

		{"pending", "v1", "Pod", "status: {phase: Pending, message: no node}", "Progressing: no node"},
		{"succeeded", "v1", "Pod", "spec: {restartPolicy: Never}, status: {phase: Succeeded}", "Healthy: "},
		{
			"a loop of crashes", "v1", "Pod",
			"spec: {restartPolicy: Always}, status: {phase: Running, containerStatuses: [{state: {waiting: {reason: CrashLoopBackOff, message: back-off}}}, {state: {waiting: {reason: ErrImagePull, message: no image}}}]}", "Degraded: back-off, no image",
		},
		{
			"crashes that may end it", "v1", "Pod",
			"spec: {restartPolicy: OnFailure}, status: {phase: Running, containerStatuses: [{state: {waiting: {reason: CrashLoopBackOff}}}]}", "Progressing: ",
		},
		{
			"ready", "v1", "Pod", "spec: {restartPolicy: Always}, status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}",
			"Healthy: ",
		},
		{"not ready", "v1", "Pod", "spec: {restartPolicy: Always}, status: {phase: Running}", "Progressing: "},
		{
			"not ready again", "v1", "Pod",
			"spec: {restartPolicy: Always}, status: {phase: Running, containerStatuses: [{lastState: {terminated: {exitCode: 1}}}]}",
			"Degraded: ",
		},
		{"no policy", "v1", "Pod", "status: {phase: Running}", "Unknown: "},
		{
			"a message", "v1", "Pod", "status: {phase: Failed, message: evicted, containerStatuses: [{state: {terminated: {message: x}}}]}",
			"Degraded: evicted",
		},
		{
			"a container's message", "v1", "Pod",
			"status: {phase: Failed, containerStatuses: [{state: {running: {}}}, {state: {terminated: {message: out of luck}}}]}",
			"Degraded: out of luck",
		},
		{
			"no memory", "v1", "Pod",
			"status: {phase: Failed, initContainerStatuses: [{state: {terminated: {reason: OOMKilled, exitCode: 137}}}], containerStatuses: [{state: {terminated: {message: later}}}]}", "Degraded: OOMKilled",
		},
		{"a code", "v1", "Pod", "status: {phase: Failed, containerStatuses: [{name: a, state: {terminated: {exitCode: 0}}}, {name: b, state: {terminated: {exitCode: 3}}}]}", "Degraded: container b has ended with code 3"},

		{"no check", "v1", "ConfigMap", "data: {}", "none"},
		{"a group of the same kind", "serving.knative.dev/v1", "Service", "spec: {type: LoadBalancer}", "none"},
	} {
		o := object(t, "{apiVersion: "+tt.apiVersion+", kind: "+tt.kind+", "+tt.rest+"}")
		h, ok, err := Evaluate(o, nil, Limits{})
		got := string(h.Status) + ": " + h.Message
		if !ok {
			got = "none"
		}
		if got != tt.want || err != nil || ok && h.Check != "built in" || BuiltIn(o) != ok {
			t.Errorf("%s of %s, %s: %q by %q, %v, want %q", tt.kind, tt.apiVersion, tt.name, got, h.Check, err, tt.want)
		}
	}
}

// TestEvaluate: what decides about an object: its deletion, a script, what is built in.
func TestEvaluate(t *testing.T) {
	checks := Customizations{
		"apps/Deployment": {Health: `return {status = "Degraded", message = "by script"}`},
		"x/*":             {Health: `return {status = "Healthy"}`},
		"x/Broken":        {Health: `error("no")`},
		"*/Two":           {Health: `return {status = "Healthy"}`},
		"Service":         {OpenLibs: true}, // no script
	}
	for name, tt := range map[string]struct{ object, want string }{
		"a script":            {"{apiVersion: apps/v1, kind: Deployment, spec: {paused: true}}", "Degraded by apps/Deployment"},
		"a pattern":           {"{apiVersion: x/v1, kind: Thing}", "Healthy by x/*"},
		"built in":            {"{apiVersion: v1, kind: Service}", "Healthy by built in"},
		"nothing":             {"{apiVersion: z/v1, kind: Thing}", "none"},
		"a script that fails": {"{apiVersion: x/v1, kind: Broken}", "error x/Broken: <string>:1: no"},
		"two patterns": {
			"{apiVersion: x/v1, kind: Two}",
			"error x/Two: several patterns match, and Argo CD takes any of them: */Two, x/*",
		},
		"deleted": {
			"{apiVersion: apps/v1, kind: Deployment, metadata: {deletionTimestamp: 2026-01-01T00:00:00Z}}",
			"Progressing by deletion",
		},
		"deleted without check": {"{apiVersion: z/v1, kind: Thing, metadata: {deletionTimestamp: 2026-01-01T00:00:00Z, finalizers: [other]}}", "Progressing by deletion"},
		"a hook that is held":   {"{apiVersion: x/v1, kind: Thing, metadata: {deletionTimestamp: 2026-01-01T00:00:00Z, finalizers: [other, argocd.argoproj.io/hook-finalizer]}}", "Healthy by x/*"},
	} {
		o := object(t, tt.object)
		h, ok, err := Evaluate(o, checks, Limits{})
		got := string(h.Status) + " by " + h.Check
		if !ok {
			got = "none"
		}
		if err != nil {
			got = "error " + err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		// Covers names the script that would be run, whatever it would answer.
		key, err := checks.Covers(o)
		if _, by, _ := strings.Cut(got, " by "); checks[by].Health != "" && (key != by || err != nil) {
			t.Errorf("%s: covered by %q, %v, want %q", name, key, err, by)
		}
		if name == "two patterns" != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTime: the os library that Argo CD gives to scripts, which has a clock and nothing else.
func TestTime(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 3, 4, 15, 6, 7, 0, time.UTC) }
	for name, tt := range map[string]struct {
		script, want string
		now          func() time.Time
	}{
		"now":            {`os.time()`, "1772636767", now},
		"no clock":       {`os.time()`, "0", nil},
		"a table":        {`os.time({year = 2026, month = 3, day = 4, hour = 15, min = 6, sec = 7}) - os.time({year = 2026, month = 3, day = 4, hour = 15})`, "367", now},
		"noon":           {`os.time({year = 2026, month = 3, day = 4, hour = 12}) - os.time({year = 2026, month = 3, day = 4})`, "0", now},
		"a date":         {`os.date("!%d.%m.%y %H:%M:%S %p %A %B %%")`, "04.03.26 15:06:07 PM Wednesday March %", now},
		"default format": {`#os.date()`, "19", now},
		"in UTC": {
			`os.date("%H:%M") .. os.date(" %H", 3600) .. " " .. os.time({year = 1970, month = 1, day = 1, hour = 1})`,
			"15:06 01 3600", now,
		},
		"an odd format":  {`os.date("!%Y%E%")`, "2026%E%", now},
		"a table of now": {`os.date("!*t").year .. "-" .. os.date("!*t").wday .. "-" .. os.date("!*t", 0).month`, "2026-4-1", now},
	} {
		script := `local os = require("os"); return {status = "Healthy", message = "" .. ` + tt.script + `}`
		h, err := Lua(Script{Health: script}, manifest.Object{}, Limits{Now: tt.now})
		if err != nil || h.Message != tt.want {
			t.Errorf("%s: %q, %v, want %q", name, h.Message, err, tt.want)
		}
	}
}
