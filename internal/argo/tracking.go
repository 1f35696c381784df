package argo

import (
	"cmp"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// InstanceLabel names the Application that deploys an object, where Argo CD tracks by label. Charts set it, too.
const InstanceLabel = "app.kubernetes.io/instance"

// Instance is the Application that a tracking value or a plugin's ARGOCD_APP_NAME names: NAME, or NAMESPACE_NAME for one outside Argo CD's
// namespace. Names of Kubernetes have no underscore.
func Instance(value, argoNamespace string) Ref {
	if namespace, name, ok := strings.Cut(value, "_"); ok {
		return Ref{Namespace: namespace, Name: name}
	}
	return Ref{Namespace: argoNamespace, Name: value}
}

// Instance is the name of the Application that the function Instance reads. An Application without a namespace is in Argo CD's.
func (r Ref) Instance(argoNamespace string) string {
	if r.Namespace == "" || r.Namespace == argoNamespace {
		return r.Name
	}
	return r.Namespace + "_" + r.Name
}

// TrackingMethod is application.resourceTrackingMethod. "" and unknown methods are TrackByAnnotation.
type TrackingMethod string

// Methods of tracking.
const (
	TrackByAnnotation TrackingMethod = "annotation"
	TrackByLabel      TrackingMethod = "label"
	// TrackByBoth writes the label, too, for others to read. Argo CD itself reads the annotation.
	TrackByBoth TrackingMethod = "annotation+label"
	// TrackUnknown is for settings that cannot be read: either mark counts.
	TrackUnknown TrackingMethod = "unknown"
)

// Tracking is how Argo CD marks the objects of an Application. The zero Tracking is by annotation.
type Tracking struct {
	Method TrackingMethod
	// Label is application.instanceLabelKey. "" is InstanceLabel.
	Label string
}

// Key is the key of the label.
func (t Tracking) Key() string { return cmp.Or(t.Label, InstanceLabel) }

// ByLabel reports whether Argo CD writes the label.
func (t Tracking) ByLabel() bool { return t.Method == TrackByLabel || t.Method == TrackByBoth }

// Owner returns the Application that deploys an object, by the mark that the method names and no other, as Argo CD 3.2 does (GetAppName in
// util/argo/resource_tracking.go).
func (t Tracking) Owner(o manifest.Object, argoNamespace string) (Ref, bool) {
	ref, ok := Tracked(o, argoNamespace)
	if t.Method == TrackByLabel || t.Method == TrackUnknown && !ok {
		name := t.label(o)
		return Instance(name, argoNamespace), name != ""
	}
	return ref, ok
}

func (t Tracking) label(o manifest.Object) string {
	return manifest.String(o, "metadata", "labels", t.Key())
}

// Marked reports whether an Application may deploy an object: by the annotation, or by the label if Argo CD writes it. After the method was
// changed, objects keep the other mark until their next sync.
func (t Tracking) Marked(o manifest.Object) bool {
	_, tracked := Tracked(o, "")
	return tracked || t.ByLabel() && t.label(o) != ""
}

// Tracked returns the Application that deploys an object by the tracking annotation. It reports false for an annotation that is missing, or
// that was copied from another object: it names the object, too. Names, such as that of a ClusterRole, may have a colon.
func Tracked(o manifest.Object, argoNamespace string) (Ref, bool) {
	parts := strings.SplitN(manifest.String(o, "metadata", "annotations", TrackingAnnotation), ":", 3)
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
