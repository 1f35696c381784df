package source

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// honoured are the fields of a source that are honoured, by their path; any other field is named in a problem, so that new fields of Argo
// CD cannot be missed. A path with a star stands for everything below it.
var honoured = map[Kind][]string{
	"": {"repoURL", "path", "targetRevision", "chart", "ref", "name"},
	Helm: {
		"helm.releaseName", "helm.values", "helm.valuesObject.*", "helm.valueFiles", "helm.ignoreMissingValueFiles", "helm.namespace",
		"helm.kubeVersion",
		"helm.apiVersions", "helm.skipCrds", "helm.skipTests", "helm.skipSchemaValidation", "helm.parameters.name", "helm.parameters.value",
		"helm.parameters.forceString", "helm.fileParameters.name", "helm.fileParameters.path",
		"helm.passCredentials", // about fetching, which is done with the user's own credentials here
		"helm.version",         // Argo CD 3 has only one
	},
	Kustomize: {
		"kustomize.namePrefix", "kustomize.nameSuffix", "kustomize.namespace", "kustomize.images", "kustomize.replicas.name",
		"kustomize.replicas.count",
		"kustomize.patches.*", "kustomize.components", "kustomize.ignoreMissingComponents", "kustomize.commonLabels.*",
		"kustomize.commonAnnotations.*",
		"kustomize.forceCommonLabels", "kustomize.forceCommonAnnotations", "kustomize.commonAnnotationsEnvsubst",
		"kustomize.labelWithoutSelector",
		"kustomize.labelIncludeTemplates", "kustomize.kubeVersion", "kustomize.apiVersions",
	},
	Directory: {
		"directory.recurse", "directory.include", "directory.exclude", "directory.jsonnet.libs", "directory.jsonnet.extVars.*",
		"directory.jsonnet.tlas.*",
	},
	Plugin: {"plugin.*"}, // by the caller, who knows the plugin
}

// unhonoured names the fields of the source that change nothing here.
func (j *job) unhonoured(kind Kind) {
	known := append(slices.Clip(honoured[""]), honoured[kind]...)
	var names []string
	var walk func(at string, v any)
	walk = func(at string, v any) {
		if slices.Contains(known, at) || slices.Contains(known, at+".*") || isZero(v) {
			return
		}
		inside := slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, at+".") })
		switch v := v.(type) {
		case map[string]any:
			if !inside {
				break
			}
			for _, k := range manifest.Keys(v) {
				walk(at+"."+k, v[k])
			}
			return
		case []any:
			if !inside {
				break
			}
			for _, e := range v {
				walk(at, e)
			}
			return
		}
		if !slices.Contains(names, at) {
			names = append(names, at)
		}
	}
	for _, k := range manifest.Keys(j.spec) {
		walk(k, j.spec[k])
	}
	for _, name := range names {
		j.note(Ignored, "source.%s is ignored here, so the result may differ from that of Argo CD", name)
	}
}
