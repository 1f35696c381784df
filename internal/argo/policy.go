package argo

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// Automated reports whether automated sync of an Application is on, and returns its settings, nil if it has none.
func Automated(app manifest.Object) (settings map[string]any, on bool) {
	settings, _ = manifest.Map(app, "spec", "syncPolicy")["automated"].(map[string]any)
	return settings, settings != nil && settings["enabled"] != false
}

// ApplicationsSync is what the applicationset-controller does with the Applications of a set: syncPolicy.applicationsSync, or the
// controller's own policy. "" and unknown policies are CreateUpdateDelete.
type ApplicationsSync string

// Policies for the Applications of a set.
const (
	CreateUpdateDelete ApplicationsSync = "sync"
	CreateOnly         ApplicationsSync = "create-only"
	CreateUpdate       ApplicationsSync = "create-update"
	CreateDelete       ApplicationsSync = "create-delete"
)

// ApplicationsSyncOf returns the policy in the spec of an ApplicationSet.
func ApplicationsSyncOf(spec map[string]any) ApplicationsSync {
	return ApplicationsSync(manifest.String(spec, "syncPolicy", "applicationsSync"))
}

// Known reports whether Argo CD knows the policy.
func (s ApplicationsSync) Known() bool {
	return slices.Contains([]ApplicationsSync{CreateUpdateDelete, CreateOnly, CreateUpdate, CreateDelete}, s)
}

// Updates reports whether the controller updates Applications that are there.
func (s ApplicationsSync) Updates() bool { return s != CreateOnly && s != CreateDelete }

// Deletes reports whether the controller deletes Applications: when their parameters go, and with the set.
func (s ApplicationsSync) Deletes() bool { return s != CreateOnly && s != CreateUpdate }

// KeepsApplications reports whether the controller never deletes Applications of an ApplicationSet with this spec, neither when their
// parameters go nor with the set.
func KeepsApplications(spec map[string]any) bool { return !ApplicationsSyncOf(spec).Deletes() }

// Strategy is how the applicationset-controller deploys the Applications of a set: strategy.type. "" and unknown strategies are AllAtOnce.
type Strategy string

// Strategies.
const (
	AllAtOnce   Strategy = "AllAtOnce"
	RollingSync Strategy = "RollingSync"
)

// StrategyOf returns the strategy in the spec of an ApplicationSet.
func StrategyOf(spec map[string]any) Strategy {
	return Strategy(manifest.String(spec, "strategy", "type"))
}

// Known reports whether Argo CD knows the strategy. It knows "".
func (s Strategy) Known() bool { return s == "" || s == AllAtOnce || s == RollingSync }

// ResourcesFinalizers are the finalizers with which Argo CD deletes the objects of an Application together with it. It knows no others.
func ResourcesFinalizers() []string {
	return []string{ResourcesFinalizer, ResourcesFinalizer + "/foreground", ResourcesFinalizer + "/background"}
}

// IsResourcesFinalizer reports whether a finalizer is one of ResourcesFinalizers.
func IsResourcesFinalizer(finalizer any) bool {
	s, _ := finalizer.(string)
	return slices.Contains(ResourcesFinalizers(), s)
}

// HookFinalizer is on hooks while their sync needs them.
const HookFinalizer = "argocd.argoproj.io/hook-finalizer"

// PostDeleteFinalizer is on Applications with PostDelete hooks, alone or with a stage behind a slash. PreDeleteFinalizer is the same for
// PreDelete hooks, since Argo CD 3.3.
const (
	PostDeleteFinalizer = "post-delete-finalizer.argocd.argoproj.io"
	PreDeleteFinalizer  = "pre-delete-finalizer.argocd.argoproj.io"
)

// IsDeleteHookFinalizer reports whether Argo CD adds a finalizer to Applications for their PreDelete or PostDelete hooks.
func IsDeleteHookFinalizer(finalizer string) bool {
	return strings.HasPrefix(finalizer, PostDeleteFinalizer) || strings.HasPrefix(finalizer, PreDeleteFinalizer)
}
