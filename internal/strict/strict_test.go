package strict

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type part struct {
	Name string   `field:"name,required" doc:"a name"`
	Tags []string `field:"tags"`
}

type common struct {
	Color string `field:"color" enum:"red|green"`
	Deep  *bool  `field:"deep"`
}

type file struct {
	common
	Count  int64          `field:"count"`
	Parts  []part         `field:"parts"`
	Main   *part          `field:"main"`
	Values map[string]any `field:"values"`
	Any    any            `field:"any"`
}

func TestDecode(t *testing.T) {
	var got file
	doc, err := Decode("f.yaml", []byte(`# a comment
color: red
deep: false
count: 12
parts:
  - name: &n "yes"
    tags: [no, on, "1"]
main: {name: *n}
values: {a: 1, b: [1.5, true, null, 2001-01-01], yes: off}
any: text
`), &got)
	if err != nil {
		t.Fatal(err)
	}
	no := false
	want := file{
		common: common{Color: "red", Deep: &no}, Count: 12,
		Parts:  []part{{Name: "yes", Tags: []string{"no", "on", "1"}}},
		Main:   &part{Name: "yes"},
		Values: map[string]any{"a": int64(1), "b": []any{1.5, true, nil, "2001-01-01"}, "yes": "off"},
		Any:    "text",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(file{}, common{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := doc.Errorf("parts[0].tags[2]", "is odd"); err.Error() != `f.yaml:7:20: is odd` {
		t.Error(err)
	}
	if err := doc.Errorf("parts[0].missing", "is missing"); err.Error() != `f.yaml:6:5: is missing` {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"all together": {
			"colr: red\ncount: many\ncount: 2\nparts: [{}]\ndeep: 1\n",
			`f.yaml:1:1: unknown field "colr"; did you mean "color"?
f.yaml:2:8: count must be a whole number, it is a string
f.yaml:3:1: count is given twice, first in line 2
f.yaml:4:9: parts[0].name must be set
f.yaml:5:7: deep must be true or false, it is a number`,
		},
		"number for a string":  {"color: 1.10\n", `f.yaml:1:8: color must be a string, it is a number; write "1.10"`},
		"bool for a string":    {"color: true\n", `f.yaml:1:8: color must be a string, it is a boolean; write "true"`},
		"nothing for a string": {"color:\n", "f.yaml:1:7: color must be a string, it is empty"},
		"enum":                 {"color: blue\n", `f.yaml:1:8: color must be one of red, green, it is "blue"`},
		"list for an object":   {"main: [a]\n", "f.yaml:1:7: main must be an object, it is a list"},
		"object for a list":    {"parts: {}\n", "f.yaml:1:8: parts must be a list, it is an object"},
		"text for values":      {"values: text\n", "f.yaml:1:9: values must be an object, it is a string"},
		"root":                 {"- a\n", "f.yaml:1:1: the file must be an object, it is a list"},
		"empty":                {"# nothing\n", "f.yaml: the file is empty"},
		"two documents":        {"color: red\n---\ncolor: green\n", "f.yaml:2:1: there must be one document only"},
		"syntax":               {"color: red\n  deep: true\n", "f.yaml:2: mapping values are not allowed in this context"},
		"merge key":            {"<<: {color: red}\n", `f.yaml:1:1: unknown field "<<"`},
		"twice in values":      {"values: {a: {b: 1, b: 2}}\n", "f.yaml:1:20: values.a.b is given twice"},
		"tagged bool":          {"deep: !!bool maybe\n", `f.yaml:1:7: deep must be true or false, it is "maybe"`},
		"tagged name":          {"!!binary color: red\n", "f.yaml:1:1: the name of a field must be plain text"},
		"date":                 {"color: 2024-01-01\n", `f.yaml:1:8: color must be a string, it is a date; write "2024-01-01"`},
		"large number": {
			"any: 9223372036854775808\n",
			"f.yaml:1:6: any: 9223372036854775808 is not a number that JSON and 64 bits can hold; write it as a string",
		},
		"not a number": {
			"values: {a: .nan}\n",
			"f.yaml:1:13: values.a: .nan is not a number that JSON and 64 bits can hold; write it as a string",
		},
		"recursive alias": {"any: &a [*a]\n", "f.yaml:1:10: values are nested deeper than 64"},
		"too large":       {strings.Repeat("#", MaxBytes+1), "f.yaml: 1048577 bytes is over the limit of 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode("f.yaml", []byte(c.in), new(file))
			if err == nil || err.Error() != c.want {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

// TestAliases checks that a small file does not become a large one.
func TestAliases(t *testing.T) {
	in := "any:\n  - &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		in += "  - &" + string(rune('b'+i)) + " [" + strings.Repeat("*"+string(rune('a'+i))+",", 10) + "]\n"
	}
	_, err := Decode("f.yaml", []byte(in), new(file))
	if err == nil || !strings.Contains(err.Error(), "more than 100000 values") {
		t.Error(err)
	}
}

func TestSchema(t *testing.T) {
	got := Schema("id", "title", part{})
	want := map[string]any{
		"$schema": "http://json-schema.org/draft-07/schema#", "$id": "id", "title": "title",
		"type": "object", "additionalProperties": false, "required": []any{"name"},
		"properties": map[string]any{
			"name": map[string]any{"type": "string", "description": "a name"},
			"tags": map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("color: red\nparts:\n- {name: a, tags: [b]}\nvalues: {a: [1, 2.5, ~]}\n"))
	f.Add([]byte("any: &a {b: *a}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v file
		doc, err := Decode("f.yaml", data, &v)
		if err == nil && doc.Errorf("count", "x") == nil {
			t.Error("no error")
		}
		if err != nil && !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("no position: %v", err)
		}
	})
}
