package source

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// override merges .argocd-source.yaml and .argocd-source-<application>.yaml of the source's directory into the source. They can change how
// manifests are made, and not where they are.
func (j *job) override() error {
	if j.Strict {
		return nil
	}
	names := []string{".argocd-source.yaml"}
	if j.Name != "" {
		names = append(names, ".argocd-source-"+j.Name+".yaml")
	}
	for _, name := range names {
		file := path.Join(j.dir, name)
		if _, kind, err := j.View.Resolve(j.ctx, file); err == nil && kind != tree.Regular {
			continue
		}
		data, err := j.read(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := j.merge(data); err != nil {
			return manifest.Located(j.URL(file), err)
		}
	}
	return nil
}

// merge merges a file into the source: a JSON merge patch whose result is decoded over the source, by Go's rules (mergeSourceParameters).
// So null removes nothing.
func (j *job) merge(data []byte) error {
	patch, err := manifest.LooseValue(data)
	if err != nil {
		return err
	}
	m, ok := patch.(map[string]any)
	switch {
	case patch == nil:
		return errors.New("it is empty, which Argo CD refuses; delete the file")
	case !ok:
		return fmt.Errorf("must be an object, it is %s", manifest.TypeName(patch))
	}
	decoded := over(argo.Source(), j.spec, mergePatch(manifest.Copy(j.spec), m))
	merged, _ := decoded.(map[string]any)
	for _, field := range []string{"chart", "path", "repoURL", "targetRevision"} {
		if delete(merged, field); j.Spec[field] != nil {
			merged[field] = j.Spec[field]
		}
	}
	if errs := argo.Source().Check("source", merged); len(errs) > 0 {
		return errs[0]
	}
	j.spec = merged
	return nil
}

// mergePatch is a JSON merge patch: null deletes, objects are merged, everything else is replaced.
func mergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out, ok := target.(map[string]any)
	if !ok {
		out = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(out, k)
			continue
		}
		out[k] = mergePatch(out[k], v)
	}
	return out
}

// over returns the result of Go's JSON decoder for a value that is decoded into a struct with another value: absent fields stay, names
// match in any case, and elements of lists are decoded over the former ones.
func over(t argo.Type, old, v any) any {
	if v == nil {
		return old
	}
	if t.Raw() {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		before, _ := old.(map[string]any)
		out := maps.Clone(before)
		if out == nil {
			out = map[string]any{}
		}
		for _, k := range manifest.Keys(v) {
			name := t.Name(k)
			out[name] = over(t.Field(name), out[name], v[k])
		}
		return out
	case []any:
		before, _ := old.([]any)
		out := make([]any, len(v))
		for i, e := range v {
			if i < len(before) {
				out[i] = over(t.Item(), before[i], e)
			} else {
				out[i] = over(t.Item(), nil, e)
			}
		}
		return out
	}
	return v
}
