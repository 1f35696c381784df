package convert

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// policy is how the applicationset-controller treats existing Applications, as fields of their parent.
type policy struct {
	updates, deletes bool
	ignored          []any // ignoreDifferences
	warnings         []string
}

func (p *policy) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

func (p *policy) ignore(rule map[string]any) {
	rule["group"], rule["kind"] = argo.Group, argo.KindApplication
	p.ignored = append(p.ignored, rule)
}

// policyOf reads the fields of a set that are about Applications that are there. See applicationset/utils/policy.go of Argo CD 3.2.
func policyOf(set manifest.Object) *policy {
	spec := manifest.Map(set, "spec")
	sync := argo.ApplicationsSyncOf(spec)
	p := &policy{updates: sync.Updates(), deletes: sync.Deletes()}
	if !p.updates {
		p.ignore(map[string]any{"jsonPointers": []any{"/spec"}})
		p.warn("spec.syncPolicy.applicationsSync: the spec of existing Applications is left alone, but labels and annotations of the " +
			"template are still updated")
	}
	if !p.deletes && !slices.ContainsFunc(finalizersOf(set), argo.IsResourcesFinalizer) {
		p.warn("spec.syncPolicy.applicationsSync: deleting the set deletes its Applications, because the set has no finalizer; " +
			"deleting the new Application leaves them")
	}
	list, _ := spec["ignoreApplicationDifferences"].([]any)
	for _, v := range list {
		rule := map[string]any{}
		for _, k := range []string{"name", "jsonPointers", "jqPathExpressions"} {
			if m, _ := v.(map[string]any); m[k] != nil {
				rule[k] = manifest.Copy(m[k])
			}
		}
		p.ignore(rule)
	}
	if pointers := preserved(manifest.Map(spec, "preservedFields")); len(pointers) > 0 {
		p.ignore(map[string]any{"jsonPointers": pointers})
	}
	if spec["strategy"] != nil {
		p.warn("spec.strategy: the applicationset-controller does not act on it any more; argosy appset generate says what the " +
			"plugin does with it")
	}
	return p
}

// preserved returns JSON pointers to preserved labels and annotations.
func preserved(fields map[string]any) []any {
	var out []any
	for _, kind := range []string{"annotations", "labels"} {
		list, _ := fields[kind].([]any)
		for _, v := range list {
			if key, _ := v.(string); key != "" {
				out = append(out, "/metadata/"+kind+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
			}
		}
	}
	return out
}

// syncPolicy returns the sync policy of the parent. The controller reverts changes of Applications, as selfHeal does.
func (p *policy) syncPolicy() map[string]any {
	out := map[string]any{"automated": map[string]any{"prune": p.deletes, "selfHeal": true}}
	if len(p.ignored) > 0 {
		out["syncOptions"] = []any{respect}
	}
	return out
}

// finalizers returns the finalizers of the parent. Deleting a set deletes its Applications, unless its policy forbids that; each
// Application's own finalizer decides whether its resources are deleted (preserveResourcesOnDeletion).
func (p *policy) finalizers(set []any) []any {
	var out []any
	has := false
	for _, f := range set {
		if argo.IsResourcesFinalizer(f) {
			if !p.deletes {
				continue
			}
			has = true
		}
		out = append(out, f)
	}
	if p.deletes && !has {
		out = append(out, argo.ResourcesFinalizer)
	}
	return out
}

// Updates reports whether the applicationset-controller updates Applications of a set that are there.
func Updates(set manifest.Object) bool { return policyOf(set).updates }

// respect is the sync option without which ignored fields are overwritten by a sync.
const respect = "RespectIgnoreDifferences=true"

// Lacking lists the fields that the Application that renders a set's folder needs, so that the set's fields about existing Applications
// keep their effect. Each line names the field of the set.
func Lacking(root, set manifest.Object) []string {
	p := policyOf(set)
	have, _ := manifest.Map(root, "spec")["ignoreDifferences"].([]any)
	options, _ := manifest.Map(root, "spec", "syncPolicy")["syncOptions"].([]any)
	var out []string
	for _, rule := range p.ignored {
		if slices.ContainsFunc(have, func(v any) bool { return reflect.DeepEqual(v, rule) }) && slices.Contains(options, any(respect)) {
			continue
		}
		out = append(out, fmt.Sprintf("%s: a sync of the Application that renders the folder overwrites these fields of Applications; "+
			"add %s to its spec.ignoreDifferences, and %s to its spec.syncPolicy.syncOptions", origin(set, rule), flow(rule), respect))
	}
	return out
}

// origin names the field of a set that a rule comes from.
func origin(set manifest.Object, rule any) string {
	m, _ := rule.(map[string]any)
	pointers, _ := m["jsonPointers"].([]any)
	switch {
	case reflect.DeepEqual(pointers, []any{"/spec"}) && !Updates(set):
		return "spec.syncPolicy.applicationsSync"
	case len(pointers) > 0 && reflect.DeepEqual(pointers, preserved(manifest.Map(set, "spec", "preservedFields"))):
		return "spec.preservedFields"
	}
	return "spec.ignoreApplicationDifferences"
}
