package settings

import (
	"errors"
	"fmt"
	"maps"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// ConfigMap is the name of the ConfigMap with the settings, in every Argo CD.
const ConfigMap = "argocd-cm"

// FromObject reads an object that contains the settings: the ConfigMap argocd-cm in any namespace, or an ArgoCD resource of the operator.
// It reports false for other objects. Errors start with a key of argocd-cm.
func FromObject(o manifest.Object) (s *Settings, ok bool, err error) {
	name := manifest.String(o, "metadata", "name")
	switch {
	case isConfigMap(o) && name == ConfigMap:
		s, err = fromData(InConfigMap, name, manifest.Map(o, "data"))
	case manifest.Group(o) == argo.Group && manifest.String(o, "kind") == "ArgoCD":
		data, dataErr := operatorData(manifest.Map(o, "spec"))
		s, err = fromData(InOperator, name, data)
		s.Version = VersionOf(o)
		err = errors.Join(dataErr, err)
	default:
		return nil, false, nil
	}
	return s, true, err
}

func isConfigMap(o manifest.Object) bool {
	return manifest.String(o, "apiVersion") == "v1" && manifest.String(o, "kind") == "ConfigMap"
}

// operatorData returns the data of argocd-cm that the operator writes for a spec. extraConfig wins (controllers/argocd/configmap.go
// of argocd-operator).
func operatorData(spec map[string]any) (map[string]any, error) {
	data := map[string]any{}
	for field, key := range map[string]string{
		"kustomizeBuildOptions": keyBuildOptions, "resourceExclusions": keyExclusions, "resourceInclusions": keyInclusions,
		"resourceCustomizations": keyCustomizations,
	} {
		// The operator takes an empty field for an absent one.
		if v := spec[field]; v != nil && v != "" {
			data[key] = v
		}
	}
	versions, _ := spec["kustomizeVersions"].([]any)
	for _, item := range versions {
		v, _ := item.(map[string]any)
		data[keyKustomizeVersion+manifest.String(v, "version")] = v["path"]
	}
	list, _ := spec["resourceHealthChecks"].([]any)
	var errs []error
	for i, item := range list {
		check, _ := item.(map[string]any)
		kind := manifest.String(check, "kind")
		if kind == "" || manifest.String(check, "check") == "" {
			errs = append(errs, fmt.Errorf("spec.resourceHealthChecks[%d]: kind and check must be set", i))
			continue
		}
		if group := manifest.String(check, "group"); group != "" {
			kind = group + "_" + kind
		}
		data[keyCustomizations+".health."+kind] = check["check"]
	}
	maps.Copy(data, manifest.Map(spec, "extraConfig"))
	return data, errors.Join(errs...)
}
