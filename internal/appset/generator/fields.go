package generator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// fields reads the fields of one generator, collects errors about types and warns about names it does not know.
type fields struct {
	path  string
	value map[string]any
	known []string
	errs  []error
	run   *run
}

func newFields(path string, v any, r *run) *fields {
	f := &fields{path: path, run: r, known: []string{"template"}}
	m, ok := v.(map[string]any)
	if !ok {
		f.errs = append(f.errs, fmt.Errorf("%s: must be an object, it is %s", path, manifest.TypeName(v)))
	}
	f.value = m
	return f
}

// UnknownField ends a warning about a field that a set cannot have.
const UnknownField = "unknown field, ignored"

// err reports all problems. It is called when every field has been asked for.
func (f *fields) err() error {
	for key := range f.value {
		if !slices.Contains(f.known, key) && f.run != nil {
			f.run.warned[f.path+"."+key+": "+UnknownField] = FieldUnknown
		}
	}
	return errors.Join(f.errs...)
}

func field[T any](f *fields, name, want string) T {
	f.known = append(f.known, name)
	var zero T
	switch v := f.value[name].(type) {
	case nil:
		return zero
	case T:
		return v
	default:
		f.errs = append(f.errs, fmt.Errorf("%s.%s: must be %s, it is %s", f.path, name, want, manifest.TypeName(v)))
		return zero
	}
}

func (f *fields) text(name string) string { return field[string](f, name, "a string") }
func (f *fields) boolean(name string) bool {
	return field[bool](f, name, "true or false")
}
func (f *fields) list(name string) []any { return field[[]any](f, name, "a list") }

// requeue checks the type of requeueAfterSeconds, whose value does not matter here.
func (f *fields) requeue() { field[int64](f, "requeueAfterSeconds", "a whole number") }

// strings reads a list of strings.
func (f *fields) strings(name string) []string {
	var out []string
	for i, v := range f.list(name) {
		s, ok := v.(string)
		if !ok {
			f.errs = append(f.errs, fmt.Errorf("%s.%s[%d]: must be a string, it is %s", f.path, name, i, manifest.TypeName(v)))
		}
		out = append(out, s)
	}
	return out
}

// table reads a map of strings.
func (f *fields) table(name string) map[string]string {
	m := field[map[string]any](f, name, "an object")
	out := make(map[string]string, len(m))
	for _, k := range manifest.Keys(m) {
		switch v := m[k].(type) {
		case string:
			out[k] = v
		case nil:
			out[k] = ""
		default:
			f.errs = append(f.errs, fmt.Errorf("%s.%s.%s: must be a string, it is %s; quote it", f.path, name, k, manifest.TypeName(v)))
		}
	}
	return out
}

// objects reads a list of objects.
func (f *fields) objects(name string) []*fields {
	var out []*fields
	for i, v := range f.list(name) {
		item := newFields(fmt.Sprintf("%s.%s[%d]", f.path, name, i), v, f.run)
		item.known = nil
		f.errs = append(f.errs, item.errs...)
		item.errs = nil
		out = append(out, item)
	}
	return out
}
