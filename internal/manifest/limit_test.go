package manifest_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// utf16Of is a text as the parser reads it, too.
func utf16Of(s string) string {
	b := []byte("\xff\xfe")
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// aliased is one large string and many aliases of it.
func aliased(size, count int) string {
	return "a: &a " + strings.Repeat("x", size) + "\nb: [" + strings.Repeat("*a,", count) + "]\n"
}

// deep is a flow of lists in each other, and text in it.
func deep(depth int, text string) string {
	return "a: " + strings.Repeat("[", depth) + text + strings.Repeat("]", depth) + "\n"
}

func TestHostile(t *testing.T) {
	rep := strings.Repeat
	large := rep("x", 100_000)
	for name, c := range map[string]struct {
		in   func() string
		want string
	}{
		"aliases of a large string": {func() string {
			return aliased(100_000, 100_000)
		}, "with its aliases replaced it is over the limit of 33554432 bytes"},
		"aliases after a BOM": {func() string { return "\uFEFF" + aliased(100_000, 10_000) }, "aliases replaced"},
		"aliases in UTF-16":   {func() string { return utf16Of(aliased(100_000, 10_000)) }, "aliases replaced"},
		"aliases behind a line break": {func() string {
			return "a: &a " + large + "\nb:\n" + rep("-\u2028 *a\n", 10_000)
		}, "aliases replaced"},
		"aliases as keys": {func() string {
			return "a: &a " + large + "\nb: [" + rep("{*a : 1},", 10_000) + "]\n"
		}, "aliases replaced"},
		"aliases in a second document": {func() string { return "a: b\n---\n" + aliased(100_000, 10_000) }, "aliases replaced"},
		"merged": {func() string {
			return "a: &a {b: " + large + "}\nc: [" + rep("{<<: *a},", 10_000) + "]\n"
		}, "aliases replaced"},
		"aliases that multiply":   {multiplied, "aliasing"},
		"an alias in a circle":    {func() string { return "a: &a [*a]\n" }, "contains itself"},
		"many values, block":      {func() string { return rep("-\n", 8_000_000) }, "it has more than 2000000 values"},
		"many values, flow":       {func() string { return "a: [" + rep("a,", 8_000_000) + "]" }, "more than 2000000 values"},
		"many values, objects":    {func() string { return "a: [" + rep("{a},", 4_000_000) + "]" }, "more than 2000000 values"},
		"many values, UTF-16":     {func() string { return utf16Of(rep("-\n", 4_000_000)) }, "more than 2000000 values"},
		"many values, JSON":       {func() string { return `{"a":[` + rep("0,", 8_000_000) + "0]}" }, "more than 2000000 values"},
		"many documents":          {func() string { return rep("---\na: 1\n", 1_800_000) }, "more than 2000000 values"},
		"many errors":             {func() string { return rep("---\n[\n", 600_000) }, "did not find expected node content"},
		"many equal keys":         {func() string { return rep("a:\n", 100_000) }, "already set in map"},
		"deep":                    {func() string { return deep(9_000, "a") }, "values are nested deeper than 200"},
		"too deep for the parser": {func() string { return deep(900_000, "a") }, "exceeded max depth"},
		"deep JSON": {func() string {
			return `{"a":` + rep("[", 900_000) + rep("]", 900_000) + "}"
		}, "exceeded max depth"},
		"indentation": {func() string {
			return deep(190, rep("a,", 200_000))
		}, "as YAML it is over the limit of 67108864 bytes"},
		"the most values": {func() string { return "- [" + rep("{a},", 490_000) + "]" }, "must be an object, it is a list"},
	} {
		t.Run(name, func(t *testing.T) {
			hostile.Refused(t, c.want, func() error {
				_, err := manifest.Decode("f.yaml", []byte(c.in()))
				if errs := problem.All(err); len(errs) > 0 && len(errs) <= 100 {
					return errs[0]
				}
				return err
			})
		})
	}
	t.Run("as Argo CD reads it", func(t *testing.T) {
		hostile.Refused(t, "aliases replaced", func() error {
			_, _, err := manifest.Stream("f.yaml", []byte(aliased(100_000, 100_000)))
			return err
		})
	})
	t.Run("data", func(t *testing.T) {
		hostile.Refused(t, "aliases replaced", func() error {
			var v map[string]any
			return manifest.Unmarshal([]byte(aliased(100_000, 100_000)), &v)
		})
	})
}

// multiplied is a document whose aliases stand for 9 to the power of 9 strings.
func multiplied() string {
	var b strings.Builder
	b.WriteString("a0: &a0 " + strings.Repeat("x", 1000) + "\n")
	for i := range 9 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9))
	}
	return b.String()
}

// TestLarge: what is large and honest is decoded.
func TestLarge(t *testing.T) {
	hostile.Unraced(t)
	var yaml, json strings.Builder
	json.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	for i := range 20_000 {
		fmt.Fprintf(&yaml, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-%d\n  namespace: default\n  labels: {app: web, tier: \"*\"}\n  annotations:\n    team: platform\n"+
			"data:\n  script: |\n    run a && run b &\n    echo *, [a, b], {c: d} - e\n  dashboard: |-\n    {\"panels\":[{\"id\":%d,\"type\":\"graph\",\"targets\":[1,2,3]}]}\n  padding: %s\n", i, i, strings.Repeat("x", 200))
		fmt.Fprintf(&json, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"config-%d","labels":{"app":"web","tier":"front"}},"data":{"key":"%s"}},`, i, strings.Repeat("y", 400))
	}
	json.WriteString(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"last"}}]}`)
	for name, c := range map[string]struct {
		in   string
		want int
	}{"YAML": {yaml.String(), 20_000}, "JSON": {json.String(), 20_001}} {
		if len(c.in) < 10_000_000 {
			t.Errorf("%s has %d bytes only", name, len(c.in))
		}
		docs, err := manifest.Decode("f", []byte(c.in))
		if err != nil || len(docs) != c.want {
			t.Errorf("%s: %d documents, %v", name, len(docs), err)
		}
	}
	if _, err := manifest.Value([]byte(deep(190, "a"))); err != nil {
		t.Error(err)
	}
}
