package appset

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// applyPatch applies a rendered templatePatch: a strategic merge patch on an Application. The project cannot be patched, so that a patch
// cannot lead out of it. Fields that Argo CD's controller drops from the result cannot be patched either: status, operation, and metadata
// that a template does not have.
func applyPatch(app manifest.Object, text string) (manifest.Object, error) {
	patch, err := decodePatch(text)
	if err != nil || patch == nil {
		return app, err
	}
	if errs := checkPatch(patch); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	project, hasProject := manifest.Map(app, "spec")["project"]
	// Argo CD's Applications always have a destination, if only an empty one, and directives tell the difference.
	if spec := manifest.Map(app, "spec"); spec != nil && spec["destination"] == nil {
		spec["destination"] = map[string]any{}
	}
	app, err = mergePatch("patch", argo.Application(), app, patch)
	if err != nil {
		return nil, err
	}
	spec, ok := app["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
		app["spec"] = spec
	}
	if hasProject {
		spec["project"] = project
	} else {
		delete(spec, "project")
	}
	app["apiVersion"], app["kind"] = argo.APIVersion, argo.KindApplication
	return app, nil
}

func checkPatch(patch map[string]any) []error {
	errs := argo.Application().CheckPatch("patch", patch)
	for _, k := range manifest.Keys(patch) {
		switch k {
		case "metadata", "spec", "apiVersion", "kind":
		default:
			if !strings.HasPrefix(k, "$") {
				errs = append(errs, fmt.Errorf("patch.%s: cannot be patched", k))
			}
		}
	}
	meta := manifest.Map(patch, "metadata")
	for _, k := range manifest.Keys(meta) {
		if !isTemplateMetadata(k) && !strings.HasPrefix(k, "$") && meta[k] != nil {
			errs = append(errs, fmt.Errorf("patch.metadata.%s: cannot be patched", k))
		}
	}
	return errs
}

// decodePatch reads YAML, or JSON where the text starts with a brace. Nothing at all is no patch.
func decodePatch(text string) (map[string]any, error) {
	var v any
	var err error
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		if v, err = manifest.JSON([]byte(text)); err != nil {
			return nil, fmt.Errorf("the rendered patch starts with { and so must be JSON: %w", err)
		}
	} else if v, err = manifest.Value([]byte(text)); err != nil {
		return nil, fmt.Errorf("the rendered patch is not YAML: %w", err)
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	default:
		return nil, fmt.Errorf("the rendered patch must be an object, it is %s", manifest.TypeName(v))
	}
}

const (
	patchDirective  = "$patch"
	retainDirective = "$retainKeys"
	orderPrefix     = "$setElementOrder/"
	deletePrefix    = "$deleteFromPrimitiveList/"
)

// mergePatch merges patch into original, which it changes, and returns the result. Objects are merged, null deletes,
// and lists are replaced, except for finalizers, which are added to.
func mergePatch(path string, t argo.Type, original, patch map[string]any) (map[string]any, error) {
	if directive, ok := patch[patchDirective]; ok {
		switch directive {
		case "replace":
			patch = maps.Clone(patch)
			delete(patch, patchDirective)
			return strip(t, patch).(map[string]any), nil
		case "delete":
			return map[string]any{}, nil
		}
		return nil, fmt.Errorf("%s.$patch: must be replace or delete, it is %v", path, directive)
	}
	if err := retainKeys(path, original, patch); err != nil {
		return nil, err
	}
	for _, k := range manifest.Keys(patch) {
		if err := mergeField(path, t, original, k, patch[k]); err != nil {
			return nil, err
		}
	}
	return original, nil
}

func mergeField(path string, t argo.Type, original map[string]any, k string, v any) error {
	if k == retainDirective {
		return nil
	}
	if strings.HasPrefix(k, orderPrefix) {
		return fmt.Errorf("%s.%s: this directive is not supported", path, k)
	}
	if list, ok := strings.CutPrefix(k, deletePrefix); ok {
		return deleteFromList(path+"."+k, original, list, v)
	}
	if v == nil {
		delete(original, k)
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		have, ok := original[k].(map[string]any)
		if !ok {
			break
		}
		if t.Raw() {
			return rawConflict(path, k)
		}
		merged, err := mergePatch(path+"."+k, t.Field(k), have, v)
		original[k] = merged
		return err
	case []any:
		have, ok := original[k].([]any)
		if !ok {
			break
		}
		if t.Raw() {
			return rawConflict(path, k)
		}
		if k == "finalizers" && path == "patch.metadata" {
			if err := tooMany(path+"."+k, len(have)+len(v), len(have)+len(v)); err != nil {
				return err
			}
			v = addToList(have, v)
		}
		original[k] = strip(t.Field(k), v)
		return nil
	}
	if c, keep := clean(v); keep {
		original[k] = strip(t.Field(k), c)
	} else {
		delete(original, k)
	}
	return nil
}

