package health

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// BuiltIn reports whether Argo CD has a check for an object in Go.
func BuiltIn(o manifest.Object) bool {
	_, ok, _ := builtin(o, 0)
	return ok
}

// builtin runs the checks that Argo CD has in Go, for kinds of Kubernetes itself.
func builtin(o manifest.Object, version versions.Version) (Health, bool, error) {
	kind, group := manifest.String(o, "kind"), manifest.Group(o)
	checks := map[string]func(manifest.Object) Health{
		"apps/Deployment": deployment, "apps/StatefulSet": statefulSet, "apps/DaemonSet": daemonSet, "apps/ReplicaSet": replicaSet,
		"extensions/Ingress": ingress, "networking.k8s.io/Ingress": ingress, "/Service": service, "/PersistentVolumeClaim": volumeClaim,
		"/Pod":      pod,
		"batch/Job": job, "autoscaling/HorizontalPodAutoscaler": func(o manifest.Object) Health {
			return autoscaler(o, version)
		}, "apiregistration.k8s.io/APIService": apiService, argo.Group + "/Workflow": workflow,
	}
	name := group + "/" + kind
	check := checks[name]
	if check == nil {
		return Health{}, false, nil
	}
	if _, version, _ := strings.Cut(manifest.String(o, "apiVersion"), "/"); group == "apps" && version != "v1" {
		return Health{Unknown, fmt.Sprintf("Argo CD has no check for %s of %s", kind, manifest.String(o, "apiVersion")), "built in"}, true,
			nil
	}
	h := check(o)
	h.Check = "built in"
	return h, true, nil
}

// number returns a number of an object, and whether it is there.
func number(o manifest.Object, path ...string) (int64, bool) {
	return manifest.Number(manifest.Map(o, path[:len(path)-1]...)[path[len(path)-1]])
}

func count(o manifest.Object, path ...string) int64 {
	n, _ := number(o, path...)
	return n
}

// list returns the objects of a list.
func list(o manifest.Object, path ...string) []map[string]any {
	items, _ := manifest.Map(o, path[:len(path)-1]...)[path[len(path)-1]].([]any)
	out := make([]map[string]any, 0, len(items))
	for _, item := range items {
		m, _ := item.(map[string]any)
		out = append(out, m)
	}
	return out
}

// unseen is about a spec that is newer than the status.
const unseen = "its controller has not seen the new spec yet"

func progressing(format string, args ...any) Health {
	return Health{Status: Progressing, Message: fmt.Sprintf(format, args...)}
}

func deployment(o manifest.Object) Health {
	if paused, _ := manifest.Map(o, "spec")["paused"].(bool); paused {
		return Health{Status: Suspended, Message: "it is paused"}
	}
	if count(o, "metadata", "generation") > count(o, "status", "observedGeneration") {
		return progressing(unseen)
	}
	wanted, set := number(o, "spec", "replicas")
	updated, all, available := count(o, "status", "updatedReplicas"), count(o, "status", "replicas"),
		count(o, "status", "availableReplicas")
	switch {
	case manifest.String(manifest.Condition(o, "Progressing"), "reason") == "ProgressDeadlineExceeded":
		return Health{Status: Degraded, Message: "it has exceeded its progress deadline"}
	case set && updated < wanted:
		return progressing("%d of %d replicas are updated", updated, wanted)
	case all > updated:
		return progressing("%d old replicas are still there", all-updated)
	case available < updated:
		return progressing("%d of %d updated replicas are available", available, updated)
	}
	return Health{Status: Healthy}
}

