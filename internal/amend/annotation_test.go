package amend

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
)

func first(key, value string) Annotation {
	return Annotation{At: manifest.Position{File: "f.yaml", Number: 1}, Key: key, Value: value}
}

// TestApply edits texts. In each of them the annotation is "k: ." afterwards.
func TestApply(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"first of a block": {
			"metadata:\n  name: a\n  annotations:\n    # why\n    b: c # d\n",
			"metadata:\n  name: a\n  annotations:\n    k: .\n    # why\n    b: c # d\n",
		},
		"there, plain": {
			"metadata:\n  annotations:\n    k: /x # y\n    b: c\n",
			"metadata:\n  annotations:\n    k: . # y\n    b: c\n",
		},
		"there, in quotes":        {"metadata:\n  annotations:\n    \"k\": \"/\\\"x\"\n", "metadata:\n  annotations:\n    \"k\": \".\"\n"},
		"there, in single quotes": {"metadata:\n  annotations:\n    k: 'it''s'\n", "metadata:\n  annotations:\n    k: '.'\n"},
		"there, empty":            {"metadata:\n  annotations:\n    k:\n    b: c\n", "metadata:\n  annotations:\n    k: .\n    b: c\n"},
		"there, empty text":       {"metadata:\n  annotations:\n    k: \"\"\n", "metadata:\n  annotations:\n    k: \".\"\n"},
		"there, null":             {"metadata: {annotations: {k: ~, b: c}}\n", "metadata: {annotations: {k: ., b: c}}\n"},
		"there already":           {"metadata:\n  annotations: {k:  '.'}\n", "metadata:\n  annotations: {k:  '.'}\n"},
		"no annotations": {
			"metadata:\n    name: a # b\n    labels: {}\nspec: {}\n",
			"metadata:\n    name: a # b\n    annotations:\n        k: .\n    labels: {}\nspec: {}\n",
		},
		"behind the namespace": {
			"metadata:\n  name: a\n  # where\n  namespace: b\nspec: {}\n",
			"metadata:\n  name: a\n  # where\n  namespace: b\n  annotations:\n    k: .\nspec: {}\n",
		},
		"no end of the line": {"spec: {}\nmetadata:\n  name: a", "spec: {}\nmetadata:\n  name: a\n  annotations:\n    k: ."},
		"null": {
			"metadata:\n  annotations: # none\n  name: a\n",
			"metadata:\n  annotations: # none\n    k: .\n  name: a\n",
		},
		"null, written": {
			"metadata:\n  annotations: ~ # none\n  name: a\n",
			"metadata:\n  annotations: # none\n    k: .\n  name: a\n",
		},
		"null at the end": {"metadata:\n  name: a\n  annotations:", "metadata:\n  name: a\n  annotations:\n    k: ."},
		"braces":          {"metadata:\n  name: a\n  annotations: {}\n", "metadata:\n  name: a\n  annotations:\n    k: .\n"},
		"wide braces":     {"metadata:\n  name: a\n  annotations: { }\n", "metadata:\n  name: a\n  annotations: {k: . }\n"},
		"flow":            {"metadata: {name: a, annotations: {b: c}}\n", "metadata: {name: a, annotations: {k: ., b: c}}\n"},
		"flow without": {
			"metadata: {name: a, namespace: 'b', labels: {}}\n",
			"metadata: {name: a, namespace: 'b', annotations: {k: .}, labels: {}}\n",
		},
		"flow with null":   {"metadata: {annotations: , name: a}\n", "metadata: {annotations: {k: .} , name: a}\n"},
		"flow with braces": {"metadata: {annotations: {}, name: a}\n", "metadata: {annotations: {k: .}, name: a}\n"},
		"JSON": {
			`{"metadata": {"name": "a", "annotations": {"b": "c"}}}`,
			`{"metadata": {"name": "a", "annotations": {"k": ".", "b": "c"}}}`,
		},
		"JSON, null":   {`{"metadata":{"annotations":{"k":null}}}`, `{"metadata":{"annotations":{"k":"."}}}`},
		"JSON, number": {`{"metadata":{"annotations":{"k":4}}}`, `{"metadata":{"annotations":{"k":"."}}}`},
		"JSON, no annotations": {
			"{\n\t\"metadata\": {\n\t\t\"name\": \"a\"\n\t}\n}\n",
			"{\n\t\"metadata\": {\n\t\t\"name\": \"a\",\n\t\t\"annotations\": {\n\t\t\t\"k\": \".\"\n\t\t}\n\t}\n}\n",
		},
		"JSON on lines": {
			"{\n  \"metadata\": {\n    \"annotations\": {\n      \"b\": \"c\"\n    }\n  }\n}\n",
			"{\n  \"metadata\": {\n    \"annotations\": {\n      \"k\": \".\",\n      \"b\": \"c\"\n    }\n  }\n}\n",
		},
		"line ends of DOS": {
			"metadata:\r\n  name: a\r\nspec: {}\r\n",
			"metadata:\r\n  name: a\r\n  annotations:\r\n    k: .\r\nspec: {}\r\n",
		},
		"a byte order mark": {"\uFEFFmetadata: {name: ä}\n", "\uFEFFmetadata: {name: ä, annotations: {k: .}}\n"},
		"markers": {
			"%YAML 1.1\n--- # one\nmetadata:\n  name: a\n...\n---\nmetadata:\n  name: b\n",
			"%YAML 1.1\n--- # one\nmetadata:\n  name: a\n  annotations:\n    k: .\n...\n---\nmetadata:\n  name: b\n",
		},
		"empty documents": {
			"---\n---\n# nothing\n---\nmetadata:\n  name: a\n",
			"---\n---\n# nothing\n---\nmetadata:\n  name: a\n  annotations:\n    k: .\n",
		},
		"anchors elsewhere": {
			"spec: &s {a: b}\nmetadata: &m\n  name: &n a\n  namespace: b\nstatus: *s\n",
			"spec: &s {a: b}\nmetadata: &m\n  name: &n a\n  namespace: b\n  annotations:\n    k: .\nstatus: *s\n",
		},
		"block scalars": {
			"metadata:\n  name: a\n  annotations:\n    b: |\n      k: x\n\n    c: >-\n      d\n",
			"metadata:\n  name: a\n  annotations:\n    k: .\n    b: |\n      k: x\n\n    c: >-\n      d\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := first("k", ".").Apply([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			again, err := first("k", ".").Apply(got)
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("again: %v\n%s", err, again)
			}
		})
	}
}

