package render

import (
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
)

// modernize replaces deprecated fields by exact equivalents, because Kustomize would warn on standard error, and reports whether there were
// any.
func modernize(k *types.Kustomization) bool {
	if k.Bases == nil && k.ImageTags == nil && k.CommonLabels == nil { //nolint:staticcheck // deprecated, and in use
		return false
	}
	k.FixKustomization()
	if len(k.CommonLabels) > 0 { //nolint:staticcheck // likewise
		k.Labels = append(k.Labels, types.Label{Pairs: k.CommonLabels, IncludeSelectors: true}) //nolint:staticcheck // likewise
	}
	k.CommonLabels = nil //nolint:staticcheck // likewise
	return true
}

// strategic checks patchesStrategicMerge, replaces them by patches, which are applied next, and reports whether it has. Patches that
// Kustomize refuses, or whose replacement would show in the result, stay.
func (l *localCheck) strategic(a at, k *types.Kustomization) bool {
	list := k.PatchesStrategicMerge //nolint:staticcheck // deprecated, and in use
	var patches []types.Patch
	stays := list == nil || slices.Contains(k.BuildMetadata, types.TransformerAnnotations)
	for _, s := range list {
		l.patch(a.of(string(s)), string(s))
		if parsed, err := l.slice([]byte(s)); err == nil {
			if len(parsed) > 0 {
				patches = append(patches, types.Patch{Patch: string(s)})
			}
			continue
		}
		data, err := l.disk.ReadFile(path.Join(path.Dir(a.file), string(s)))
		if err != nil {
			return false
		}
		parsed, err := l.slice(data)
		if stays = stays || err != nil; len(parsed) > 0 {
			patches = append(patches, types.Patch{Path: string(s)})
		}
	}
	if stays || len(list) > 0 && len(patches) == 0 {
		return false
	}
	k.Patches, k.PatchesStrategicMerge = append(patches, k.Patches...), nil //nolint:staticcheck // likewise
	return true
}

// deprecates notes the deprecated fields that are left.
func (l *localCheck) deprecates(name string, k *types.Kustomization) {
	for _, f := range []struct {
		set            bool
		field, instead string
	}{
		{k.PatchesJson6902 != nil, "patchesJson6902", "patches"},             //nolint:staticcheck // deprecated, and in use
		{k.PatchesStrategicMerge != nil, "patchesStrategicMerge", "patches"}, //nolint:staticcheck // likewise
		{k.Vars != nil, "vars", "replacements"},                              //nolint:staticcheck // likewise
	} {
		if f.set {
			err := l.position(at{file: name, field: f.field}).Errorf("Kustomize has deprecated %s; use %s", f.field, f.instead)
			l.deprecated = appendOnce(l.deprecated, err)
		}
	}
}
