package plan

import (
	"cmp"
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
var kinds = strings.Fields(`Namespace NetworkPolicy ResourceQuota LimitRange PodSecurityPolicy PodDisruptionBudget ServiceAccount Secret SecretList ConfigMap StorageClass
	PersistentVolume PersistentVolumeClaim CustomResourceDefinition ClusterRole ClusterRoleList ClusterRoleBinding ClusterRoleBindingList Role RoleList RoleBinding
	RoleBindingList Service DaemonSet Pod ReplicationController ReplicaSet Deployment HorizontalPodAutoscaler StatefulSet Job CronJob IngressClass Ingress APIService`)

// compare orders items as Argo CD does: by phase, wave, kind and name.
func compare(a, b *Item) int {
	rank := func(i *Item) int {
		if n := slices.Index(kinds, i.Kind); n >= 0 {
			return n
		}
		return len(kinds)
	}
	return cmp.Or(cmp.Compare(slices.Index(phases, a.Phase), slices.Index(phases, b.Phase)), cmp.Compare(a.Wave, b.Wave), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
}

// place returns the phases and the wave of an object, and what is wrong with them. No phase is an object that is not deployed.
func place(o manifest.Object) (phases []string, wave int, problem string) {
	annotation := func(name string) string { return manifest.String(o, "metadata", "annotations", name) }
	phases = hookPhases(annotation("argocd.argoproj.io/hook"), annotation("helm.sh/hook"))
	text := annotation(argo.SyncWaveAnnotation)
	if text == "" && annotation("helm.sh/hook") != "" {
		text = annotation("helm.sh/hook-weight")
	}
	if text == "" {
		return phases, 0, ""
	}
	wave, err := strconv.Atoi(text)
	if err != nil {
		return phases, 0, "the sync wave " + strconv.Quote(text) + " is not a number, which Argo CD takes for 0"
	}
	return phases, wave, ""
}

// Deploys reports whether a sync deploys an object: not one that is a hook of something else, or of a deletion.
func Deploys(o manifest.Object) bool {
	phases, _, _ := place(o)
	return len(phases) > 0
}

// isHook reports whether an object is a hook.
func isHook(o manifest.Object) bool {
	return manifest.String(o, "metadata", "annotations", "argocd.argoproj.io/hook") != "" || manifest.String(o, "metadata", "annotations", "helm.sh/hook") != ""
}

// hookPhases are the phases of a hook, none for one that a sync does not run; everything else is deployed in Sync.
func hookPhases(own, helm string) []string {
	if own == "" && helm == "" {
		return []string{Sync}
	}
	names := map[string]bool{}
	for _, hook := range fields(own) {
		names[hook] = true
	}
	if own == "" {
		for _, hook := range fields(helm) {
			names[map[string]string{"crd-install": Sync, "pre-install": PreSync, "pre-upgrade": PreSync, "post-install": PostSync, "post-upgrade": PostSync}[hook]] = true
		}
	}
	var out []string
	for _, phase := range phases {
		if names[phase] {
			out = append(out, phase)
		}
	}
	return out
}

func fields(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		out = append(out, strings.TrimSpace(part))
	}
	return out
}

// Wave is the items of one wave of a phase.
type Wave struct {
	Phase string
	Wave  int
	Items []*Item
}

// Waves returns the items of an Application in sections.
func (a *Application) Waves() []Wave {
	var out []Wave
	for _, item := range a.Items {
		if n := len(out); n > 0 && out[n-1].Phase == item.Phase && out[n-1].Wave == item.Wave {
			out[n-1].Items = append(out[n-1].Items, item)
			continue
		}
		out = append(out, Wave{item.Phase, item.Wave, []*Item{item}})
	}
	return out
}
