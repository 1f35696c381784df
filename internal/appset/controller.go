package appset

import (
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// controllerWarnings are about fields that the applicationset-controller acts on after rendering, as far as a parent's sync does not do the
// same.
func (s Set) controllerWarnings(apps []manifest.Object, deployed bool) []string {
	const respect = " in its ignoreDifferences (group argoproj.io, kind Application), with the sync option RespectIgnoreDifferences=true"
	var out []string
	switch kind := argo.StrategyOf(s.Spec); {
	case !kind.Known():
		out = append(out, fmt.Sprintf("spec.strategy.type: %q is unknown, so all Applications are deployed at once", kind))
	case RollingSteps(s.Spec) != nil && !deployed:
		out = append(out, "spec.strategy: RollingSync is not in these Applications: the applicationset-controller follows its steps, and "+
			"the "+
			"appset plugin turns them into sync waves")
	}
	switch policy := argo.ApplicationsSyncOf(s.Spec); {
	case policy != "" && !policy.Known():
		out = append(out, fmt.Sprintf("spec.syncPolicy.applicationsSync: %q is unknown, ignored", policy))
	case !policy.Updates():
		out = append(out, fmt.Sprintf("spec.syncPolicy.applicationsSync: %q: the appset plugin also updates Applications, which the "+
			"applicationset-controller does not; to prevent that, the parent Application needs /spec%s", policy, respect))
	}
	for _, field := range []string{"annotations", "labels"} {
		if keys := s.preserved(field, apps); len(keys) > 0 {
			out = append(out, fmt.Sprintf("spec.preservedFields.%s: %s: the template sets it, so each sync of the parent sets it again; "+
				"leave it "+
				"out of the template, or name it in the parent Application,%s", field, words.First(keys, maxNames), respect))
		}
	}
	if list, _ := s.Spec["ignoreApplicationDifferences"].([]any); len(list) > 0 {
		out = append(out, "spec.ignoreApplicationDifferences: no effect with the appset plugin, so each sync of the parent sets these "+
			"fields "+
			"again; to prevent that, the parent Application needs them"+respect)
	}
	return out
}

// preserved returns the fields that are to be preserved and that an Application has. A parent's sync preserves the others anyway: it leaves
// annotations and labels alone that are not in its manifests.
func (s Set) preserved(field string, apps []manifest.Object) []string {
	keys, _ := manifest.Map(s.Spec, "preservedFields")[field].([]any)
	var out []string
	for _, k := range keys {
		key, _ := k.(string)
		if slices.ContainsFunc(apps, func(app manifest.Object) bool { return manifest.Map(app, "metadata", field)[key] != nil }) {
			out = append(out, key)
		}
	}
	return out
}
