package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// chartValues merges value files and values.
func chartValues(c Chart) (map[string]any, error) {
	values := map[string]any{}
	for _, f := range c.ValueFiles {
		var v any
		if err := manifest.Unmarshal(f.Data, &v); err != nil {
			return nil, manifest.Located(f.Name, err)
		}
		more, ok := v.(map[string]any)
		if v != nil && !ok {
			return nil, manifest.Errorf(f.Name, "values must be an object, they are %s", manifest.TypeName(v))
		}
		values = loader.MergeMaps(values, more)
	}
	values = loader.MergeMaps(values, plainNumbers(c.Values))
	if err := boundIndexes(c.Set); err != nil {
		return nil, err
	}
	for _, s := range c.Set {
		if err := s.into(values); err != nil {
			return nil, fmt.Errorf("parameter %s: %s", s.Name, oneLine(err))
		}
	}
	return values, nil
}

// into sets the value.
func (s Set) into(values map[string]any) error {
	switch {
	case s.File:
		return strvals.ParseIntoFile(s.Name+"=x", values, func([]rune) (any, error) { return s.Value, nil })
	case s.String:
		return strvals.ParseIntoString(s.Name+"="+escaped(s.Value), values)
	default:
		return strvals.ParseInto(s.Name+"="+escaped(s.Value), values)
	}
}

// escaped escapes the commas of a value, which would begin another, as Argo CD does: not in {lists}, and not those that are escaped
// already.
func escaped(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var b strings.Builder
	var before rune
	for _, r := range value {
		if r == ',' && before != '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// plainNumbers makes float64 of whole numbers, as Helm's own decoder does: templates see the difference.
func plainNumbers(m map[string]any) map[string]any {
	var convert func(v any) any
	convert = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			return plainNumbers(v)
		case []any:
			out := make([]any, len(v))
			for i, e := range v {
				out[i] = convert(e)
			}
			return out
		case int64:
			return float64(v)
		case json.Number:
			f, _ := v.Float64()
			return f
		default:
			return v
		}
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = convert(v)
	}
	return out
}

// Values returns the values that a chart is rendered with, including its own, without those of its dependencies.
func Values(files []tree.File, c Chart) (map[string]any, error) {
	values, err := chartValues(c)
	if err != nil {
		return nil, err
	}
	data, _ := tree.Find(files, "values.yaml")
	own, err := chartValues(Chart{ValueFiles: []tree.File{{Name: "values.yaml", Data: data}}})
	if err != nil {
		return nil, err
	}
	return loader.MergeMaps(own, values), nil
}