func statefulSet(o manifest.Object) Health {
	observed := count(o, "status", "observedGeneration")
	if observed == 0 || count(o, "metadata", "generation") > observed {
		return progressing(unseen)
	}
	wanted, set := number(o, "spec", "replicas")
	ready, updated := count(o, "status", "readyReplicas"), count(o, "status", "updatedReplicas")
	if set && ready < wanted {
		return progressing("%d of %d pods are ready", ready, wanted)
	}
	strategy := manifest.Map(o, "spec", "updateStrategy")
	if _, rolling := strategy["rollingUpdate"].(map[string]any); manifest.String(strategy, "type") == "RollingUpdate" && rolling {
		if partition, ok := number(strategy, "rollingUpdate", "partition"); ok && set && updated < wanted-partition {
			return progressing("%d of %d pods of the partition are updated", updated, wanted-partition)
		}
		return Health{Status: Healthy}
	}
	if manifest.String(strategy, "type") == "OnDelete" {
		return Health{Status: Healthy}
	}
	current, update := manifest.String(o, "status", "currentRevision"), manifest.String(o, "status", "updateRevision")
	if current != update {
		return progressing("%d pods are at revision %s", updated, update)
	}
	return Health{Status: Healthy}
}

func daemonSet(o manifest.Object) Health {
	if count(o, "metadata", "generation") > count(o, "status", "observedGeneration") {
		return progressing(unseen)
	}
	updated, wanted, available := count(o, "status", "updatedNumberScheduled"), count(o, "status", "desiredNumberScheduled"),
		count(o, "status", "numberAvailable")
	switch {
	case manifest.String(o, "spec", "updateStrategy", "type") == "OnDelete":
		return Health{Status: Healthy}
	case updated < wanted:
		return progressing("%d of %d pods are updated", updated, wanted)
	case available < wanted:
		return progressing("%d of %d pods are available", available, wanted)
	}
	return Health{Status: Healthy}
}

func replicaSet(o manifest.Object) Health {
	if count(o, "metadata", "generation") > count(o, "status", "observedGeneration") {
		return progressing(unseen)
	}
	if c := manifest.Condition(o, "ReplicaFailure"); manifest.String(c, "status") == "True" {
		return Health{Status: Degraded, Message: manifest.String(c, "message")}
	}
	wanted, set := number(o, "spec", "replicas")
	if available := count(o, "status", "availableReplicas"); set && available < wanted {
		return progressing("%d of %d replicas are available", available, wanted)
	}
	return Health{Status: Healthy}
}

// balanced is the health of an object that waits for the address of a load balancer.
func balanced(o manifest.Object) Health {
	if len(list(o, "status", "loadBalancer", "ingress")) > 0 {
		return Health{Status: Healthy}
	}
	return Health{Status: Progressing}
}

func ingress(o manifest.Object) Health { return balanced(o) }

func service(o manifest.Object) Health {
	if manifest.String(o, "spec", "type") == "LoadBalancer" {
		return balanced(o)
	}
	return Health{Status: Healthy}
}

func volumeClaim(o manifest.Object) Health {
	switch manifest.String(o, "status", "phase") {
	case "Lost":
		return Health{Status: Degraded}
	case "Pending":
		return Health{Status: Progressing}
	case "Bound":
		return Health{Status: Healthy}
	}
	return Health{Status: Unknown}
}

func job(o manifest.Object) Health {
	var failed, complete, suspended bool
	var failure, text string
	for _, c := range list(o, "status", "conditions") {
		switch manifest.String(c, "type") {
		case "Failed":
			failed, complete, failure = true, true, manifest.String(c, "message")
		case "Complete":
			complete, text = true, manifest.String(c, "message")
		case "Suspended":
			complete, text = true, manifest.String(c, "message")
			suspended = suspended || manifest.String(c, "status") == "True"
		}
	}
	switch {
	case !complete:
		return Health{Status: Progressing, Message: text}
	case failed:
		return Health{Status: Degraded, Message: failure}
	case suspended:
		return Health{Status: Suspended, Message: failure}
	}
	return Health{Status: Healthy, Message: text}
}

