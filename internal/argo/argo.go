// Package argo holds what is known about Argo CD's own resources: their kinds, annotations and the types of the fields
// of an Application. It works on plain manifests; unknown fields are no error, so manifests of a newer
// Argo CD pass through whole.
package argo

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// Names in Argo CD's API.
const (
	Group              = "argoproj.io"
	APIVersion         = Group + "/v1alpha1"
	KindApplication    = "Application"
	KindApplicationSet = "ApplicationSet"
	KindAppProject     = "AppProject"
	ResourcesFinalizer = "resources-finalizer.argocd.argoproj.io"
	SyncWaveAnnotation = "argocd.argoproj.io/sync-wave"
	// TrackingAnnotation names the Application that deploys an object.
	TrackingAnnotation = "argocd.argoproj.io/tracking-id"

	SyncOptionsAnnotation = "argocd.argoproj.io/sync-options"
	// PathsAnnotation names the files that an Application is made of, so that other commits do not render it again.
	PathsAnnotation = "argocd.argoproj.io/manifest-generate-paths"
	// HookAnnotation makes an object a hook.
	HookAnnotation = "argocd.argoproj.io/hook"
	// RefreshAnnotation requests a refresh; its value says which kind.
	RefreshAnnotation = "argocd.argoproj.io/refresh"
	// SkipReconcileAnnotation keeps Argo CD away from an Application.
	SkipReconcileAnnotation = "argocd.argoproj.io/skip-reconcile"
)

// Names that Argo CD has unless it is configured otherwise.
const (
	// DefaultNamespace is the namespace of Argo CD.
	DefaultNamespace = "argocd"
	// InClusterServer is the URL of Argo CD's own cluster.
	InClusterServer = "https://kubernetes.default.svc"
	// InClusterName is its name, unless a Secret for InClusterServer gives it another.
	InClusterName = "in-cluster"
)

// Labels of Argo CD's workloads, and their values in its manifests. Its chart sets the same components.
const (
	NameLabel      = "app.kubernetes.io/name"
	ComponentLabel = "app.kubernetes.io/component"
	PartOfLabel    = "app.kubernetes.io/part-of"

	PartOf                = "argocd"
	RepoServer            = "argocd-repo-server"
	ApplicationController = "argocd-application-controller"
)

// Sync states of an Application and of its objects.
const (
	Synced      = "Synced"
	OutOfSync   = "OutOfSync"
	SyncUnknown = "Unknown" // not compared
)

// ResultSyncFailed is the result of a sync for an object that was not applied.
const ResultSyncFailed = "SyncFailed"

// Types of conditions.
const (
	ComparisonError = "ComparisonError" // of an Application: it could not be compared
	SyncError       = "SyncError"       // of an Application: its last sync has failed
	ErrorOccurred   = "ErrorOccurred"   // of an ApplicationSet, if its status is True
)

// IsError reports whether a condition of this type is an error of an Application.
func IsError(condition string) bool { return strings.HasSuffix(condition, "Error") }

// IsSetError reports whether a condition of this type and status is an error of an ApplicationSet.
func IsSetError(condition, status string) bool { return condition == ErrorOccurred && status == "True" }

// Phases of a sync, and of the objects and hooks in it.
const (
	PhaseRunning     = "Running"
	PhaseTerminating = "Terminating"
	PhaseSucceeded   = "Succeeded"
	PhaseFailed      = "Failed"
	PhaseError       = "Error"
)

// Ref names an Application.
type Ref struct{ Namespace, Name string }

func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// ParseRef reads NAMESPACE/NAME, or NAME in a namespace.
func ParseRef(text, namespace string) Ref {
	if namespace, name, ok := strings.Cut(text, "/"); ok {
		return Ref{Namespace: namespace, Name: name}
	}
	return Ref{Namespace: namespace, Name: text}
}

// Names returns the names of Applications, in order; each has its namespace in front if several of them have the name.
func Names(refs []Ref) []string {
	count := map[string]int{}
	for _, r := range refs {
		count[r.Name]++
	}
	out := make([]string, len(refs))
	for i, r := range refs {
		if out[i] = r.Name; count[r.Name] > 1 {
			out[i] = r.String()
		}
	}
	return out
}

// FieldOrder is the order in which Argo CD renders the fields of an Application: that of its Go types.
func FieldOrder() []string {
	return []string{
		"metadata", "name", "namespace", "labels", "annotations", "finalizers",
		"spec", "source", "destination", "project", "syncPolicy", "ignoreDifferences", "info", "revisionHistoryLimit", "sources",
		"sourceHydrator",
		"repoURL", "path", "targetRevision", "helm", "kustomize", "directory", "plugin", "chart", "ref",
	}
}

// IsApplicationSet reports whether o is an ApplicationSet of Argo CD.
func IsApplicationSet(o manifest.Object) bool {
	return manifest.Group(o) == Group && manifest.String(o, "kind") == KindApplicationSet
}

// IsApplication reports whether o is an Application of Argo CD.
func IsApplication(o manifest.Object) bool {
	return manifest.Group(o) == Group && manifest.String(o, "kind") == KindApplication
}

// IsBareSpec reports whether o is the spec of an ApplicationSet without its envelope, as in $PARAM_SPEC.
func IsBareSpec(o manifest.Object) bool {
	_, generators := o["generators"].([]any)
	_, template := o["template"].(map[string]any)
	_, kind := o["kind"]
	_, version := o["apiVersion"]
	return generators && template && !kind && !version
}

// Repositories returns the URLs of an Application's sources.
func Repositories(app manifest.Object) []string {
	var out []string
	for _, source := range append(Sources(app), manifest.Map(app, "spec", "sourceHydrator", "drySource")) {
		if url := manifest.String(source, "repoURL"); url != "" {
			out = append(out, url)
		}
	}
	return out
}

// Sources returns an Application's source, or all of them.
func Sources(app manifest.Object) []map[string]any {
	out := []map[string]any{manifest.Map(app, "spec", "source")}
	list, _ := manifest.Map(app, "spec")["sources"].([]any)
	for _, s := range list {
		m, _ := s.(map[string]any)
		out = append(out, m)
	}
	return out
}

// HasList reports whether the spec of an Application has a list of sources. Argo CD treats one with a single source in it differently.
func HasList(spec map[string]any) bool {
	list, _ := spec["sources"].([]any)
	return len(list) > 0
}

// Deployed returns the sources that Argo CD deploys: a list of sources wins over a source, and a hydrator's dry source over both.
func Deployed(app manifest.Object) []map[string]any {
	if dry := manifest.Map(app, "spec", "sourceHydrator", "drySource"); dry != nil {
		return []map[string]any{dry}
	}
	var out []map[string]any
	list, _ := manifest.Map(app, "spec")["sources"].([]any)
	for _, s := range list {
		if m, _ := s.(map[string]any); len(m) > 0 {
			out = append(out, m)
		}
	}
	if len(out) > 0 {
		return out
	}
	if s := manifest.Map(app, "spec", "source"); len(s) > 0 {
		out = append(out, s)
	}
	return out
}
