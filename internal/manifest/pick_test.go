package manifest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
)

var some = manifest.Fields{"metadata": {"name": nil}, "spec": {"on": nil, "tags": nil, "sources": {"url": nil}, "policy": {"heal": nil}}}

func TestPick(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want manifest.Object
	}{
		"fields": {
			`{"kind": "X", "metadata": {"labels": {"a": "b"}, "name": "x"}, "spec": {"on": true, "tags": ["a", "b"], "policy": {}}}`,
			manifest.Object{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{
				"on": true, "tags": []any{"a", "b"},
				"policy": map[string]any{},
			}},
		},
		"elements": {
			`{"spec": {"sources": [{"url": "u", "helm": {"parameters": [{"name": ""}]}}, {}, 1, [[]], null]}}`,
			manifest.Object{"spec": map[string]any{"sources": []any{map[string]any{"url": "u"}, map[string]any{}, nil, nil, nil}}},
		},
		"other types": {
			`{"metadata": "text", "spec": {"on": {"a": [1]}, "tags": "a", "policy": null}}`,
			manifest.Object{"spec": map[string]any{"tags": "a"}},
		},
		"last wins": {`{"metadata": {"name": "x"}, "metadata": {"name": "y"}}`, manifest.Object{"metadata": map[string]any{"name": "y"}}},
	} {
		got, err := manifest.Pick([]byte(tt.in), some, 1<<10)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	for _, in := range []string{"", "[]", "1", `{"metadata": {`, `{"metadata": {"name": "x"]}`} {
		if o, err := manifest.Pick([]byte(in), some, 1<<10); err == nil {
			t.Errorf("%q: %v", in, o)
		}
	}
}

// TestPickLimit: what is not wanted costs nothing, however much it is, and what is wanted has a limit, which small values reach, too.
func TestPickLimit(t *testing.T) {
	large := `{"metadata": {"name": "x"}, "spec": {"helm": [` + strings.Repeat(`{"name": ""},`, 100_000) + `1], "on": true}}`
	if o, err := manifest.Pick([]byte(large), some, 1<<10); err != nil || manifest.String(o, "metadata", "name") != "x" ||
		manifest.Map(o, "spec")["on"] != true {
		t.Errorf("%v, %v", o, err)
	}
	allocated := testing.AllocsPerRun(2, func() { _, _ = manifest.Pick([]byte(large), some, 1<<10) })
	if allocated > 1000 {
		t.Errorf("%.0f allocations for what is skipped", allocated)
	}
	for name, in := range map[string]string{
		"text": `"on": "` + strings.Repeat("x", 1<<10) + `"`, "elements": `"sources": [` + strings.Repeat(`{},`, 100) + `{}]`,
		"numbers": `"tags": [` + strings.Repeat(`1,`, 100) + `1]`,
		"again":   strings.Repeat(`"policy": {},`, 100) + `"on": true`,
	} {
		o, err := manifest.Pick([]byte(`{"metadata": {"name": "x"}, "spec": {`+in+`}}`), some, 1<<10)
		var over *manifest.PickError
		if !errors.As(err, &over) || err.Error() != "its needed fields have more than 1 KiB" ||
			manifest.String(o, "metadata", "name") != "x" {
			t.Errorf("%s: %v, %v", name, o, err)
		}
	}
	if o, err := manifest.Pick([]byte(large[:1000]), some, 1<<10); err == nil || manifest.String(o, "metadata", "name") != "x" {
		t.Errorf("of a beginning: %v, %v", o, err)
	}
}

// pickWhole is Pick of an object that is decoded.
func pickWhole(v any, want manifest.Fields, inList bool) any {
	switch v := v.(type) {
	case []any:
		if inList {
			return nil
		}
		out := []any{}
		for _, e := range v {
			out = append(out, pickWhole(e, want, true))
		}
		return out
	case map[string]any:
		if want == nil {
			return nil
		}
		out := map[string]any{}
		for key, inner := range want {
			if picked := pickWhole(v[key], inner, false); picked != nil {
				out[key] = picked
			}
		}
		return out
	case nil:
		return nil
	}
	if want != nil {
		return nil
	}
	return v
}

// keys counts the keys of all objects in a value.
func keys(v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += keys(e)
		}
	case map[string]any:
		n = len(v)
		for _, e := range v {
			n += keys(e)
		}
	}
	return n
}

// FuzzPick: fields are those that the whole decoder has.
func FuzzPick(f *testing.F) {
	f.Add([]byte(`{"metadata": {"name": "x"}, "spec": {"sources": [{"url": "u"}, 1], "tags": [1, "a", null], "policy": {"heal": false}}}`))
	f.Add([]byte(`{"spec": {"sources": [[{"url": "u"}]]}}`))
	f.Add([]byte(`{"spec": {"on": "a\\u00e9\\"\\\\", "tags": [-1.5e3, "\xff", true, [], {}], "other": {"a": ["]", {"}": null}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := manifest.Pick(data, some, 1<<20)
		var whole manifest.Object
		if json.Unmarshal(data, &whole) != nil || whole == nil {
			return
		}
		// Keys that are there twice are not compared: the decoder forgets the first.
		dec, colons := json.NewDecoder(bytes.NewReader(data)), 0
		for {
			if _, err := dec.Token(); err != nil {
				break
			}
			if rest := data[dec.InputOffset():]; bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":")) {
				colons++
			}
		}
		if colons != keys(whole) {
			return
		}
		if diff := cmp.Diff(pickWhole(whole, some, false), any(got)); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}
