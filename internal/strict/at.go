package strict

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
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

// Among is At for a text whose documents are parsed already.
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

// Place returns the line and the column of a node in its text, from 1. Columns count characters.
func (n *Node) Place(data []byte) (line, column int) {
	before := data[:min(n.Start, len(data))]
	start := 1 + bytes.LastIndexByte(before, '\n')
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])
}