func TestOtherObjects(t *testing.T) {
	in := "metadata: {name: a}\n---\nkind: List\nitems:\n- metadata:\n    name: b\n-   metadata:\n        name: c\n"
	for _, c := range []struct {
		at   manifest.Position
		want string
	}{
		{manifest.Position{Number: 2, Item: "items[0]"}, strings.Replace(in, "name: b\n", "name: b\n    annotations:\n      k: \"4\"\n",
			1)},
		{manifest.Position{Number: 2, Item: "items[1]"}, strings.Replace(in, "name: c\n",
			"name: c\n        annotations:\n            k: \"4\"\n", 1)},
	} {
		got, err := Annotation{At: c.at, Key: "k", Value: "4"}.Apply([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"alias":       {"a: &a {b: c}\nmetadata: {annotations: *a}\n", "its annotations are an alias"},
		"anchor":      {"metadata: {annotations: &a {b: c}}\n", "its annotations have an anchor or a tag"},
		"merge key":   {"a: &a {b: c}\nmetadata: {annotations: {<<: *a}}\n", "its annotations have a merge key"},
		"alias above": {"a: &a {b: c}\nmetadata: *a\n", "its metadata is an alias"},
		"merged above": {
			"a: &a {annotations: {b: c}}\nmetadata: {<<: *a, name: d}\n",
			"the annotation cannot be added to this text without changing something else",
		},
		"used elsewhere": {
			"metadata: &m {name: a}\nspec: *m\n",
			"the annotation cannot be added to this text without changing something else",
		},
		"list": {"metadata: {annotations: [a]}\n", "its annotations are not an object"},
		"several lines": {
			"metadata: {annotations: {k: a\n b}}\n",
			"the value that it has now is an alias, has an anchor or a tag, or is written on several lines",
		},
		"block scalar": {
			"metadata:\n  annotations:\n    k: |\n      x\n",
			"the value that it has now is an alias, has an anchor or a tag, or is written on several lines",
		},
		"twice":       {"metadata: {annotations: {k: a, k: b}}\n", `f.yaml:1: key "k" already set in map`},
		"no object":   {"# nothing\n", "the object is not there"},
		"no metadata": {"spec: {}\n", "the object is not there"},
		"no name":     {"metadata: {labels: {}}\n", "it has no annotations yet, and its name is not written on one line"},
		"JSON values": {`{"metadata": {"name": "a"}} {"metadata": {"name": "b"}}`, "did not find expected <document start>"},
		"no YAML": {
			"metadata: {{ .Values }}\n",
			"f.yaml:1: invalid map key: map[interface {}]interface {}{\".Values\":interface {}(nil)}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := first("k", "4").Apply([]byte(c.in))
			want := c.want + `; write k: "4" into its annotations yourself`
			if err == nil || err.Error() != want {
				t.Errorf("got\n%v\nwant\n%s", err, want)
			}
		})
	}
}

func TestScalar(t *testing.T) {
	for in, want := range map[string]string{
		".": ".", ".;/a-b/c": ".;/a-b/c", "4": `"4"`, "yes": `"yes"`, "a b": `"a b"`, "/a,b": `"/a,b"`,
		"": `""`, ".5": `".5"`, "ü\n": `"ü\n"`,
	} {
		if got := scalar(in, plain); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// FuzzAnnotation checks that an edit changes one annotation and nothing else, wherever it is made.
func FuzzAnnotation(f *testing.F) {
	for _, in := range []string{
		"metadata:\n  name: a\n  annotations:\n    # c\n    k: 'x'\n", "metadata: {name: a, annotations: }\n---\na: b\n",
		"metadata:\r\n  name: &n \"a\"\r\nspec: *n\r\n",
		`{"metadata": {"name": "a"}}`, "\uFEFF--- {metadata: {annotations: {}}}\n...\n",
		"kind: List\nitems:\n- metadata:\n    name: a\n    annotations: ~ # x", "metadata:\n  ? annotations\n  : k: |\n     x\n",
		"metadata:\u2028  name: a", "? metadata\n: {name: a}\n",
	} {
		f.Add([]byte(in), "k", ".;/x")
	}
	f.Fuzz(func(t *testing.T, data []byte, key, value string) {
		docs, err := manifest.Decode("f.yaml", data)
		if err != nil {
			return
		}
		for _, d := range docs {
			e := Annotation{At: d.Position, Key: key, Value: value}
			after, err := e.Apply(data)
			if err != nil {
				continue
			}
			want, _ := manifest.Decode("f.yaml", data)
			for _, w := range want {
				if w.Number != d.Number || w.Item != d.Item {
					continue
				}
				meta := manifest.Map(w.Object, "metadata")
				if _, ok := meta["annotations"].(map[string]any); !ok {
					meta["annotations"] = map[string]any{}
				}
				manifest.Map(meta, "annotations")[key] = value
			}
			got, err := manifest.Decode("f.yaml", after)
			if err != nil || !same(want, got) {
				t.Fatalf("%v\n%q\n%q", err, data, after)
			}
			if again, err := e.Apply(after); err != nil || !bytes.Equal(again, after) {
				t.Fatalf("%v\n%q\n%q", err, after, again)
			}
		}
	})
}