func autoscaler(o manifest.Object, version versions.Version) Health {
	waiting := Health{Status: Progressing, Message: "it has not scaled yet"}
	conditions := list(o, "status", "conditions")
	if manifest.String(o, "apiVersion") == "autoscaling/v1" {
		var parsed []map[string]any
		text := manifest.String(o, "metadata", "annotations", "autoscaling.alpha.kubernetes.io/conditions")
		if text == "" {
			return waiting
		}
		if err := json.Unmarshal([]byte(text), &parsed); err != nil {
			return Health{Status: Unknown, Message: "its annotation with conditions is not JSON"}
		}
		conditions = parsed
	}
	failures := []string{
		"AbleToScale FailedGetScale", "AbleToScale FailedUpdateScale", "ScalingActive FailedGetResourceMetric",
		"ScalingActive InvalidSelector",
	}
	failureFirst := version.Has(versions.AutoscalerFailureFirst)
	if failureFirst {
		failures = append(failures, "ScalingActive FailedGetObjectMetric", "ScalingActive FailedGetPodsMetric",
			"ScalingActive FailedGetExternalMetric", "ScalingActive FailedComputeMetricsReplicas")
	}
	var healthy *Health
	for _, c := range conditions {
		kind := manifest.String(c, "type")
		switch {
		case slices.Contains(failures, kind+" "+manifest.String(c, "reason")):
			return Health{Status: Degraded, Message: manifest.String(c, "message")}
		case healthy == nil && (kind == "AbleToScale" || kind == "ScalingLimited") && manifest.String(c, "status") == "True":
			healthy = &Health{Status: Healthy, Message: manifest.String(c, "message")}
			if !failureFirst {
				return *healthy
			}
		}
	}
	if healthy != nil {
		return *healthy
	}
	return waiting
}

func apiService(o manifest.Object) Health {
	c := manifest.Condition(o, "Available")
	if c == nil {
		return progressing("Kubernetes has not checked it yet")
	}
	h := Health{Status: Progressing, Message: fmt.Sprintf("%s: %s", manifest.String(c, "reason"), manifest.String(c, "message"))}
	if manifest.String(c, "status") == "True" {
		h.Status = Healthy
	}
	return h
}

func workflow(o manifest.Object) Health {
	h := Health{Status: Unknown, Message: manifest.String(o, "status", "message")}
	switch manifest.String(o, "status", "phase") {
	case "", "Pending", "Running":
		h.Status = Progressing
	case "Succeeded":
		h.Status = Healthy
	case "Failed", "Error":
		h.Status = Degraded
	}
	return h
}

func pod(o manifest.Object) Health {
	always := manifest.String(o, "spec", "restartPolicy") == "Always"
	containers := list(o, "status", "containerStatuses")
	if always {
		var texts []string
		for _, c := range containers {
			reason := manifest.String(c, "state", "waiting", "reason")
			if strings.HasPrefix(reason, "Err") || strings.HasSuffix(reason, "Error") || strings.HasSuffix(reason, "BackOff") {
				texts = append(texts, manifest.String(c, "state", "waiting", "message"))
			}
		}
		if len(texts) > 0 {
			return Health{Status: Degraded, Message: strings.Join(texts, ", ")}
		}
	}
	h := Health{Status: Unknown, Message: manifest.String(o, "status", "message")}
	switch manifest.String(o, "status", "phase") {
	case "Pending":
		h.Status = Progressing
	case "Succeeded":
		h.Status = Healthy
	case "Failed":
		h.Status = Degraded
		for _, c := range append(list(o, "status", "initContainerStatuses"), containers...) {
			if h.Message == "" {
				h.Message = failMessage(c)
			}
		}
	case "Running":
		h.Status = running(o, always, containers)
	}
	return h
}

func running(o manifest.Object, always bool, containers []map[string]any) Status {
	if !always {
		switch manifest.String(o, "spec", "restartPolicy") {
		case "OnFailure", "Never": // it is to end
			return Progressing
		}
		return Unknown
	}
	if manifest.String(manifest.Condition(o, "Ready"), "status") == "True" {
		return Healthy
	}
	for _, c := range containers {
		if manifest.Map(c, "lastState", "terminated") != nil {
			return Degraded
		}
	}
	return Progressing
}

// failMessage says why a container has ended.
func failMessage(c map[string]any) string {
	end := manifest.Map(c, "state", "terminated")
	if end == nil {
		return ""
	}
	if text := manifest.String(end, "message"); text != "" {
		return text
	}
	if manifest.String(end, "reason") == "OOMKilled" {
		return "OOMKilled"
	}
	if code := count(end, "exitCode"); code != 0 {
		return fmt.Sprintf("container %s has ended with code %d", manifest.String(c, "name"), code)
	}
	return ""
}