// rawConflict refuses what Argo CD refuses: inside of arbitrary JSON, such as valuesObject, it cannot tell how to
// merge.
func rawConflict(path, k string) error {
	return fmt.Errorf("%s.%s: template and patch both have a value here, and Argo CD does not merge inside of arbitrary JSON; set all of "+
		"it in the patch", path, k)
}

func retainKeys(path string, original, patch map[string]any) error {
	v, ok := patch[retainDirective]
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("%s.%s: must be a list, it is %s", path, retainDirective, manifest.TypeName(v))
	}
	if err := tooMany(path+"."+retainDirective, len(list), len(patch)+len(original)); err != nil {
		return err
	}
	for _, k := range manifest.Keys(patch) {
		if !strings.HasPrefix(k, "$") && patch[k] != nil && !slices.Contains(list, any(k)) {
			return fmt.Errorf("%s.%s: %s is in the patch and must be in the list", path, retainDirective, k)
		}
	}
	for _, k := range manifest.Keys(original) {
		if !slices.Contains(list, any(k)) {
			delete(original, k)
		}
	}
	return nil
}

func deleteFromList(path string, original map[string]any, key string, v any) error {
	gone, ok := v.([]any)
	if !ok {
		return fmt.Errorf("%s: must be a list, it is %s", path, manifest.TypeName(v))
	}
	have, ok := original[key].([]any)
	if !ok {
		return nil
	}
	if err := tooMany(path, len(have), len(gone)); err != nil {
		return err
	}
	var left []any
	for _, e := range have {
		if _, ok := e.(map[string]any); ok {
			return fmt.Errorf("%s: the list has objects in it", path)
		}
		if !contains(gone, e) {
			left = append(left, e)
		}
	}
	original[key] = left
	return nil
}

// contains compares scalars; two objects are never equal.
func contains(list []any, v any) bool {
	for _, e := range list {
		switch e.(type) {
		case map[string]any, []any:
		default:
			if e == v {
				return true
			}
		}
	}
	return false
}

// addToList returns the elements of both lists as Kubernetes orders them: new elements of the patch first, and
// elements of both lists in their old order with respect to the others.
func addToList(have, patch []any) []any {
	var items, others, out []any
	for _, e := range patch {
		if !contains(items, e) {
			items = append(items, e)
		}
	}
	for _, e := range have {
		if !contains(patch, e) && !contains(others, e) {
			others = append(others, e)
		}
	}
	for len(items) > 0 && len(others) > 0 {
		i, j := slices.Index(have, items[0]), slices.Index(have, others[0])
		if i >= 0 && j < i {
			out, others = append(out, others[0]), others[1:]
		} else {
			out, items = append(out, items[0]), items[1:]
		}
	}
	return append(append(out, items...), others...)
}

// strip returns v without directives that are left in it. Arbitrary JSON may have keys that look like them.
func strip(t argo.Type, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if t.Raw() {
			return v
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			if !isDirective(k) {
				out[k] = strip(t.Field(k), e)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, strip(t.Item(), e))
		}
		return out
	default:
		return v
	}
}

func isDirective(key string) bool {
	return key == patchDirective || key == retainDirective || strings.HasPrefix(key, orderPrefix) || strings.HasPrefix(key, deletePrefix)
}

// clean prepares a value of the patch that has nothing to be merged with: nulls in objects are dropped, and so are
// objects that only hold a directive.
func clean(v any) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[patchDirective]; ok {
			return nil, false
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			if c, keep := clean(e); keep && e != nil {
				out[k] = c
			}
		}
		return out, true
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			if c, keep := clean(e); keep {
				out = append(out, c)
			}
		}
		return out, true
	default:
		return v, true
	}
}
