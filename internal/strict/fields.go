package strict

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/argosy-cd/argosy/internal/words"
)

// field is one row of the table that a struct is.
type field struct {
	name, doc string
	required  bool
	enum      []string
	index     []int
	typ       reflect.Type
}

type fields []field

func fieldsOf(t reflect.Type) fields {
	var out fields
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		tag, ok := f.Tag.Lookup("field")
		if !ok {
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		row := field{name: name, doc: f.Tag.Get("doc"), required: option == "required", index: f.Index, typ: f.Type}
		if enum := f.Tag.Get("enum"); enum != "" {
			row.enum = strings.Split(enum, "|")
		}
		out = append(out, row)
	}
	return out
}

func (fs fields) find(name string) (field, bool) {
	for _, f := range fs {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// suggest names the field that was probably meant.
func (fs fields) suggest(name string) string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.name
	}
	best := words.Nearest(name, names, 3)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// Schema returns the JSON Schema of the struct v.
func Schema(id, title string, v any) map[string]any {
	s := schemaOf(reflect.TypeOf(v))
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["$id"], s["title"] = id, title
	return s
}

func schemaOf(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Map:
		return map[string]any{"type": "object"}
	case reflect.Struct:
		return objectSchema(t)
	default:
		return map[string]any{}
	}
}

func objectSchema(t reflect.Type) map[string]any {
	properties := map[string]any{}
	var required []any
	for _, f := range fieldsOf(t) {
		p := schemaOf(f.typ)
		if f.doc != "" {
			p["description"] = f.doc
		}
		if len(f.enum) > 0 {
			values := make([]any, len(f.enum))
			for i, e := range f.enum {
				values[i] = e
			}
			p["enum"] = values
		}
		properties[f.name] = p
		if f.required {
			required = append(required, f.name)
		}
	}
	s := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}
