package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// TestStream: where documents begin and end, by the rules of Argo CD. The cases of package source compare it with Argo CD.
func TestStream(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"comments", "# a\n---\n# b\n", ""},
		{"documents", "# x\n\nk: a\n--- # y\nk: b\n---\n\n---\n  \nk: c", "f:3 a, f:5: document 2 b, f:10: document 3 c"},
		{"separator first", "---\nk: a\n---\nk: b\n", "f:2 a, f:4: document 2 b"},
		{"carriage returns", "k: a\r\n---\r\nk: b\r\n", "f:1 a, f:3: document 2 b"},
		{"mark", "\xef\xbb\xbfk: a\n", "f:1 a"},
		{
			"key twice", "k: a\n---\nk: b\nk: c\n",
			"f:1 a, f:3: document 2 c; f:4: document 2: key \"k\" already set in map; the last one counts",
		},
		{"key twice in JSON", "{\"k\": \"a\",\n\"k\": \"b\"}", "f:1 b; f:2: key \"k\" already set in map; the last one counts"},
		{"text behind a separator", "k: a\n---\nk: b\n--- k: c\n", "f:1 a; f:4: invalid document separator: k: c"},
		{"longer separator", "k: a\n----\n", "f:2: invalid document separator: -"},
		{"end", "k: a\n...\n---\nk: b\n...\n# c\n", "f:1 a, f:4: document 2 b"},
		{"behind the end", "k: a\n...\n\nk: b\n", "f:1 a; f:4: a document behind \"...\" is not read; separate documents by \"---\""},
		{"directive", "%YAML 1.1\n---\nk: a\n", "f:1: did not find expected <document start>"},
		{"error in the second", "k: a\n---\nx: y\nb: [\n---\nk: c\n", "f:1 a; f:4: document 2: did not find expected node content"},
		{"no object", "k: a\n---\n- b\n", "f:1 a; f:3: document 2: the document must be an object, it is a list"},
		{"JSON", "\n{\"k\": \"a\"}\n{\"k\":\n\"b\"} {\"k\": \"c\"}", "f:2 a, f:3: document 2 b, f:4: document 3 c"},
		{"JSON, then YAML", "{\"k\": \"a\"}\n---\nk: b\n", "f:1 a, f:3: document 2 b"},
		{"flow style", "{k: a}\n---\n{k: b}\n", "f:1 a, f:3: document 2 b"},
		{"list", "k: l\nkind: List\nitems: [{k: a}]\n", "f:1 l"},
	} {
		docs, warnings, err := manifest.Stream("f", []byte(tt.text))
		var parts []string
		for _, d := range docs {
			parts = append(parts, d.Document()+" "+manifest.String(d.Object, "k"))
		}
		all := []string{strings.Join(parts, ", ")}
		for _, w := range warnings {
			all = append(all, w.Error())
		}
		if err != nil {
			all = append(all, err.Error())
		}
		if diff := cmp.Diff(tt.want, strings.TrimPrefix(strings.Join(all, "; "), "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// FuzzStream: nothing panics, and positions are in the text and in order.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"a: b\n---\nc: d\n", "{\"a\": 1}{\"b\": 2}\n---\nx: y", "---\n---\n...\na: b\n...\nc", "%YAML 1.1\n---\n",
		"\xef\xbb\xbf{a: b}", "a: &a [*a]\n", "{} x",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, _, _ := manifest.Stream("f", data)
		line := 1
		for i, d := range docs {
			if d.Line < line || d.Line > strings.Count(string(data), "\n")+1 || d.Number != i+1 {
				t.Errorf("document %d is at %+v", i, d.Position)
			}
			line = d.Line
		}
	})
}
