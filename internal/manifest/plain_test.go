package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// FuzzPlain: what Plain gives is what JSON would.
func FuzzPlain(f *testing.F) {
	for text, plain := range map[string]bool{
		"a: 1\nb: [x, null, true, -5, 0x1f]\nc: {d: {}, e: []}\n": true,
		"text: \"<&>\\u2028 \\U0001F600\"\n":                      true,
		"a: 9223372036854775807\n":                                true,
		"a: 1.5\n":                                                false,
		"a: 9223372036854775808\n":                                false,
		"a: 2026-01-01\n":                                         false,
		"a: !!binary gIE=\n":                                      false,
		"a: {1: x}\n":                                             false,
		"a: .nan\n":                                               false,
		"a: " + strings.Repeat("x", 2<<20):                        false,
		"a: " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000): false,
	} {
		f.Add(text)
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			f.Fatal(err)
		}
		if _, ok := manifest.Plain(v); ok != plain {
			f.Errorf("%.60q: %t", text, ok)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v, again any
		if yaml.Unmarshal([]byte(text), &v) != nil {
			return
		}
		data, err := json.Marshal(v)
		got, ok := manifest.Plain(v)
		if !ok {
			return
		}
		if err == nil {
			again, err = manifest.JSON(data)
		}
		if err != nil {
			t.Fatalf("JSON refuses it: %v", err)
		}
		if diff := cmp.Diff(again, got); diff != "" {
			t.Errorf("(-JSON +plain)\n%s", diff)
		}
	})
}
