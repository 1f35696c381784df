package strict

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/argosy-cd/argosy/internal/manifest"
)

var itemIndex = regexp.MustCompile(`items\[(\d+)\]`)

// At returns the node of the object at a position, as manifest.Decode has it. The line of the position does not matter.
func At(data []byte, at manifest.Position) (*Node, error) {
	docs, err := Nodes(data)
	if err != nil {
		return nil, err
	}
	return Among(docs, at)
}

// Among is At for documents that are parsed already.
func Among(docs []*Node, at manifest.Position) (*Node, error) {
	if at.Number < 1 || at.Number > len(docs) {
		return nil, errors.New("the document is not there")
	}
	n := docs[at.Number-1]
	for _, m := range itemIndex.FindAllStringSubmatch(at.Item, -1) {
		i, err := strconv.Atoi(m[1])
		list, ok := n.Field("items")
		if err != nil || !ok || i >= len(list.Value.Items) {
			return nil, fmt.Errorf("%s is not written here", at.Item)
		}
		n = list.Value.Items[i]
	}
	return n, nil
}

// Index is the step of a path into an item of a list.
func Index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// Find follows a path of field names and indexes as far as it is written, and returns the last node on it, the key for a field, and how
// many steps were found.
func (n *Node) Find(path ...string) (*Node, int) {
	last := n
	for i, step := range path {
		if f, ok := n.Field(step); ok {
			n, last = f.Value, f.Key
			continue
		}
		at, err := strconv.Atoi(strings.Trim(step, "[]"))
		if err != nil || at < 0 || at >= len(n.Items) {
			return last, i
		}
		n, last = n.Items[at], n.Items[at]
	}
	return last, len(path)
}

// Lines finds the lines and columns of nodes in their text.
type Lines struct {
	data   []byte
	starts []int // offsets of the lines
}

// NewLines returns the lines of a text.
func NewLines(data []byte) *Lines {
	l := &Lines{data, []int{0}}
	for i, c := range data {
		if c == '\n' {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// Place returns the line and the column of a node, from 1. Columns count characters.
func (l *Lines) Place(n *Node) (line, column int) {
	offset := min(n.Start, len(l.data))
	line, found := slices.BinarySearch(l.starts, offset)
	if found {
		line++
	}
	return line, 1 + utf8.RuneCount(l.data[l.starts[line-1]:offset])
}
