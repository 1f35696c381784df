package manifest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// TestValues: how scalars are read: by YAML 1.1, and with numbers that lose nothing.
func TestValues(t *testing.T) {
	for text, want := range map[string]any{
		"": nil, "~": nil, "yes": true, "off": false, `"yes"`: "yes", "y": true, "012": int64(10), "0x1f": int64(31), "1_000": int64(1000),
		"-9223372036854775808": int64(math.MinInt64),
		"9223372036854775808":  json.Number("9223372036854775808"), "18446744073709551615": json.Number("18446744073709551615"), "1.5": 1.5,
		"1e3": int64(1000), "1e21": 1e21, "2001-01-01": "2001-01-01",
		"[1, a]": []any{int64(1), "a"}, "{1: a, true: b}": map[string]any{"1": "a", "true": "b"},
		"a: &a [1]\nb: *a": map[string]any{"a": []any{int64(1)}, "b": []any{int64(1)}},
		"a: &a {x: 1}\nb: {<<: *a, z: 2}": map[string]any{
			"a": map[string]any{"x": int64(1)},
			"b": map[string]any{"x": int64(1), "z": int64(2)},
		},
	} {
		got, err := manifest.Value([]byte(text))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
}

// TestReaders: what each way to read one value does with what is doubtful.
func TestReaders(t *testing.T) {
	readers := map[string]func(text string) (any, error){
		"Value":      func(text string) (any, error) { return manifest.Value([]byte(text)) },
		"LooseValue": func(text string) (any, error) { return manifest.LooseValue([]byte(text)) },
		"JSON":       func(text string) (any, error) { return manifest.JSON([]byte(text)) },
		"Unmarshal": func(text string) (any, error) {
			var v any
			return v, errors.Join(manifest.Unmarshal([]byte(text), &v), nil)
		},
	}
	for _, tt := range []struct {
		text string
		want map[string]string // the value as JSON, or an error
	}{
		{`{"a": 1, "a": 2}`, map[string]string{
			"Value": `error: line 1: key "a" already set in map`, "LooseValue": `{"a":2}`,
			"JSON": `{"a":2}`, "Unmarshal": `{"a":2}`,
		}},
		{`{"a": 1} {"b": 2}`, map[string]string{
			"Value": `{"a":1}`, "LooseValue": `{"a":1}`, "JSON": "error: more data after the value",
			"Unmarshal": `{"a":1}`,
		}},
		{"a: b", map[string]string{
			"Value": `{"a":"b"}`, "LooseValue": `{"a":"b"}`,
			"JSON": "error: invalid character 'a' looking for beginning of value", "Unmarshal": `{"a":"b"}`,
		}},
		{"a: 12345678901234567890", map[string]string{
			"Value": `{"a":12345678901234567890}`, "LooseValue": `{"a":12345678901234567890}`,
			"Unmarshal": `{"a":12345678901234567000}`,
		}},
		{
			"a: " + strings.Repeat("[", 300) + strings.Repeat("]", 300),
			map[string]string{
				"Value":      "error: values are nested deeper than 200",
				"LooseValue": "error: values are nested deeper than 200",
			},
		},
		{strings.Repeat(" ", manifest.MaxBytes+1), map[string]string{
			"Value": "limit", "LooseValue": "limit", "JSON": "limit",
			"Unmarshal": "limit",
		}},
	} {
		for name, want := range tt.want {
			v, err := readers[name](tt.text)
			data, _ := json.Marshal(v)
			got := string(data)
			switch {
			case err != nil && strings.Contains(err.Error(), "is over the limit of"):
				got = "limit"
			case err != nil:
				got = "error: " + err.Error()
			}
			if got != want {
				t.Errorf("%s of %.40q: %s, want %s", name, tt.text, got, want)
			}
		}
	}
	var number struct{ A int }
	if err := manifest.Unmarshal([]byte("a: x"), &number); err == nil || !strings.HasPrefix(err.Error(), "cannot unmarshal string") {
		t.Errorf("%v", err)
	}
	if err := manifest.UnmarshalPlain([]byte("a: ["), &number); err == nil || !strings.Contains(err.Error(), "yaml: ") {
		t.Errorf("%v", err)
	}
}

// TestDecodeLoose: by the rules of Stream, with lists replaced, and nothing of an input with an error.
func TestDecodeLoose(t *testing.T) {
	docs, warnings, err := manifest.DecodeLoose("f", []byte("kind: List\nitems: [{k: a}, {k: b}]\n---\nk: c\nk: d\n"))
	var got []string
	for _, d := range docs {
		got = append(got, d.String()+" "+manifest.String(d.Object, "k"))
	}
	if diff := cmp.Diff([]string{"f:1 items[0] a", "f:1 items[1] b", "f:4 d"}, got); diff != "" || err != nil || len(warnings) != 1 {
		t.Error(diff, warnings, err)
	}
	docs, warnings, err = manifest.DecodeLoose("f", []byte("k: a\nk: b\n---\n[\n"))
	if docs != nil || len(warnings) != 1 || err == nil {
		t.Error(docs, warnings, err)
	}
	if err := manifest.Located("values.yaml", errors.New("line 3: bad")); err.Error() != "values.yaml:3: bad" {
		t.Error(err)
	}
	if err := manifest.Located("values.yaml", errors.New("bad")); err.Error() != "values.yaml: bad" {
		t.Error(err)
	}
}

// TestFind: paths that lead nowhere are nothing, and no panic.
func TestFind(t *testing.T) {
	o := manifest.Object{"apiVersion": "apps/v1", "spec": map[string]any{"name": "a", "number": int64(1), "list": []any{}}}
	for want, path := range map[string][]string{"a": {"spec", "name"}, "apps/v1": {"apiVersion"}} {
		if got := manifest.String(o, path...); got != want {
			t.Errorf("%v: %q", path, got)
		}
	}
	for _, path := range [][]string{
		nil,
		{"spec"},
		{"spec", "number"},
		{"spec", "list"},
		{"spec", "list", "x"},
		{"spec", "name", "x"},
		{"status", "phase"},
	} {
		if got := manifest.String(o, path...); got != "" {
			t.Errorf("%v: %q", path, got)
		}
	}
	if manifest.Map(o, "spec", "name") != nil || manifest.Map(o, "spec")["name"] != "a" || len(manifest.Map(o)) != 2 ||
		manifest.Map(nil, "x") != nil {
		t.Error("Map")
	}
	for text, want := range map[string]string{"apps/v1": "apps", "v1": "", "": "", "/v1": ""} {
		if got := manifest.Group(manifest.Object{"apiVersion": text}); got != want {
			t.Errorf("group of %q: %q", text, got)
		}
	}
	for want, v := range map[string]any{
		"null": nil, "a string": "", "a boolean": true, "a number": json.Number("1"), "a list": []any{}, "an object": map[string]any{},
		"a int": 1,
	} {
		if got := manifest.TypeName(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// TestCopy: no change of a copy is one of the original.
func TestCopy(t *testing.T) {
	of := func() any {
		return map[string]any{"a": []any{map[string]any{"b": "c"}, int64(1)}, "n": nil}
	}
	original := of()
	c := manifest.Copy(original).(map[string]any)
	if diff := cmp.Diff(original, c); diff != "" {
		t.Fatal(diff)
	}
	c["a"].([]any)[0].(map[string]any)["b"] = "changed"
	c["a"].([]any)[1] = "changed"
	c["new"] = true
	if diff := cmp.Diff(of(), original); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "n", "new"}, manifest.Keys(c)); diff != "" {
		t.Error(diff)
	}
}

// TestWrite: bytes that are written, and writers that fail.
func TestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := errors.Join(manifest.WriteYAML(&b, manifest.Object{"b": "x"}, manifest.Object{}),
		manifest.WriteJSON(&b, map[string]any{"b": "<a&b>", "a": []string{"x"}})); err != nil {
		t.Error(err)
	}
	want := "---\nb: x\n---\n{}\n{\n  \"a\": [\n    \"x\"\n  ],\n  \"b\": \"<a&b>\"\n}\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := manifest.WriteJSON(&b, func() {}); err == nil || b.Len() > 0 {
		t.Errorf("%v, %q", err, b.String())
	}
	for _, err := range []error{manifest.WriteYAML(full{}, manifest.Object{}), manifest.WriteJSON(full{}, 1)} {
		if !errors.Is(err, errFull) {
			t.Error(err)
		}
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestAppendOthers: values that no decoder returns are written, too.
func TestAppendOthers(t *testing.T) {
	for want, v := range map[string]any{
		"null\n": math.NaN(), "text\n": "text", "{}\n": map[string]any{}, "[]\n": []any{}, "- 1\n": []any{1},
		"12345678901234567890\n": json.Number("12345678901234567890"),
		"a: [\"x\",\"y\"]\n":     map[string]any{"a": []string{"x", "y"}}, "a: null\n": map[string]any{"a": func() {}}, "1.0e+21\n": 1e21,
		"5\n": 5.0,
	} {
		if got := string(manifest.AppendYAML(nil, v)); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	// Indentation is not bounded by the table of spaces.
	var deep any = "x"
	for range 50 {
		deep = map[string]any{"a": deep}
	}
	got, err := manifest.Value(manifest.AppendYAML(nil, deep))
	if diff := cmp.Diff(deep, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, v := range []any{deep, []any{"a", map[string]any{"b": []any{int64(1), "text"}}}} {
		if size, written := manifest.Size(v), len(manifest.AppendYAML(nil, v)); size < written {
			t.Errorf("%d bytes are expected, %d written", size, written)
		}
	}
}

func TestLists(t *testing.T) {
	list := []any{map[string]any{"a": "b"}, "c", nil, int64(1), "d"}
	if diff := cmp.Diff([]map[string]any{{"a": "b"}}, manifest.Maps(list)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"c", "d"}, manifest.Strings(list)); diff != "" {
		t.Error(diff)
	}
	if len(manifest.Maps("x")) != 0 || len(manifest.Strings(nil)) != 0 {
		t.Error("what is no list has nothing")
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    any
		want int64
		ok   bool
	}{{int64(3), 3, true}, {3.0, 3, true}, {3, 3, true}, {"3", 0, false}, {nil, 0, false}, {true, 0, false}} {
		if got, ok := manifest.Number(c.v); got != c.want || ok != c.ok {
			t.Errorf("%#v: got %d, %t", c.v, got, ok)
		}
	}
}

func TestCondition(t *testing.T) {
	o := manifest.Object{"status": map[string]any{"conditions": []any{nil, "x", map[string]any{"type": "Ready", "status": "True"}}}}
	if got := manifest.Condition(o, "Ready"); manifest.String(got, "status") != "True" {
		t.Errorf("got %v", got)
	}
	for _, o := range []manifest.Object{nil, {}, {"status": map[string]any{"conditions": "x"}}, o} {
		if got := manifest.Condition(o, "Synced"); got != nil {
			t.Errorf("%v: got %v", o, got)
		}
	}
}
