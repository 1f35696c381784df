// Package settings reads the settings of an Argo CD from what a repository deploys: the ConfigMap argocd-cm, the values of the Helm
// chart argo-cd, or an ArgoCD resource of the operator.
//
// It reads only the settings that change what Argo CD deploys and when: health checks, excluded resources, options of Kustomize and
// schemes of value files. A setting that is wrong is an error and does not hide the others: all functions return what is right together
// with the error. Defaults of the chart and of the operator are not here, except that neither sets options of Kustomize, and that the
// chart customizes the same kinds as the manifests of Argo CD.
package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Settings are the settings of one Argo CD. In the zero Settings, everything is unknown.
type Settings struct {
	// Health has the health checks. It is never nil when the settings were read.
	Health health.Customizations
	// BuildOptions are the options of kustomize build. Nil is not known, "" is known to be none.
	BuildOptions *string
	// KustomizeVersions are the versions of Kustomize that sources may name. Nil is not known.
	KustomizeVersions []string
	// Exclusions are resources that Argo CD does not deploy, besides its built-in exclusions.
	Exclusions []Filter
	// Inclusions are the only resources that Argo CD deploys to the clusters that they name. None allow all.
	Inclusions []Filter
	// ValueFileSchemes are the schemes of URLs that value files may have. Nil is not known.
	ValueFileSchemes []string
	// Version is the version of Argo CD that values of its chart or an ArgoCD resource name. "" is not known.
	Version string
	// GlobalProjects says that projects inherit from others (globalProjects), which are not read.
	GlobalProjects bool
	// ProgressiveSyncs says whether the applicationset-controller has --enable-progressive-syncs, if the file that was parsed says so. Nil
	// is not known.
	ProgressiveSyncs *bool
	// SetPolicy is the policy that the applicationset-controller forces on sets (--policy without --enable-policy-override); "" is none, or
	// unknown.
	SetPolicy argo.ApplicationsSync
	// Tracking is how Argo CD marks the objects of an Application.
	Tracking argo.Tracking
	// SyncTimeout is the number of seconds after which the controller ends a sync, if the file that was parsed says so. "" is not known.
	SyncTimeout string
	// Partial says that value files, which were not read, may have more settings.
	Partial bool
	// Kind is what they were read from, and Name its name; "" for values.
	Kind Kind
	Name string
	// Origin says where the settings were found, for messages: "argocd-cm at apps/argocd/cm.yaml:1".
	Origin string
}

// Kind is what settings are read from.
type Kind string

// The kinds of things that have settings. In the zero Kind, everything is unknown.
const (
	InConfigMap Kind = "ConfigMap" // argocd-cm, or its data
	InOperator  Kind = "ArgoCD"    // a resource of the operator
	InValues    Kind = "values"    // of the chart, which adds its defaults
)

// origin names what settings are read from, for messages.
func (k Kind) origin(name string) string {
	switch k {
	case InOperator:
		return fmt.Sprintf("ArgoCD %q", name)
	case InValues:
		return valuesOrigin
	}
	return name
}

// customized are the kinds that argocd-cm names in the manifests of Argo CD, by patterns of changes that are ignored.
var customized = []string{
	"ConfigMap", "Endpoints", "apps/ReplicaSet", "argoproj.io/Application", "argoproj.io/Rollout", "autoscaling/HorizontalPodAutoscaler",
	"discovery.k8s.io/EndpointSlice",
}

// Customize reports whether argocd-cm customizes an object's kind in any way. It takes the defaults for granted if the settings are not
// known, or are values of the chart.
func (s *Settings) Customize(o manifest.Object) bool {
	if s != nil && s.Health.Names(o) {
		return true
	}
	return (s == nil || s.Kind == InValues) && slices.Contains(customized, health.Kind(o))
}

