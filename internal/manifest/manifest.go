// Package manifest holds Kubernetes documents as plain values: it decodes them, finds things in them and encodes
// them again.
//
// A decoded value consists of map[string]any, []any, string, bool, int64, float64 and nil, and of json.Number for whole
// numbers over 64 bits.
// Decoding follows kubectl: YAML 1.1 scalars, JSON accepted everywhere, every document an object. It refuses what
// would lose information: duplicate keys, documents that are not objects; and what takes too much memory: see Check. Encoding is
// deterministic: equal values give equal bytes.
package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Object is one decoded Kubernetes document.
type Object = map[string]any

// Position says where a document was read from.
type Position struct {
	File   string // as given to Decode
	Line   int    // first line of the document, from 1
	Number int    // of the document in the file, from 1; documents without content do not count
	Item   string // path inside a List, for example "items[2]"; empty otherwise
	// Repository is the URL of the Git repository that File is in, "" if File is the name of a file on disk.
	Repository string
	// Made says that the document is not in File, but made of it.
	Made Made
}

// Made says how a document is made of a file. The zero Made is that the file has it.
type Made string

// How documents are made.
const (
	Built    Made = "built"    // by a Kustomization
	Rendered Made = "rendered" // from a chart's template
)

// Name is the name of the file, with how the document is made of it.
func (p Position) Name() string {
	if p.Made == "" {
		return p.File
	}
	return p.File + " (" + string(p.Made) + ")"
}

// String formats p as file:line.
func (p Position) String() string {
	s := p.Name()
	if p.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, p.Line)
	}
	if p.Item != "" {
		s += " " + p.Item
	}
	return s
}

// Document formats p as file:line and adds the number of a document that is not the first.
func (p Position) Document() string {
	if p.Number < 2 {
		return p.String()
	}
	return fmt.Sprintf("%s: document %d", p, p.Number)
}

// Document is an object and the place it came from.
type Document struct {
	Object Object
	Position
}

// Objects returns the objects of documents, in order.
func Objects(docs []Document) []Object {
	objects := make([]Object, len(docs))
	for i, d := range docs {
		objects[i] = d.Object
	}
	return objects
}

// Map returns the object at path, or nil where there is none.
func Map(o Object, path ...string) map[string]any {
	for _, key := range path {
		next, ok := o[key].(map[string]any)
		if !ok {
			return nil
		}
		o = next
	}
	return o
}

// String returns the string at path, or "" where there is none.
func String(o Object, path ...string) string {
	if len(path) == 0 {
		return ""
	}
	s, _ := Map(o, path[:len(path)-1]...)[path[len(path)-1]].(string)
	return s
}

// Group returns the API group of o: the part of apiVersion before the slash, "" for the core group.
func Group(o Object) string {
	group, _, found := strings.Cut(String(o, "apiVersion"), "/")
	if !found {
		return ""
	}
	return group
}

// Copy returns a deep copy of a decoded value. Maps and slices of other types are shared.
func Copy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = Copy(e)
		}
		return m
	case []any:
		s := make([]any, len(v))
		for i, e := range v {
			s[i] = Copy(e)
		}
		return s
	default:
		return v
	}
}

// Keys returns the keys of m in order.
func Keys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// TypeName names the JSON type of a decoded value for messages.
func TypeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64, json.Number:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return fmt.Sprintf("a %T", v)
	}
}
