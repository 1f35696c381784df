package argo

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// InstanceLabel names the Application that deploys an object, where Argo CD tracks by label. Charts set it, too.
const InstanceLabel = "app.kubernetes.io/instance"

// Instance is the Application that a tracking value names: NAME, or NAMESPACE_NAME for one outside Argo CD's namespace. Names of
// Kubernetes have no underscore.
func Instance(value, argoNamespace string) Ref {
	if namespace, name, ok := strings.Cut(value, "_"); ok {
		return Ref{Namespace: namespace, Name: name}
	}
	return Ref{Namespace: argoNamespace, Name: value}
}

// Tracked returns the Application that deploys an object by the tracking annotation. It reports false for an annotation that is missing, or
// that was copied from another object: it names the object, too.
func Tracked(o manifest.Object, argoNamespace string) (Ref, bool) {
	parts := strings.Split(manifest.String(o, "metadata", "annotations", TrackingAnnotation), ":")
	if len(parts) != 3 {
		return Ref{}, false
	}
	object := manifest.Group(o) + "/" + manifest.String(o, "kind")
	_, name, _ := strings.Cut(parts[2], "/")
	if parts[0] == "" || parts[1] != object || name != manifest.String(o, "metadata", "name") {
		return Ref{}, false
	}
	return Instance(parts[0], argoNamespace), true
}