// Keys of argocd-cm.
const (
	keyCustomizations   = "resource.customizations"
	keyExclusions       = "resource.exclusions"
	keyInclusions       = "resource.inclusions"
	keyBuildOptions     = "kustomize.buildOptions"
	keyValueFileSchemes = "helm.valuesFileSchemes"
	keyTracking         = "application.resourceTrackingMethod"
	keyInstanceLabel    = "application.instanceLabelKey"
	keyKustomizeVersion = "kustomize.version."
	keyKustomizePath    = "kustomize.path."
)

// isData reports whether a map is the data of argocd-cm, by a key that only argocd-cm has.
func isData(data map[string]any) bool {
	for key := range data {
		for _, prefix := range []string{
			"accounts.", "admin.enabled", keyInstanceLabel, keyTracking, "application.sync.",
			"cluster.inClusterEnabled", "dex.config", "exec.enabled", "helm.", "kustomize.", "oidc.config",
			"resource.", "statusbadge.", "timeout.", "ui.", "users.",
		} {
			if strings.HasPrefix(key, prefix) {
				return true
			}
		}
	}
	return false
}

// fromData reads the data of argocd-cm. Keys that are absent have Argo CD's defaults.
func fromData(kind Kind, name string, data map[string]any) (*Settings, error) {
	s := &Settings{
		Kind: kind, Name: name, Origin: kind.origin(name), ValueFileSchemes: []string{"https", "http"},
		GlobalProjects: data["globalProjects"] != nil,
	}
	s.Tracking = TrackingOf(data)
	var errs []error
	checks, err := health.FromData(data)
	s.Health = checks
	errs = append(errs, err, checks.Check())
	options, _, err := text(data, keyBuildOptions)
	if err == nil {
		s.BuildOptions = &options
	}
	errs = append(errs, err)
	if s.Exclusions, err = filters(data, keyExclusions); err != nil {
		errs = append(errs, err)
	}
	if s.Inclusions, err = filters(data, keyInclusions); err != nil {
		errs = append(errs, err)
	}
	s.KustomizeVersions = kustomizeVersions(data)
	schemes, ok, err := text(data, keyValueFileSchemes)
	if ok {
		s.ValueFileSchemes = split(schemes)
	} else if err != nil {
		s.ValueFileSchemes = nil
		errs = append(errs, err)
	}
	return s, errors.Join(problem.All(errors.Join(errs...))...)
}

// TrackingOf reads how Argo CD marks objects from the data of argocd-cm. For values that are no strings, Argo CD has its defaults.
func TrackingOf[V any](data map[string]V) argo.Tracking {
	method, _ := any(data[keyTracking]).(string)
	label, _ := any(data[keyInstanceLabel]).(string)
	return argo.Tracking{Method: argo.TrackingMethod(method), Label: label}
}

// kustomizeVersions returns the versions that keys register, sorted.
func kustomizeVersions(data map[string]any) []string {
	out := []string{}
	for key := range data {
		for _, prefix := range []string{keyKustomizeVersion, keyKustomizePath} {
			if version, ok := strings.CutPrefix(key, prefix); ok {
				out = append(out, version)
			}
		}
	}
	slices.Sort(out)
	return out
}

// text returns the string of a key. It reports false for a key that is absent or has another type.
func text(data map[string]any, key string) (string, bool, error) {
	switch v := data[key].(type) {
	case nil:
		return "", false, nil
	case string:
		return v, true, nil
	default:
		return "", false, fmt.Errorf("%s: must be a string, it is %s", key, manifest.TypeName(v))
	}
}

// split returns the elements of a list with commas. It is never nil: no schemes means that none are allowed.
func split(list string) []string {
	out := []string{}
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// partial makes absent keys unknown instead of default, because a file that was not read may have them.
func (s *Settings) partial(data map[string]any) {
	s.Partial, s.KustomizeVersions = true, nil
	if _, ok := data[keyBuildOptions]; !ok {
		s.BuildOptions = nil
	}
	if _, ok := data[keyValueFileSchemes]; !ok {
		s.ValueFileSchemes = nil
	}
}
