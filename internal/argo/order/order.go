// Package order knows the order of a sync: which objects a sync deploys, in which phase and wave, and which of them Argo CD moves because
// others need them. It does what gitops-engine of Argo CD 3.2 does; a test in conformance/ holds it to that. It also knows the kinds of
// Kubernetes itself.
package order

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Phases of a sync, in order.
const (
	PreSync  = "PreSync"
	Sync     = "Sync"
	PostSync = "PostSync"
	SyncFail = "SyncFail"
)

var phases = []string{PreSync, Sync, PostSync, SyncFail}

// kinds is the order of kinds inside a wave; those that are not in it come last.
var kinds = strings.Fields(`
		Namespace NetworkPolicy ResourceQuota LimitRange PodSecurityPolicy PodDisruptionBudget ServiceAccount Secret SecretList
		ConfigMap StorageClass PersistentVolume PersistentVolumeClaim CustomResourceDefinition ClusterRole ClusterRoleList
		ClusterRoleBinding ClusterRoleBindingList Role RoleList RoleBinding RoleBindingList Service DaemonSet Pod
		ReplicationController ReplicaSet Deployment HorizontalPodAutoscaler StatefulSet Job CronJob IngressClass Ingress
		APIService`)

// Task is an object in one phase of a sync.
type Task struct {
	Group, Kind, Namespace, Name string
	Phase                        string
	Wave                         int
	// Moved says where it was written, if it is moved: "wave 3", "PostSync wave 1"; otherwise "".
	Moved string
	// Object is the object itself.
	Object manifest.Object
}

// Sort puts the tasks of a sync in order: by phase, wave, kind and name, and then Namespaces and CRDs before the first task that needs
// them. Destination is the namespace of the Application's destination. Tasks that are equal in all of that stay as they are.
func Sort(tasks []*Task, destination string) {
	slices.SortStableFunc(tasks, compare)
	settle(tasks, destination)
}

