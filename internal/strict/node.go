package strict

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// NodeKind is the kind of a Node.
type NodeKind int

// Kinds of nodes.
const (
	ScalarNode NodeKind = iota
	ObjectNode
	ListNode
	AliasNode
)

// Node is a value in a YAML text, and where it is written.
type Node struct {
	Kind NodeKind
	// Value is the text of a scalar, without quotes and escapes.
	Value string
	// Null says that a scalar is null.
	Null bool
	// Flow says that an object or a list is written in brackets.
	Flow bool
	// Marked says that it has an anchor or a tag; Start is the first byte of that then.
	Marked bool
	// Start is the offset of its first byte, End the one behind its last. End is 0 unless it is a scalar on one line without anchor and
	// tag.
	Start, End int
	// Fields are the fields of an object, in order, equal keys included.
	Fields []NodeField
	// Items are the items of a list.
	Items []*Node
}

// NodeField is a field of an object.
type NodeField struct{ Key, Value *Node }

// Field returns the field of an object by its name. Of several equal keys it returns the last.
func (n *Node) Field(name string) (NodeField, bool) {
	for i := len(n.Fields) - 1; i >= 0; i-- {
		if k := n.Fields[i].Key; k.Kind == ScalarNode && k.Value == name {
			return n.Fields[i], true
		}
	}
	return NodeField{}, false
}

// Nodes parses a YAML stream and returns the value of each document, without those that are null. Aliases are not expanded.
func Nodes(data []byte) ([]*Node, error) {
	if err := manifest.Check(data); err != nil {
		return nil, err
	}
	t := newText(data)
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var out []*Node
	for {
		var doc yaml.Node
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, errors.New(words.OneLine(strings.TrimPrefix(err.Error(), "yaml: "), maxMessage))
		}
		if len(doc.Content) != 1 {
			continue
		}
		if n := t.node(doc.Content[0]); !n.Null {
			out = append(out, n)
		}
	}
}

// text finds offsets by lines and columns, as the YAML library counts them.
type text struct {
	data  []byte
	lines []int // offsets of their first bytes
}

func newText(data []byte) text {
	start := 0
	if bytes.HasPrefix(data, []byte("\uFEFF")) {
		start = len("\uFEFF") // it has no column
	}
	t := text{data, []int{start}}
	for i := start; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		i += size
		switch r {
		case '\r':
			if i < len(data) && data[i] == '\n' {
				i++
			}
		case '\n', '\u0085', '\u2028', '\u2029': // breaks of YAML 1.1
		default:
			continue
		}
		t.lines = append(t.lines, i)
	}
	return t
}

func (t text) offset(line, column int) int {
	if line < 1 || line > len(t.lines) {
		return len(t.data)
	}
	at := t.lines[line-1]
	for ; column > 1 && at < len(t.data); column-- {
		_, size := utf8.DecodeRune(t.data[at:])
		at += size
	}
	return at
}

func (t text) node(n *yaml.Node) *Node {
	out := &Node{
		Start: t.offset(n.Line, n.Column), Flow: n.Style&yaml.FlowStyle != 0,
		Marked: n.Anchor != "" || n.Style&yaml.TaggedStyle != 0,
	}
	switch n.Kind {
	case yaml.MappingNode:
		out.Kind = ObjectNode
		for i := 0; i+1 < len(n.Content); i += 2 {
			out.Fields = append(out.Fields, NodeField{t.node(n.Content[i]), t.node(n.Content[i+1])})
		}
	case yaml.SequenceNode:
		out.Kind = ListNode
		for _, item := range n.Content {
			out.Items = append(out.Items, t.node(item))
		}
	case yaml.AliasNode:
		out.Kind = AliasNode
	default:
		out.Value, out.Null = n.Value, n.ShortTag() == "!!null"
		if !out.Marked {
			out.End = t.end(n, out.Start)
		}
	}
	return out
}

// end is the offset behind a scalar, 0 if it is on several lines.
func (t text) end(n *yaml.Node, start int) int {
	rest := t.data[start:]
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return 0
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return t.quoted(start, '"', '\\')
	case n.Style&yaml.SingleQuotedStyle != 0:
		return t.quoted(start, '\'', '\'')
	case bytes.HasPrefix(rest, []byte(n.Value)):
		return start + len(n.Value)
	}
	return 0
}

// quoted is the offset behind a quoted scalar. escape makes the character behind it a part of the scalar; in single quotes it is the quote
// itself, doubled.
func (t text) quoted(start int, quote, escape byte) int {
	if start >= len(t.data) || t.data[start] != quote {
		return 0
	}
	for i := start + 1; i < len(t.data); i++ {
		switch c := t.data[i]; {
		case c == '\n' || c == '\r':
			return 0
		case c == escape && i+1 < len(t.data) && (escape != quote || t.data[i+1] == quote):
			i++
		case c == quote:
			return i + 1
		}
	}
	return 0
}
