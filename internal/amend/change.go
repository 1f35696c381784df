package amend

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/strict"
)

// Kind is the kind of a Change.
type Kind int

// Kinds of changes.
const (
	// Set gives the scalar at the path another value.
	Set Kind = iota
	// Rename gives the field at the path another name.
	Rename
	// Add adds a field to the object at the path.
	Add
	// Remove removes the field at the path, whose value is a scalar, and which is not the only one of its object.
	Remove
)

// Change is a small change of an object.
type Change struct {
	// At is the position of the object, as manifest.Decode has it. Its line does not matter.
	At manifest.Position
	// Path leads to what changes: names of fields, and indexes as strict.Index has them.
	Path []string
	Kind Kind
	// Key is the new name (Rename), or the name of the new field (Add).
	Key string
	// Value is a string, a bool, an int64, or, for a new field, a list of them. Rename and Remove have none.
	Value any
	// After is the field behind which a new one is written. "", or a field that is not there, writes it in front of the others.
	After string
}

// oneByOne is how many changes are tried alone if they cannot be made together.
const oneByOne = 50

// Apply makes changes in a file. It returns the new text and one error for each change; nil means the change was made.
func Apply(data []byte, changes []Change) ([]byte, []error) {
	refused := make([]error, len(changes))
	after, err := together(data, changes, refused)
	if err == nil {
		return after, refused
	}
	for i, c := range changes {
		if refused[i] != nil {
			continue
		}
		if len(changes) > oneByOne || len(changes) == 1 {
			refused[i] = err
			continue
		}
		one := make([]error, 1)
		next, err := together(data, []Change{c}, one)
		if refused[i] = errors.Join(one[0], err); refused[i] == nil {
			data = next
		}
	}
	return data, refused
}

// together makes all changes at once, except for refused ones. With an error, it makes none.
func together(data []byte, changes []Change, refused []error) ([]byte, error) {
	docs, err := manifest.Decode("", data)
	if err != nil {
		return nil, err
	}
	nodes, err := strict.Nodes(data)
	if err != nil {
		return nil, err
	}
	type made struct {
		splice
		change int
	}
	type place struct {
		number int
		item   string
	}
	objects := map[place]manifest.Object{}
	for _, d := range docs {
		objects[place{d.Number, d.Item}] = d.Object
	}
	var list []made
	t := &text{data, json.Valid(data)}
	for i, c := range changes {
		s, err := t.change(nodes, c)
		if err != nil {
			refused[i] = err
			continue
		}
		list = append(list, made{s, i})
	}
	slices.SortStableFunc(list, func(a, b made) int { return a.from - b.from })
	var after []byte
	end := 0
	for _, m := range list {
		c := changes[m.change]
		o := objects[place{c.At.Number, c.At.Item}]
		switch {
		case m.from < end:
			refused[m.change] = errors.New("another change is in the same place")
			continue
		case o == nil:
			refused[m.change] = errors.New("the object is not there")
			continue
		}
		if err := c.do(o); err != nil {
			refused[m.change] = err
			continue
		}
		after = append(append(after, data[end:m.from]...), m.text...)
		end = m.to
	}
	after = append(after, data[end:]...)
	decoded, err := manifest.Decode("", after)
	if err != nil || !same(docs, decoded) || t.json && !json.Valid(after) {
		return nil, errors.New("this text cannot be changed without changing something else")
	}
	return after, nil
}

// do makes the change in an object.
func (c Change) do(o manifest.Object) error {
	if c.Kind == Add {
		m, ok := Value(o, c.Path...).(map[string]any)
		if _, has := m[c.Key]; !ok || has {
			return fmt.Errorf("%s already exists, or its parent is not an object", c.Key)
		}
		m[c.Key] = c.Value
		return nil
	}
	if len(c.Path) == 0 {
		return errors.New("a change needs a path inside the object")
	}
	last := c.Path[len(c.Path)-1]
	switch parent := Value(o, c.Path[:len(c.Path)-1]...).(type) {
	case map[string]any:
		old, ok := parent[last]
		if _, has := parent[c.Key]; !ok || c.Kind == Rename && has {
			return errors.New("the field does not exist, or the new name is already used")
		}
		switch c.Kind {
		case Set:
			parent[last] = c.Value
		case Rename:
			delete(parent, last)
			parent[c.Key] = old
		default:
			delete(parent, last)
		}
		return nil
	case []any:
		if i, ok := index(last); ok && i < len(parent) && c.Kind == Set {
			parent[i] = c.Value
			return nil
		}
	}
	return errors.New("there is no such field")
}

// Value returns the value at a path of an object; nil if there is none.
func Value(v any, path ...string) any {
	for _, step := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[step]
		case []any:
			i, ok := index(step)
			if !ok || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// index parses a path step as the index of a list element.
func index(step string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(step, "["), "]"))
	return n, err == nil && n >= 0
}
