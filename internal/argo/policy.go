package argo

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// Automated reports whether automated sync of an Application is on, and returns its settings, nil if it has none.
func Automated(app manifest.Object) (settings map[string]any, on bool) {
	settings, _ = manifest.Map(app, "spec", "syncPolicy")["automated"].(map[string]any)
	return settings, settings != nil && settings["enabled"] != false
}

// KeepsApplications reports whether the controller never deletes Applications of an ApplicationSet with this spec, neither when their
// parameters go nor with the set.
func KeepsApplications(spec map[string]any) bool {
	sync := manifest.String(spec, "syncPolicy", "applicationsSync")
	return sync == "create-only" || sync == "create-update"
}

// ResourcesFinalizers are the finalizers with which Argo CD deletes the objects of an Application together with it. It knows no others.
func ResourcesFinalizers() []string {
	return []string{ResourcesFinalizer, ResourcesFinalizer + "/foreground", ResourcesFinalizer + "/background"}
}

// IsResourcesFinalizer reports whether a finalizer is one of ResourcesFinalizers.
func IsResourcesFinalizer(finalizer any) bool {
	s, _ := finalizer.(string)
	return slices.Contains(ResourcesFinalizers(), s)
}
