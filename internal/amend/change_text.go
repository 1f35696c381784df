package amend

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/strict"
)

var errPlace = errors.New("the place is an alias, has an anchor or a tag, or is written on several lines")

// change returns the edit for a change.
func (t *text) change(docs []*strict.Node, c Change) (splice, error) {
	n, err := strict.Among(docs, c.At)
	if err != nil {
		return splice{}, err
	}
	var parent *strict.Node
	var field strict.NodeField
	for _, step := range c.Path {
		parent, field = n, strict.NodeField{}
		f, ok := n.Field(step)
		i, isIndex := index(step)
		switch {
		case ok:
			n, field = f.Value, f
		case isIndex && i < len(n.Items):
			n = n.Items[i]
		default:
			return splice{}, errors.New("the field is not written here")
		}
	}
	switch {
	case c.Kind == Add:
		return t.add(field.Key, n, c)
	case c.Kind == Set && n.Kind == strict.ScalarNode && n.End > 0 && !n.Null:
		return splice{n.Start, n.End, valueText(c.Value, t.quotes(n))}, nil
	case c.Kind == Rename && field.Key != nil && field.Key.End > 0:
		return splice{field.Key.Start, field.Key.End, scalar(c.Key, t.quotes(field.Key))}, nil
	case c.Kind == Remove && field.Key != nil && field.Key.End > 0 && n.Kind == strict.ScalarNode && n.End > 0:
		return t.remove(parent, field)
	}
	return splice{}, errPlace
}

// add writes a new field into the object n, which is the value of a key, or of none.
func (t *text) add(key, n *strict.Node, c Change) (splice, error) {
	if n.Kind != strict.ObjectNode || n.Marked {
		return splice{}, errPlace
	}
	entry := func(q quotes) string { return scalar(c.Key, q) + ": " + valueText(c.Value, q) }
	if len(n.Fields) == 0 {
		if n.Start >= len(t.data) || t.data[n.Start] != '{' {
			return splice{}, errPlace
		}
		q := plain
		if t.json {
			q = double
		}
		return splice{n.Start + 1, n.Start + 1, entry(q)}, nil
	}
	if behind, ok := n.Field(c.After); ok && behind.Value.Kind == strict.ScalarNode && behind.Value.End > 0 {
		return t.addBehind(n, behind, entry)
	}
	first := n.Fields[0].Key
	indent, alone := t.indent(first.Start)
	switch {
	case !n.Flow && !alone:
		return splice{}, errPlace
	case !n.Flow && key != nil:
		return t.below(key.Start, indent+entry(plain)), nil
	case !n.Flow:
		return splice{first.Start, first.Start, entry(plain) + t.newline(first.Start) + indent}, nil
	case alone:
		return splice{first.Start, first.Start, entry(t.quotes(first)) + "," + t.newline(n.Start) + indent}, nil
	}
	return splice{first.Start, first.Start, entry(t.quotes(first)) + ", "}, nil
}

// addBehind writes an entry behind a field with a scalar on one line.
func (t *text) addBehind(n *strict.Node, f strict.NodeField, entry func(quotes) string) (splice, error) {
	indent, alone := t.indent(f.Key.Start)
	at := f.Value.End
	switch {
	case n.Flow && alone:
		return splice{at, at, "," + t.newline(n.Start) + indent + entry(t.quotes(f.Key))}, nil
	case n.Flow:
		return splice{at, at, ", " + entry(t.quotes(f.Key))}, nil
	case strings.Trim(indent, " -") != "":
		return splice{}, errPlace
	}
	return t.below(at, strings.ReplaceAll(indent, "-", " ")+entry(plain)), nil
}

// remove takes a field with a scalar out of its object.
func (t *text) remove(parent *strict.Node, f strict.NodeField) (splice, error) {
	if len(parent.Fields) < 2 {
		return splice{}, errors.New("the object would be empty without it")
	}
	from, to := f.Key.Start, f.Value.End
	if parent.Flow {
		for i, other := range parent.Fields {
			if other.Key == f.Key && i == 0 {
				return splice{from, parent.Fields[1].Key.Start, ""}, nil
			}
		}
		before := bytes.TrimRight(t.data[:from], " \t\r\n")
		if !bytes.HasSuffix(before, []byte(",")) {
			return splice{}, errPlace
		}
		return splice{len(before) - 1, to, ""}, nil
	}
	indent, alone := t.indent(from)
	if !alone {
		return splice{}, errPlace
	}
	from -= len(indent)
	if i := bytes.IndexAny(t.data[to:], "\r\n"); i >= 0 {
		return splice{from, to + i + len(t.newline(to)), ""}, nil
	}
	// The last line goes with the line end in front of it.
	return splice{len(bytes.TrimSuffix(bytes.TrimSuffix(t.data[:from], []byte("\n")), []byte("\r"))), len(t.data), ""}, nil
}

// valueText writes a value. In double quotes it is also JSON.
func valueText(v any, q quotes) string {
	switch v := v.(type) {
	case string:
		return scalar(v, q)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = valueText(item, q)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return "null"
}
