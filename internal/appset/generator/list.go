package generator

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// list gives one set for each element, in order, those of elementsYaml last.
func (r *run) list(f *fields) ([]Set, error) {
	elements := f.list("elements")
	text := f.text("elementsYaml")
	if err := f.err(); err != nil {
		return nil, err
	}
	if len(elements) > r.MaxSets {
		return nil, r.tooMany(f.path)
	}
	sets := make([]Set, 0, len(elements))
	var errs []error
	for i, element := range elements {
		if len(errs) >= maxErrors {
			break
		}
		path := fmt.Sprintf("%s.elements[%d]", f.path, i)
		params, err := r.element(path, element)
		if err != nil {
			errs = append(errs, err)
		}
		if err := r.keep(path, len(params)); err != nil {
			return nil, err
		}
		sets = append(sets, Set{params, Origin{What: fmt.Sprintf("element %d", i)}})
	}
	if len(errs) > 0 || text == "" {
		return sets, errors.Join(errs...)
	}
	var v any
	if err := manifest.Unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("%s.elementsYaml: not YAML: %w", f.path, err)
	}
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("%s.elementsYaml: must be a list of objects, it is %s", f.path, manifest.TypeName(v))
	}
	more, err := listOfObjects(list)
	if err != nil {
		return nil, fmt.Errorf("%s.elementsYaml%w", f.path, err)
	}
	if len(sets)+len(more) > r.MaxSets {
		return nil, r.tooMany(f.path)
	}
	for i, params := range more {
		sets = append(sets, Set{params, Origin{What: fmt.Sprintf("element %d of elementsYaml", i)}})
	}
	return sets, nil
}

// element makes parameters of an element. The older mode allows strings only, and strings in "values".
func (r *run) element(path string, v any) (Params, error) {
	element, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: must be an object, it is %s", path, manifest.TypeName(v))
	}
	for _, key := range []string{"true", "false"} {
		if _, ok := element[key]; ok {
			r.warned[path+"."+key+": YAML reads the keys y, yes, on, n, no and off as true and false; quote the key"] = ""
		}
	}
	if r.Engine.Go() {
		return floats(element).(map[string]any), nil
	}
	params := make(Params, len(element))
	for _, key := range manifest.Keys(element) {
		if key == "values" {
			values, ok := element[key].(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s.values: must be an object, it is %s", path, manifest.TypeName(element[key]))
			}
			for _, k := range manifest.Keys(values) {
				if params["values."+k], ok = values[k].(string); !ok {
					return nil, notString(path+".values."+k, values[k])
				}
			}
			continue
		}
		if params[key], ok = element[key].(string); !ok {
			return nil, notString(path+"."+key, element[key])
		}
	}
	return params, nil
}

func notString(path string, v any) error {
	return fmt.Errorf("%s: must be a string without goTemplate: true, it is %s", path, manifest.TypeName(v))
}

// floats copies a decoded value with all numbers as float64, which is how Argo CD's templates see them.
func floats(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = floats(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = floats(e)
		}
		return l
	default:
		return v
	}
}