// compare orders tasks by phase, wave, kind and name.
func compare(a, b *Task) int {
	rank := func(t *Task) int {
		if n := slices.Index(kinds, t.Kind); n >= 0 {
			return n
		}
		return len(kinds)
	}
	return cmp.Or(Compare(a.Phase, a.Wave, b.Phase, b.Wave), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
}

// Compare orders waves of phases.
func Compare(phase string, wave int, otherPhase string, otherWave int) int {
	return cmp.Or(cmp.Compare(slices.Index(phases, phase), slices.Index(phases, otherPhase)), cmp.Compare(wave, otherWave))
}

// Annotations that place an object.
const (
	helmHookAnnotation   = "helm.sh/hook"
	helmWeightAnnotation = "helm.sh/hook-weight"
)

// Annotations are the annotations that Place reads.
func Annotations() []string {
	return []string{argo.SyncWaveAnnotation, argo.HookAnnotation, helmHookAnnotation, helmWeightAnnotation}
}

// annotation returns an annotation, and whether it is there.
func annotation(o manifest.Object, name string) (string, bool) {
	text, ok := manifest.Map(o, "metadata", "annotations")[name].(string)
	return text, ok
}

// Place returns the phases and the wave of an object, and what is wrong with them. No phase is an object that is not deployed. The weight
// of a Helm hook is the wave of every object without a sync wave that is a number (pkg/sync/syncwaves of gitops-engine).
func Place(o manifest.Object) (phases []string, wave int, problem string) {
	phases = hookPhases(o)
	names := map[string]string{argo.SyncWaveAnnotation: "sync wave", helmWeightAnnotation: "hook weight"}
	for _, name := range []string{argo.SyncWaveAnnotation, helmWeightAnnotation} {
		text, _ := annotation(o, name)
		wave, err := strconv.Atoi(text)
		if err == nil {
			if problem != "" {
				problem += fmt.Sprintf("Argo CD takes the hook weight, %d", wave)
			}
			return phases, wave, problem
		}
		if text != "" && problem == "" {
			problem = fmt.Sprintf("the %s %q is not a number; ", names[name], text)
		}
	}
	if problem != "" {
		problem += "Argo CD takes 0"
	}
	return phases, 0, problem
}

// HasOption reports whether the annotation of an object for sync options has one of them.
func HasOption(o manifest.Object, option string) bool {
	text, _ := annotation(o, argo.SyncOptionsAnnotation)
	return slices.Contains(fields(text), option)
}

// Deploys reports whether a sync deploys an object: not one that is a hook of something else, or of a deletion.
func Deploys(o manifest.Object) bool { return len(hookPhases(o)) > 0 }

// hookTypes are the types of a hook that Argo CD knows. Those of Helm count only if there is none of its own.
func hookTypes(o manifest.Object) []string {
	var out []string
	own, _ := annotation(o, argo.HookAnnotation)
	for _, hook := range fields(own) {
		if (hook == skip || slices.Contains(phases, hook)) && !slices.Contains(out, hook) {
			out = append(out, hook)
		}
	}
	if len(out) > 0 {
		return out
	}
	helm, _ := annotation(o, helmHookAnnotation)
	for _, hook := range fields(helm) {
		phase := map[string]string{"pre-install": PreSync, "pre-upgrade": PreSync, "post-install": PostSync, "post-upgrade": PostSync}[hook]
		if phase != "" && !slices.Contains(out, phase) {
			out = append(out, phase)
		}
	}
	return out
}

// skip is the type of a hook that is not run.
const skip = "Skip"

// isSkipped reports whether an object says that it is not to be deployed.
func isSkipped(o manifest.Object) bool { return slices.Equal(hookTypes(o), []string{skip}) }

// IsHook reports whether an object is a hook: also one of types that Argo CD does not know. Helm's crd-install is none.
func IsHook(o manifest.Object) bool {
	if _, own := annotation(o, argo.HookAnnotation); own {
		return !isSkipped(o)
	}
	helm, ok := annotation(o, helmHookAnnotation)
	return ok && helm != "crd-install"
}

// IsPostDelete reports whether an object is a hook that Argo CD runs after it has deleted the objects of an Application (isPostDeleteHook
// in controller/hook.go, v3.2.11).
func IsPostDelete(o manifest.Object) bool {
	own, _ := annotation(o, argo.HookAnnotation)
	helm, _ := annotation(o, helmHookAnnotation)
	return own == "PostDelete" || helm == "post-delete"
}

// UnknownHook reports whether an object is a hook without any known type, and returns its types. Argo CD drops it, and so prunes a live
// object of its name. Hooks of deletions, and those that only Helm runs, are known: they are dropped on purpose. PreDelete is known since
// Argo CD 3.3.
func UnknownHook(o manifest.Object) (types string, unknown bool) {
	if !IsHook(o) || len(hookTypes(o)) > 0 {
		return "", false
	}
	types, own := annotation(o, argo.HookAnnotation)
	known := []string{"PreDelete", "PostDelete"}
	if !own {
		types, _ = annotation(o, helmHookAnnotation)
		known = []string{
			"pre-delete", "post-delete", "pre-rollback", "post-rollback", "test", "test-success", "test-failure",
			"crd-install",
		}
	}
	return types, !slices.ContainsFunc(fields(types), func(hook string) bool { return slices.Contains(known, hook) })
}

// hookPhases returns the phases of an object: Sync, unless it is a hook; none if no sync deploys it.
func hookPhases(o manifest.Object) []string {
	switch {
	case isSkipped(o):
		return nil
	case !IsHook(o):
		return []string{Sync}
	}
	types := hookTypes(o)
	var out []string
	for _, phase := range phases {
		if slices.Contains(types, phase) {
			out = append(out, phase)
		}
	}
	return out
}

// settle does what Argo CD does after sorting: it moves Namespaces, and then CRDs, to the phase and the wave of the first task that needs
// them, right before that (adjustDeps in pkg/sync/sync_tasks.go of gitops-engine). Objects without a namespace count as those of the
// destination's, cluster-scoped ones, too.
func settle(tasks []*Task, destination string) {
	adjust(tasks, func(t *Task) (string, bool) { return t.Name, IsNamespace(t.Object) }, func(t *Task) string {
		if ClusterScoped(t.Group, t.Kind) {
			return destination
		}
		return cmp.Or(t.Namespace, destination)
	})
	adjust(tasks, func(t *Task) (string, bool) {
		kind := DefinedKind(t.Object)
		return kind, kind != ""
	}, func(t *Task) string { return t.Group + "/" + t.Kind })
}

// adjust moves providers: the provider of a key is moved before the first task that needs the key. "" is no key.
func adjust(tasks []*Task, provides func(*Task) (string, bool), needs func(*Task) string) {
	first := map[string]int{}
	for i, t := range tasks {
		key, ok := provides(t)
		if !ok {
			if key = needs(t); key == "" {
				continue
			}
			if _, ok := first[key]; !ok {
				first[key] = i
			}
			continue
		}
		to, ok := first[key]
		if !ok {
			continue
		}
		if at := tasks[to]; at.Phase != t.Phase || at.Wave != t.Wave {
			t.Moved = cmp.Or(t.Moved, Position(t.Phase, t.Wave))
			t.Phase, t.Wave = at.Phase, at.Wave
		}
		copy(tasks[to+1:i+1], tasks[to:i])
		tasks[to] = t
		for key, n := range first {
			if n >= to {
				first[key] = n + 1
			}
		}
	}
}

// Position names a wave of a phase.
func Position(phase string, wave int) string {
	if phase == Sync {
		return fmt.Sprintf("wave %d", wave)
	}
	return fmt.Sprintf("%s wave %d", phase, wave)
}

func fields(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
