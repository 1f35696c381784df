// Package strict decodes configuration files: YAML into Go structs, with nothing left over.
//
// A struct is the table of its file. The tag "field" names a field and may mark it "required"; "doc" says what it is
// for, "enum" lists the allowed values, separated by "|". Decode follows the table and refuses everything else: unknown
// fields, wrong types, duplicate keys, a second document, merge keys. It reports all problems together, each with
// file, line and column. Schema writes the same table as a JSON Schema for editors.
//
// Struct fields are string, bool, int64, any, map[string]any, structs, and pointers to and slices of these. Embedded
// structs are part of the struct around them.
package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/argosy-cd/argosy/internal/words"
)

// MaxBytes bounds a configuration file.
const MaxBytes = 1 << 20

// Aliases make a small file large, so the limits are for the expanded values and not for the text.
const (
	maxNodes = 100_000
	maxDepth = 64
	maxText  = 4 << 20 // bytes of all strings
	// An alias of an object with a mistake in it is the same mistake again.
	maxErrors = 100
	// maxName bounds a field's name in paths and messages: each path has the names of all fields around it.
	maxName    = 100
	maxMessage = 600
)

// Document is a decoded file; it knows where its fields are.
type Document struct {
	file  string
	at    map[string]*yaml.Node
	wrong map[string]bool // fields whose own value was refused
}

// Decode decodes the single document of a file into the struct that v points to. With an error there is a Document, too,
// if the file is YAML, so that a caller can look for more problems.
func Decode(file string, data []byte, v any) (*Document, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%s: %d bytes is over the limit of %d", file, len(data), MaxBytes)
	}
	root, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	d := &decoder{doc: &Document{file: file, at: map[string]*yaml.Node{}, wrong: map[string]bool{}}}
	d.value(root, "", reflect.ValueOf(v).Elem(), 0)
	return d.doc, errors.Join(d.errs...)
}

func parse(file string, data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: the file is empty", file)
	case err != nil:
		return nil, syntaxError(file, err)
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, syntaxError(file, err)
	default:
		return nil, fmt.Errorf("%s:%d:%d: there must be one document only", file, second.Line, second.Column)
	}
	if len(doc.Content) != 1 {
		return nil, fmt.Errorf("%s: the file is empty", file)
	}
	return doc.Content[0], nil
}

// syntaxError puts the line where an editor finds it: "file:3: did not find expected key".
func syntaxError(file string, err error) error {
	msg := words.OneLine(strings.TrimPrefix(err.Error(), "yaml: "), maxMessage)
	if rest, ok := strings.CutPrefix(msg, "line "); ok {
		if line, text, ok := strings.Cut(rest, ": "); ok {
			if _, err := strconv.Atoi(line); err == nil {
				return fmt.Errorf("%s:%s: %s", file, line, text)
			}
		}
	}
	return fmt.Errorf("%s: %s", file, msg)
}

// Errorf returns an error about a field such as "sources[1].path", or about the nearest one around it that is in the
// file.
func (d *Document) Errorf(path, format string, args ...any) error {
	where := path
	for {
		if n := d.at[where]; n != nil {
			return fmt.Errorf("%s:%d:%d: %s", d.file, n.Line, n.Column, fmt.Sprintf(format, args...))
		}
		if where == "" {
			return fmt.Errorf("%s: %s", d.file, fmt.Sprintf(format, args...))
		}
		where = where[:max(0, strings.LastIndexAny(where, ".["))]
	}
}

// Has reports whether a field is in the file.
func (d *Document) Has(path string) bool { return d.at[path] != nil }

// Wrong reports whether the value of a field, or of something in it, was refused.
func (d *Document) Wrong(path string) bool { return d.wrong[path] }

type decoder struct {
	doc   *Document
	errs  []error
	nodes int
	text  int // bytes of strings
}

func (d *decoder) errorf(n *yaml.Node, format string, args ...any) {
	if len(d.errs) >= maxErrors {
		return
	}
	message := words.Shorten(fmt.Sprintf(format, args...), maxMessage)
	d.errs = append(d.errs, fmt.Errorf("%s:%d:%d: %s", d.doc.file, n.Line, n.Column, message))
}

// enter counts a node and follows an alias.
func (d *decoder) enter(n *yaml.Node, depth int) *yaml.Node {
	d.nodes++
	switch {
	case d.nodes == maxNodes:
		d.errorf(n, "there are more than %d values here", maxNodes)
		return nil
	case d.nodes > maxNodes:
		return nil
	case depth > maxDepth:
		d.errorf(n, "values are nested deeper than %d", maxDepth)
		return nil
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if d.text += len(n.Value); d.text > maxText {
		d.errorf(n, "with aliases replaced there are more than %d bytes here", maxText)
		d.nodes = maxNodes // the rest is not decoded
		return nil
	}
	return n
}

func (d *decoder) value(n *yaml.Node, path string, v reflect.Value, depth int) {
	d.doc.at[path] = n
	before := len(d.errs)
	defer func() { d.doc.wrong[path] = d.doc.wrong[path] || len(d.errs) > before }()
	if n = d.enter(n, depth); n == nil {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, path, v.Elem(), depth+1)
	case reflect.Struct:
		d.object(n, path, v, depth)
	case reflect.Slice:
		d.list(n, path, v, depth)
	case reflect.String:
		if d.scalar(n, path, "a string", "!!str") {
			v.SetString(n.Value)
		}
	case reflect.Bool:
		if d.scalar(n, path, "true or false", "!!bool") {
			v.SetBool(strings.EqualFold(n.Value, "true"))
			if !v.Bool() && !strings.EqualFold(n.Value, "false") {
				d.errorf(n, "%s must be true or false, it is %q", path, n.Value)
			}
		}
	case reflect.Int64:
		if d.scalar(n, path, "a whole number", "!!int") {
			i, err := strconv.ParseInt(n.Value, 10, 64)
			if err != nil {
				d.errorf(n, "%s must be a whole number of 64 bits", path)
			}
			v.SetInt(i)
		}
	case reflect.Map:
		if m, ok := d.free(n, path, depth).(map[string]any); ok {
			v.Set(reflect.ValueOf(m))
		} else if len(d.errs) == 0 {
			d.errorf(n, "%s must be an object, it is %s", path, kindName(n))
		}
	case reflect.Interface:
		if x := d.free(n, path, depth); x != nil {
			v.Set(reflect.ValueOf(x))
		}
	default:
		panic("strict: no decoding for " + v.Type().String())
	}
}

