package generator

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// values are the templated values of a generator. Each sees the other parameters, none sees another
// value.
type values struct {
	trees map[string]*template.Tree
	run   *run
}

func (r *run) newValues(table map[string]string) (*values, error) {
	v := &values{trees: make(map[string]*template.Tree, len(table)), run: r}
	var errs []error
	for _, k := range manifest.Keys(table) {
		tree, err := r.Engine.Compile("values."+k, table[k])
		if err != nil {
			errs = append(errs, err)
		}
		v.trees[k] = tree
	}
	return v, errors.Join(errs...)
}

func (v *values) addTo(params Params) error {
	if len(v.trees) == 0 {
		return nil
	}
	out := make(map[string]string, len(v.trees))
	var errs []error
	for _, k := range manifest.Keys(v.trees) {
		s, err := v.trees[k].RenderString(v.run.ctx, params)
		if err != nil {
			errs = append(errs, err)
		}
		out[k] = s
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if v.run.Engine.Go() {
		params["values"] = out
		return nil
	}
	for k, s := range out {
		params["values."+k] = s
	}
	return nil
}

// flat are the leaves of a value under dotted keys.
type flat struct {
	leaves map[string]any
	names  int // bytes of all keys
}

// add adds the leaves of a value. As in Argo CD only map[string]any and []any are taken apart.
func (f *flat) add(key string, v any) {
	f.names += len(key)
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if f.names > maxFlat {
				return
			}
			f.add(key+"."+k, e)
		}
	case []any:
		for i, e := range v {
			if f.names > maxFlat {
				return
			}
			f.add(key+"."+strconv.Itoa(i), e)
		}
	default:
		f.leaves[key] = v
	}
}

// selectable returns parameters as the selector of a generator sees them.
func (r *run) selectable(params Params) (map[string]string, error) {
	if r.Version.Has(versions.SelectorSeesNested) {
		params = openStrings(params)
	}
	return flattenText(params)
}

func flattenText(params Params) (map[string]string, error) {
	f := flat{leaves: make(map[string]any, len(params))}
	for k, v := range params {
		f.add(k, v)
	}
	if f.names > maxFlat {
		return nil, fmt.Errorf("the names of all nested parameters are over the limit of %d bytes", maxFlat)
	}
	out := make(map[string]string, len(f.leaves))
	for k, v := range f.leaves {
		out[k] = printed(v)
	}
	return out, nil
}

// openStrings makes every map[string]string one that flatten takes apart, except in lists.
func openStrings(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		switch v := v.(type) {
		case map[string]string:
			out[k], _ = asMap(v)
		case map[string]any:
			out[k] = openStrings(v)
		default:
			out[k] = v
		}
	}
	return out
}

func printed(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}
