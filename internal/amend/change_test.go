package amend

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
)

var (
	set    = Change{Path: []string{"a", "k"}, Kind: Set, Value: int64(5)}
	word   = Change{Path: []string{"a", "[0]"}, Kind: Set, Value: "y=true"}
	rename = Change{Path: []string{"a", "k"}, Kind: Rename, Key: "m"}
	remove = Change{Path: []string{"a", "k"}, Kind: Remove}
	add    = Change{Path: []string{"a"}, Kind: Add, Key: "m", Value: true}
	behind = Change{Path: []string{"a"}, Kind: Add, Key: "m", Value: []any{"x=y"}, After: "k"}
)

func inFirst(c Change) Change {
	c.At = manifest.Position{Number: 1}
	return c
}

// TestChange changes texts, and every other byte stays. Made twice, a change is refused or changes nothing.
func TestChange(t *testing.T) {
	for name, c := range map[string]struct {
		change   Change
		in, want string
	}{
		"set, plain":          {set, "a:\n  k: -1 # why\n", "a:\n  k: 5 # why\n"},
		"set, flow":           {set, "a: {k: -1, l: 2}\n", "a: {k: 5, l: 2}\n"},
		"set, JSON":           {set, `{"a":{"k":-1}}`, `{"a":{"k":5}}`},
		"set, item":           {word, "a:\n- x=true # why\n- z\n", "a:\n- y=true # why\n- z\n"},
		"set, item in quotes": {word, "a: [ \"x\" ]\n", "a: [ \"y=true\" ]\n"},
		"set, single quotes":  {word, "a:\n  - 'x'\r\n", "a:\n  - 'y=true'\r\n"},
		"rename":              {rename, "a:\n  # why\n  k:\n    - x\n", "a:\n  # why\n  m:\n    - x\n"},
		"rename in quotes":    {rename, `{"a":{"k" : [1]}}`, `{"a":{"m" : [1]}}`},
		"remove":              {remove, "a:\n  j: 1\n  k: true # why\n  l: 2\n", "a:\n  j: 1\n  l: 2\n"},
		"remove the first":    {remove, "a:\r\n  k: true\r\n  l: 2\r\n", "a:\r\n  l: 2\r\n"},
		"remove the last":     {remove, "a:\n  j: 1\n  k: true", "a:\n  j: 1"},
		"remove, flow":        {remove, "a: {j: 1, k: true, l: 2}\n", "a: {j: 1, l: 2}\n"},
		"remove, first flow":  {remove, "a: { k: true, l: 2 }\n", "a: { l: 2 }\n"},
		"remove, last flow":   {remove, "a: {l: [2],\n    k: true\n  }\n", "a: {l: [2]\n  }\n"},
		"remove, JSON":        {remove, "{\"a\": {\n  \"j\": 1,\n  \"k\": 2\n}}", "{\"a\": {\n  \"j\": 1\n}}"},
		"add":                 {add, "a:\n  # about j\n  j: 1\n", "a:\n  m: true\n  # about j\n  j: 1\n"},
		"add, empty":          {add, "a: {}\n", "a: {m: true}\n"},
		"add, empty JSON":     {add, `{"a": {}}`, `{"a": {"m": true}}`},
		"add, flow":           {add, "a: {j: 1}\n", "a: {m: true, j: 1}\n"},
		"add, JSON on lines":  {add, "{\"a\": {\n  \"j\": 1\n}}", "{\"a\": {\n  \"m\": true,\n  \"j\": 1\n}}"},
		"add, DOS":            {add, "a: # why\r\n    j: 1\r\n", "a: # why\r\n    m: true\r\n    j: 1\r\n"},
		"add behind":          {behind, "a:\n  k: 1 # why\n  l: 2\n", "a:\n  k: 1 # why\n  m: [x=y]\n  l: 2\n"},
		"add behind the last": {behind, "a:\n  k: 1", "a:\n  k: 1\n  m: [x=y]"},
		"add behind, flow":    {behind, "a: {k: 1, l: 2}\n", "a: {k: 1, m: [x=y], l: 2}\n"},
		"add behind, JSON":    {behind, "{\"a\": {\n\t\"k\": 1\n}}", "{\"a\": {\n\t\"k\": 1,\n\t\"m\": [\"x=y\"]\n}}"},
		"add behind, quoted":  {behind, "a:\n  k: \"# no\" # why\n", "a:\n  k: \"# no\" # why\n  m: [x=y]\n"},
		"add behind a block":  {behind, "a:\n  l: 2\n  k: |\n    x\n", "a:\n  m: [x=y]\n  l: 2\n  k: |\n    x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, refused := Apply([]byte(c.in), []Change{inFirst(c.change)})
			if refused[0] != nil {
				t.Fatal(refused[0])
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			again, refused := Apply(got, []Change{inFirst(c.change)})
			if !bytes.Equal(again, got) || refused[0] == nil && c.change.Kind != Set {
				t.Errorf("again: %v\n%s", refused, again)
			}
		})
	}
}

