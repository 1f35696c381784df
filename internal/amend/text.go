package amend

import (
	"bytes"
	"errors"
	"strings"

	"github.com/argosy-cd/argosy/internal/strict"
)

// splice is text that comes in the place of other text.
type splice struct {
	from, to int
	text     string
}

// text is the text of a file, and whether it is JSON.
type text struct {
	data []byte
	json bool
}

// set returns the edit that sets an entry in the object n.
func (t *text) set(n *strict.Node, e entry) (splice, error) {
	meta, ok := n.Field("metadata")
	switch {
	case n.Kind == strict.AliasNode || ok && meta.Value.Kind == strict.AliasNode:
		return splice{}, errors.New("its metadata is an alias")
	case !ok || meta.Value.Kind != strict.ObjectNode || len(meta.Value.Fields) == 0:
		return splice{}, errors.New("it has no metadata of its own")
	}
	list, ok := meta.Value.Field("annotations")
	if !ok {
		return t.addAnnotations(meta, e)
	}
	v := list.Value
	_, merges := v.Field("<<")
	switch {
	case v.Kind == strict.AliasNode:
		return splice{}, errors.New("its annotations are an alias")
	case v.Marked:
		return splice{}, errors.New("its annotations have an anchor or a tag")
	case merges:
		return splice{}, errors.New("its annotations have a merge key")
	case v.Kind == strict.ObjectNode:
		if old, ok := v.Field(e.key); ok {
			return t.replace(old, e, v.Flow)
		}
		if len(v.Fields) > 0 {
			return t.addFirst(list, e)
		}
	case !v.Null:
		return splice{}, errors.New("its annotations are not an object")
	}
	return t.fill(meta, list, e)
}

// replace writes another value for a key.
func (t *text) replace(old strict.NodeField, e entry, flow bool) (splice, error) {
	v, q := old.Value, plain
	switch {
	case v.Kind != strict.ScalarNode || v.Marked || v.End == 0:
		return splice{}, errors.New("the value that it has now is an alias, has an anchor or a tag, or is written on several lines")
	case v.Null && v.Value == "":
		at, err := t.colon(old.Key)
		return splice{at, at, " " + scalar(e.value, q)}, err
	}
	if q = t.quotes(v); q == plain && flow {
		q = t.quotes(old.Key) // of a null or a number in JSON
	}
	return splice{v.Start, v.End, scalar(e.value, q)}, nil
}

// addFirst writes an entry in front of the others.
func (t *text) addFirst(list strict.NodeField, e entry) (splice, error) {
	first := list.Value.Fields[0].Key
	indent, alone := t.indent(first.Start)
	switch {
	case !list.Value.Flow && !alone:
		return splice{}, errors.New("its annotations do not begin on a line of their own")
	case !list.Value.Flow:
		return t.below(list.Key.Start, indent+e.text(plain)), nil
	case alone:
		return splice{first.Start, first.Start, e.text(t.quotes(first)) + "," + t.newline(list.Value.Start) + indent}, nil
	}
	return splice{first.Start, first.Start, e.text(t.quotes(first)) + ", "}, nil
}

// fill writes an entry into annotations that are null or {}.
func (t *text) fill(meta, list strict.NodeField, e entry) (splice, error) {
	v, empty := list.Value, bytes.HasPrefix(t.data[list.Value.Start:], []byte("{}"))
	colon, err := t.colon(list.Key)
	if err != nil {
		return splice{}, err
	}
	end := colon
	switch {
	case empty:
		end = v.Start + len("{}")
	case v.Kind == strict.ObjectNode: // braces with something between them
		return splice{v.Start + 1, v.Start + 1, e.text(t.quotes(list.Key))}, nil
	case v.Value != "":
		end = v.End
	}
	indent, alone := t.indent(list.Key.Start)
	if meta.Value.Flow || !alone {
		return splice{colon, end, " {" + e.text(t.quotes(list.Key)) + "}"}, nil
	}
	// A comment behind the null stays on its line.
	s := t.below(end, indent+t.step(meta)+e.text(plain))
	return splice{colon, s.to, string(t.data[end:s.from]) + s.text}, nil
}

// addAnnotations writes annotations behind the namespace or the name.
func (t *text) addAnnotations(meta strict.NodeField, e entry) (splice, error) {
	for _, name := range []string{"namespace", "name", "generateName"} {
		f, ok := meta.Value.Field(name)
		if !ok || f.Value.Kind != strict.ScalarNode || f.Value.End == 0 || f.Value.Null {
			continue
		}
		indent, alone := t.indent(f.Key.Start)
		switch q := t.quotes(f.Key); {
		case !meta.Value.Flow && alone:
			return t.below(f.Value.Start, indent+"annotations:", indent+t.step(meta)+e.text(plain)), nil
		case meta.Value.Flow && alone:
			line := t.newline(meta.Value.Start) + indent
			return splice{f.Value.End, f.Value.End, "," + line + scalar("annotations", q) + ": {" + line + t.step(meta) + e.text(q) + line +
				"}"}, nil
		case meta.Value.Flow:
			return splice{f.Value.End, f.Value.End, ", " + scalar("annotations", q) + ": {" + e.text(q) + "}"}, nil
		}
	}
	return splice{}, errors.New("it has no annotations yet, and its name is not written on one line")
}

// below returns the edit that inserts lines after the line of an offset.
func (t *text) below(at int, lines ...string) splice {
	newline, end := t.newline(at), len(t.data)
	added := strings.Join(lines, newline)
	if i := bytes.IndexAny(t.data[at:], "\r\n"); i >= 0 {
		end = at + i + len(newline)
		return splice{end, end, added + newline}
	}
	return splice{end, end, newline + added}
}

// newline is how the line of an offset ends.
func (t *text) newline(at int) string {
	i := bytes.IndexAny(t.data[at:], "\r\n")
	switch rest := t.data[at+max(i, 0):]; {
	case i < 0 || rest[0] == '\n':
		return "\n"
	case bytes.HasPrefix(rest, []byte("\r\n")):
		return "\r\n"
	}
	return "\r"
}

// indent is the text in front of an offset on its line, and whether it is blank.
func (t *text) indent(at int) (string, bool) {
	start := 1 + bytes.LastIndexAny(t.data[:at], "\r\n")
	indent := string(bytes.TrimPrefix(t.data[start:at], []byte("\uFEFF")))
	return indent, strings.Trim(indent, " \t") == ""
}

// step is how much further the fields of an object are indented than its key.
func (t *text) step(f strict.NodeField) string {
	outer, _ := t.indent(f.Key.Start)
	inner, blank := t.indent(f.Value.Fields[0].Key.Start)
	if blank && len(inner) > len(outer) {
		return inner[len(outer):]
	}
	return "  "
}

func (t *text) quotes(n *strict.Node) quotes { return quotesOf(t.data[n.Start]) }

// colon is the offset behind the colon of a key.
func (t *text) colon(key *strict.Node) (int, error) {
	at := key.End
	for at > 0 && at < len(t.data) && (t.data[at] == ' ' || t.data[at] == '\t') {
		at++
	}
	if at == 0 || at >= len(t.data) || t.data[at] != ':' {
		return 0, errors.New("the colon of its annotations is not beside the key")
	}
	return at + 1, nil
}