func (d *decoder) scalar(n *yaml.Node, path, want, tag string) bool {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == tag {
		return true
	}
	cure := ""
	if n.Kind == yaml.ScalarNode && tag == "!!str" && n.ShortTag() != "!!null" {
		cure = fmt.Sprintf("; write %q", n.Value)
	}
	d.errorf(n, "%s must be %s, it is %s%s", path, want, kindName(n), cure)
	return false
}

func (d *decoder) list(n *yaml.Node, path string, v reflect.Value, depth int) {
	if n.Kind != yaml.SequenceNode {
		d.errorf(n, "%s must be a list, it is %s", path, kindName(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.value(item, fmt.Sprintf("%s[%d]", path, i), v.Index(i), depth+1)
	}
}

func (d *decoder) object(n *yaml.Node, path string, v reflect.Value, depth int) {
	if n.Kind != yaml.MappingNode {
		d.errorf(n, "%s must be an object, it is %s", name(path), kindName(n))
		return
	}
	fields := fieldsOf(v.Type())
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		f, known := fields.find(key.Value)
		if d.text += len(key.Value); d.nodes >= maxNodes {
			return
		}
		switch first := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode || key.Style&yaml.TaggedStyle != 0:
			d.errorf(key, "the name of a field must be plain text")
		case first != nil:
			d.errorf(key, "%s is given twice, first in line %d", join(path, key.Value), first.Line)
		case !known:
			d.errorf(key, "unknown field %q%s", join(path, key.Value), fields.suggest(key.Value[:min(len(key.Value), maxName)]))
		default:
			d.value(n.Content[i+1], join(path, f.name), v.FieldByIndex(f.index), depth+1)
			d.enum(n.Content[i+1], join(path, f.name), f, v.FieldByIndex(f.index))
		}
		seen[key.Value] = key
	}
	for _, f := range fields {
		if f.required && seen[f.name] == nil {
			d.errorf(n, "%s must be set", join(path, f.name))
		}
	}
}

func (d *decoder) enum(n *yaml.Node, path string, f field, v reflect.Value) {
	if len(f.enum) == 0 || v.Kind() != reflect.String || v.String() == "" {
		return
	}
	for _, allowed := range f.enum {
		if v.String() == allowed {
			return
		}
	}
	d.errorf(n, "%s must be one of %s, it is %q", path, strings.Join(f.enum, ", "), v.String())
	d.doc.wrong[path] = true
}

// free decodes a value of any type as encoding/json would, but with int64 for whole numbers.
func (d *decoder) free(n *yaml.Node, path string, depth int) any {
	if n = d.enter(n, depth); n == nil {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
				d.errorf(key, "%s: a key must be a string", path)
				continue
			}
			if _, twice := m[key.Value]; twice {
				d.errorf(key, "%s is given twice", join(path, key.Value))
			}
			m[key.Value] = d.free(n.Content[i+1], join(path, key.Value), depth+1)
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = d.free(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
		}
		return list
	default:
		return d.freeScalar(n, path)
	}
}

func (d *decoder) freeScalar(n *yaml.Node, path string) any {
	switch n.ShortTag() {
	case "!!str":
		return n.Value
	case "!!null":
		return nil
	}
	var x any
	if err := n.Decode(&x); err != nil {
		d.errorf(n, "%s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	switch x := x.(type) {
	case int:
		return int64(x)
	case float64:
		if n.ShortTag() == "!!int" || math.IsNaN(x) || math.IsInf(x, 0) {
			d.errorf(n, "%s: %s is not a number that JSON and 64 bits can hold; write it as a string", path, n.Value)
		}
		return x
	case uint64:
		d.errorf(n, "%s: %s is not a number that JSON and 64 bits can hold; write it as a string", path, n.Value)
		return nil
	case bool:
		return x
	default:
		return n.Value // dates and the like stay as written
	}
}

func join(path, name string) string {
	name = words.Shorten(name, maxName)
	if path == "" {
		return name
	}
	return path + "." + name
}

func name(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "an object"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "empty"
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	case "!!str":
		return "a string"
	case "!!timestamp":
		return "a date"
	default:
		return "a value of type " + n.ShortTag()
	}
}
