package manifest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestDecode(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []Document
	}{
		"empty":         {"", nil},
		"comments only": {"# a\n---\n# b\n", nil},
		"two documents with lines": {"a: 1\n---\n\nb: yes\n", []Document{
			{Object{"a": int64(1)}, Position{File: "f", Line: 1, Number: 1}},
			{Object{"b": true}, Position{File: "f", Line: 4, Number: 2}},
		}},
		"content on the marker line": {"--- {a: 1.5}\n...\n", []Document{{Object{"a": 1.5}, Position{File: "f", Line: 1, Number: 1}}}},
		"directive":                  {"%YAML 1.1\n---\na: b\n", []Document{{Object{"a": "b"}, Position{File: "f", Line: 3, Number: 1}}}},
		"byte order mark":            {"\xef\xbb\xbfa: b\n", []Document{{Object{"a": "b"}, Position{File: "f", Line: 1, Number: 1}}}},
		"JSON stream": {"{\"a\":1}\n{\"b\":[null,2.5]}\n", []Document{
			{Object{"a": int64(1)}, Position{File: "f", Line: 1, Number: 1}},
			{Object{"b": []any{nil, 2.5}}, Position{File: "f", Line: 2, Number: 2}},
		}},
		"list": {"kind: List\nitems: [{kind: A}, {kind: BList, items: [{kind: B}]}]\n", []Document{
			{Object{"kind": "A"}, Position{File: "f", Line: 1, Number: 1, Item: "items[0]"}},
			{Object{"kind": "B"}, Position{File: "f", Line: 1, Number: 1, Item: "items[1] items[0]"}},
		}},
		"marker-like text in a scalar": {"a: |\n  ---\n  b\n", []Document{{
			Object{"a": "---\nb\n"},
			Position{File: "f", Line: 1, Number: 1},
		}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Decode("f", []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := map[string]struct{ in, want string }{
		"syntax, line of the file": {"a: 1\n---\nb: 1\nc: [\n", "f:4: document 2: "},
		"duplicate key":            {"a: 1\n---\nb: 1\nb: 2\n", `f:4: document 2: key "b" already set in map`},
		"duplicate key in JSON":    {`{"a":1,"a":2}`, `key "a" already set`},
		"not an object":            {"- a\n", "f:1: the document must be an object, it is a list"},
		"list of scalars":          {"kind: List\nitems: [3]\n", "f:1 items[0]: must be an object, it is a number"},
		"too large":                {strings.Repeat("#", MaxBytes+1), "over the limit"},
		"alias bomb": {"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n" +
			"g: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "excessive aliasing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Decode("f", []byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestAppendYAML(t *testing.T) {
	in := Object{
		"list":  []any{"a", []any{int64(1), []any{}}, map[string]any{"x": int64(1), "y": map[string]any{"z": nil}}},
		"multi": "first\n  second\n\nthird\n", "nonl": "a\nb", "keep": "a\n\n",
		"quoted": []any{"yes", "1", "1.5", "0x1f", "2001-01-01", "1:30", "", " a", "a ", "a: b", "a #b", "- a", "~", "{{.x}}", "\u2028"},
		"plain":  []any{"1password-connect", "https://a.b/c.git", "a b", "v1.2.3-rc", "in-cluster", "a/*", "/x"},
		"float":  1e21, "empty": map[string]any{}, "bool": true,
	}
	want := `bool: true
empty: {}
float: 1.0e+21
keep: |+
  a

list:
- a
- - 1
  - []
- x: 1
  "y":
    z: null
multi: |
  first
    second

  third
nonl: |-
  a
  b
plain:
- 1password-connect
- https://a.b/c.git
- a b
- v1.2.3-rc
- in-cluster
- a/*
- /x
quoted:
- "yes"
- "1"
- "1.5"
- "0x1f"
- "2001-01-01"
- "1:30"
- ""
- " a"
- "a "
- "a: b"
- "a #b"
- "- a"
- "~"
- "{{.x}}"
- "\u2028"
`
	if diff := cmp.Diff(want, string(AppendYAML(nil, in))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzString holds the encoder to its promise for the hard part, strings: what it writes is read back unchanged by
// the YAML 1.1 parser that Kubernetes uses, wherever the string stands.
func FuzzString(f *testing.F) {
	for _, s := range []string{
		"", "a", "yes", "NO", "null", "~", "0", "01", "0o7", "0b1", "1e3", "1_000", ".5", "+.inf", "-", "--", "---", "a: b", "a:b",
		"a #b", "#a", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a", "[a", "{a", "'a'", "\"a\"", "a\nb", "a\n", "\na", " a\nb", "a\n b\n\n",
		"a\n\tb", "a \nb", "\t", "\x00", "\x7f", "\u0085", "\ufeff", "\U0001f600", "=", "<<", "2001-12-14t21:59:43.10-05:00", "1:30:00",
		"?", "? a",
		strings.Repeat("k", 2000), strings.Repeat("\x01", 171), strings.Repeat("\x01", 170), strings.Repeat("k", 1022),
		strings.Repeat("k", 1023), "a\r\nb", "x:", ":x", "a,b", "$x", "(a)", "12e03", "0x_f", "a  b", "...", "...\na",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\ufffd")
		in := Object{"k": s, "list": []any{s, map[string]any{"deep": s}}, "key": map[string]any{s: "v"}}
		out := AppendYAML(nil, in)
		var got map[string]any
		if err := yaml.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		if diff := cmp.Diff(in, got); diff != "" {
			t.Errorf("(-want +got):\n%s\nfrom\n%s", diff, out)
		}
	})
}

// FuzzDecode checks that nothing panics, and that what was decoded survives encoding.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a: 1\n---\nkind: List\nitems: [{}]\n"))
	f.Add([]byte(`{"a":1}{"b":[1e400,-0,18446744073709551615]}`))
	f.Add([]byte("a: 2001-01-01\n? b\n: c\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := Decode("f", data)
		if err != nil {
			return
		}
		var buf bytes.Buffer
		var objects []Object
		for _, d := range docs {
			objects = append(objects, d.Object)
		}
		if err := WriteYAML(&buf, objects...); err != nil {
			t.Fatal(err)
		}
		again, err := Decode("f", buf.Bytes())
		if err != nil {
			t.Fatalf("%v in\n%s", err, buf.Bytes())
		}
		var got []Object
		for _, d := range again {
			got = append(got, d.Object)
		}
		if diff := cmp.Diff(objects, got); diff != "" {
			t.Errorf("(-want +got):\n%s\nfrom\n%s", diff, buf.Bytes())
		}
	})
}

// TestMade: what is made of a file says so in its name, in positions and in errors.
func TestMade(t *testing.T) {
	at := Position{File: "a.yaml", Made: Rendered}
	docs, _, err := at.Stream([]byte("a: b\n---\nc: d\n"))
	if err != nil || len(docs) != 2 || docs[1].String() != "a.yaml (rendered):3" || docs[1].File != "a.yaml" || docs[1].Made != Rendered {
		t.Errorf("%v, %v", docs, err)
	}
	docs, err = at.Decode([]byte("items: [{a: b}]\nkind: List\n"))
	if err != nil || len(docs) != 1 || docs[0].String() != "a.yaml (rendered):1 items[0]" {
		t.Errorf("%v, %v", docs, err)
	}
	for _, text := range []string{"a: b: c\n", "[]\n", "{"} {
		_, _, loose := at.Stream([]byte(text))
		_, strict := at.Decode([]byte(text))
		for _, err := range []error{loose, strict} {
			p, ok := PositionOf(err)
			if !ok || p.File != "a.yaml" || p.Made != Rendered || !strings.HasPrefix(err.Error(), "a.yaml (rendered):") {
				t.Errorf("%q: %+v, %v", text, p, err)
			}
		}
	}
	if name := (Position{File: "a.yaml"}).Name(); name != "a.yaml" {
		t.Error(name)
	}
}
