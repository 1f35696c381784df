package strict_test

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/strict"
)

// TestPlace finds fields of objects in a text with several documents, lists and characters of several bytes.
func TestPlace(t *testing.T) {
	data := []byte("# first\na: 1\n---\nkind: List\nitems:\n  - {ü: 1, spec: {x: [1, {y: 2}]}}\n")
	for _, c := range []struct {
		at           manifest.Position
		path         []string
		line, column int
		found        int
	}{
		{manifest.Position{Number: 1}, nil, 2, 1, 0},
		{manifest.Position{Number: 1}, []string{"a"}, 2, 1, 1},
		{manifest.Position{Number: 2, Item: "items[0]"}, []string{"spec"}, 6, 12, 1},
		{manifest.Position{Number: 2, Item: "items[0]"}, []string{"spec", "x", strict.Index(1), "y"}, 6, 27, 4},
		{manifest.Position{Number: 2, Item: "items[0]"}, []string{"spec", "x", strict.Index(2)}, 6, 19, 2},
		{manifest.Position{Number: 2, Item: "items[0]"}, []string{"spec", "z"}, 6, 12, 1},
	} {
		n, err := strict.At(data, c.at)
		if err != nil {
			t.Fatal(err)
		}
		n, found := n.Find(c.path...)
		if line, column := strict.NewLines(data).Place(n); line != c.line || column != c.column || found != c.found {
			t.Errorf("%v %v: %d:%d, %d steps; want %d:%d, %d", c.at, c.path, line, column, found, c.line, c.column, c.found)
		}
	}
	for _, at := range []manifest.Position{{}, {Number: 3}, {Number: 2, Item: "items[1]"}} {
		if _, err := strict.At(data, at); err == nil {
			t.Errorf("%v is there", at)
		}
	}
}