// TestChangeRefused: a text that cannot be changed that way stays as it is.
func TestChangeRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change   Change
		in, want string
	}{
		"alias":             {set, "b: &b -1\na: {k: *b}\n", errPlace.Error()},
		"anchor":            {set, "a: {k: &b -1}\nb: *b\n", errPlace.Error()},
		"used elsewhere":    {set, "a: &a {k: -1}\nb: *a\n", "changing something else"},
		"behind an alias":   {set, "b: &b {k: -1}\na: *b\n", "not written here"},
		"merged":            {set, "b: &b {k: -1}\na: {<<: *b}\n", "not written here"},
		"merged, add":       {Change{Path: []string{"a"}, Kind: Add, Key: "k", Value: true}, "b: &b {k: -1}\na: {<<: *b}\n", "already exists"},
		"block scalar":      {set, "a:\n  k: |\n    1\n", errPlace.Error()},
		"not there":         {set, "a: {}\n", "not written here"},
		"no such item":      {word, "a: []\n", "not written here"},
		"name taken":        {rename, "a: {k: 1, m: 2}\n", "the new name is already used"},
		"the only one":      {remove, "a:\n  k: 1\n", "would be empty"},
		"of an object":      {remove, "a: {k: {x: y}, l: 1}\n", errPlace.Error()},
		"in a list's item":  {Change{Path: []string{"a", "[0]", "k"}, Kind: Remove}, "a:\n- k: 1\n  l: 2\n", errPlace.Error()},
		"there already":     {Change{Path: []string{"a"}, Kind: Add, Key: "k", Value: true}, "a: {k: 1}\n", "already exists"},
		"null":              {add, "a:\nb: {}\n", errPlace.Error()},
		"a list":            {add, "a: [1]\n", errPlace.Error()},
		"twice":             {set, "a: {k: 1, k: 2}\n", "already set"},
		"no such document":  {Change{At: manifest.Position{Number: 3}, Path: []string{"a", "k"}}, "a: {k: 1}\n", "not there"},
		"no YAML":           {set, "a: {{ .x }}\n", "invalid map key"},
		"the whole object":  {Change{Kind: Set, Value: true}, "a: {k: 1}\n", errPlace.Error()},
		"several documents": {set, "--- {a: {k: &x 1}}\n--- {a: {k: 1}}\n", errPlace.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			change := c.change
			if change.At.Number == 0 {
				change = inFirst(change)
			}
			got, refused := Apply([]byte(c.in), []Change{change})
			if string(got) != c.in || refused[0] == nil || !strings.Contains(refused[0].Error(), c.want) {
				t.Errorf("%v\n%s", refused, got)
			}
		})
	}
}

// TestChanges: changes of one file are made together, and one that cannot be made does not stop the others.
func TestChanges(t *testing.T) {
	in := "a:\n  k: -1\n  j: 0\n---\na: &a {k: -1}\nb: *a\n---\nkind: List\nitems:\n- a: {k: -1}\n"
	at := func(c Change, number int, item string) Change {
		c.At = manifest.Position{Number: number, Item: item}
		return c
	}
	got, refused := Apply([]byte(in), []Change{
		at(set, 3, "items[0]"), at(set, 2, ""), at(behind, 1, ""), at(set, 1, ""), at(remove, 1, ""),
	})
	want := "a:\n  m: [x=y]\n  j: 0\n---\na: &a {k: -1}\nb: *a\n---\nkind: List\nitems:\n- a: {k: 5}\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for i, no := range []bool{false, true, false, true, false} {
		if (refused[i] != nil) != no {
			t.Errorf("change %d: %v", i, refused[i])
		}
	}
}

// FuzzChange checks that a change is made as it says and changes nothing else, wherever it is made, or is refused.
func FuzzChange(f *testing.F) {
	for _, in := range []string{
		"a:\n  k: -1 # x\n  l: 'y'\n", "a: {k: true, l: [1]}\n---\na: {}\n", "a: &a {k: 1}\nb: *a\r\n", `{"a": {"k": [1, "x"]}}`,
		"\uFEFFa:\n- k: |\n    x\n  l: 2\n", "? a\n: {k: 1}\n", "kind: List\nitems:\n- a: {k: ~}", "a:\u2028  k: 1", "a: { k: 1 , }\n",
	} {
		for kind := range 4 {
			f.Add([]byte(in), "a", "k", uint8(kind), "n", "l")
			f.Add([]byte(in), "a", "[0]", uint8(kind), "true", "")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, one, two string, kind uint8, key, after string) {
		docs, err := manifest.Decode("", data)
		if err != nil {
			return
		}
		for _, d := range docs {
			c := Change{At: d.Position, Path: []string{one, two}, Kind: Kind(kind % 4), Key: key, Value: key, After: after}
			if c.Kind == Add {
				c.Path, c.Value = []string{one}, []any{key, true}
			}
			got, refused := Apply(data, []Change{c})
			if refused[0] != nil {
				if !bytes.Equal(got, data) {
					t.Fatalf("refused and changed: %q\n%q", data, got)
				}
				continue
			}
			want, _ := manifest.Decode("", data)
			i := slices.IndexFunc(want, func(w manifest.Document) bool { return w.Number == d.Number && w.Item == d.Item })
			if err := c.do(want[i].Object); err != nil {
				t.Fatal(err)
			}
			have, err := manifest.Decode("", got)
			if err != nil || !same(want, have) {
				t.Fatalf("%v\n%q\n%q", err, data, got)
			}
		}
	})
}
