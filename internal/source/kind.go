package source

import (
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
)

// tools are the fields of a source that say which tool it needs, in Argo CD's order.
var tools = []struct {
	field string
	kind  Kind
	name  string // in Argo CD's errors
}{{"kustomize", Kustomize, "Kustomize"}, {"helm", Helm, "Helm"}, {"directory", Directory, "Directory"}, {"plugin", Plugin, "Plugin"}}

// normalize drops the fields of a source that say which tool it needs, but nothing else. Argo CD does so (NormalizeSource), but forgets to
// for a list of sources.
func (j *job) normalize() {
	if j.Several {
		return
	}
	kept := maps.Clone(j.spec)
	for _, t := range tools {
		if v, ok := kept[t.field].(map[string]any); ok && t.kind != Plugin && isUnset(v) {
			delete(kept, t.field)
		}
	}
	j.spec = kept
}

// isUnset reports whether Argo CD takes a part of a source for empty.
func isUnset(v map[string]any) bool {
	for name, e := range v {
		switch name {
		case "forceCommonLabels", "forceCommonAnnotations", "commonAnnotationsEnvsubst", "labelWithoutSelector", "labelIncludeTemplates":
		case "valuesObject":
			if e != nil {
				return false
			}
		default:
			if !isZero(e) {
				return false
			}
		}
	}
	return true
}

// kind returns the tool of the source: the one that it names, or the one that its directory needs.
func (j *job) kind() (Kind, error) {
	if j.Kind != "" {
		return j.Kind, nil
	}
	var found []Kind
	var names []string
	for _, t := range tools {
		if _, ok := j.spec[t.field].(map[string]any); ok {
			found, names = append(found, t.kind), append(names, t.name)
		}
	}
	switch {
	case len(found) > 1:
		return "", fmt.Errorf("multiple application sources defined: %s", strings.Join(names, ","))
	case len(found) == 1:
		return found[0], nil
	case manifest.String(j.spec, "chart") != "":
		return Helm, nil
	case j.linked != "":
		return Directory, nil
	}
	return Detect(j.View.Names(j.dir)), nil
}

// isZero reports whether a part of a source sets no field.
func isZero(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if !isZero(e) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	case bool:
		return !v
	default:
		return v == nil
	}
}

// Detect returns the kind of a directory by the names of the files in it: the last file that says something counts.
func Detect(names []string) Kind {
	kind := Directory
	for _, name := range names {
		switch base := path.Base(name); {
		case base != name:
		case strings.HasSuffix(name, "Chart.yaml"):
			kind = Helm
		case render.IsKustomization(name):
			kind = Kustomize
		}
	}
	return kind
}
