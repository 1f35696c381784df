package template

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/problem"
)

// TestHostile has templates that end the process, or a core for a long time, where nothing counts.
func TestHostile(t *testing.T) {
	rep := strings.Repeat
	nested := func(n int, inside string) string { return rep("{{if 1}}", n) + inside + rep("{{end}}", n) }
	// cyclic has a field that makes the parameters contain themselves, which is an error, and others that are rendered all the same.
	cyclic := func(print string) any {
		return map[string]any{"a": `{{ set .path "self" .path }}`, "b": print}
	}
	for name, c := range map[string]struct {
		in   any
		want string
	}{
		"calls itself through ifs": {
			`{{define "x"}}` + nested(200, `{{template "x"}}`) + `{{end}}{{template "x"}}`,
			"are nested deeper than 1000",
		},
		"calls another through ifs": {`{{define "x"}}` + nested(200, `{{template "y"}}`) + `{{end}}{{define "y"}}` +
			nested(200, `{{template "x"}}`) + `{{end}}{{template "x"}}`, "nested deeper than 1000"},
		"calls itself in a range": {`{{define "x"}}` + rep("{{range until 2}}", 100) + `{{template "x"}}` + rep("{{end}}", 100) +
			`{{end}}{{template "x"}}`, "nested deeper than 1000"},
		"leaves more than it enters": {`{{define "x"}}{{argosyLeave 100000}}` + nested(200, `{{template "x"}}`) +
			`{{end}}{{template "x"}}`, `function "argosyLeave" not defined`},
		"nested ifs":        {rep("{{if 1}}", 1_900_000), "a template of 15200000 bytes is over the limit of 1048576"},
		"nested ifs, fewer": {rep("{{- \n\t if 1}}", 70_000), "there are more than 10000 control structures"},
		"else if": {
			"{{if 1}}" + rep("{{else if 1}}", 70_000) + "{{end}}",
			"there are more than 10000 control structures",
		},
		"else if, one in the other": {"{{if 1}}" + rep("{{else if 1}}", 9_990) + "{{end}}", "nested deeper than 1000"},
		"parentheses":               {"{{" + rep("(", 500_000) + "1" + rep(")", 500_000) + "}}", "max expression depth"},
		"pipes":                     {"{{1" + rep("|print", 160_000) + "}}", "none"},
		"many templates": {
			map[string]any{"a": rep("{{.x}}", 99_000), "b": rep("{{.x}}", 2_000)},
			"there are more than 100000 placeholders",
		},
		"contains itself, printed":     {cyclic(`{{ .path }}`), "a value is over the limit"},
		"contains itself, in print":    {cyclic(`{{ print .path }}`), "a value is over the limit"},
		"contains itself, by index":    {cyclic(`{{ index . "path" }}`), "a value is over the limit"},
		"contains itself, by with":     {cyclic(`{{ with .path }}{{ . }}{{ end }}`), "a value is over the limit"},
		"contains itself, by and":      {cyclic(`{{ and 1 .path }}`), "a value is over the limit"},
		"contains itself, by a define": {cyclic(`{{ define "x" }}{{ . }}{{ end }}{{ template "x" .path }}`), "a value is over the limit"},
		"contains itself, as a key": {
			map[string]any{"a": `{{ set .path "self" .path }}`, "b": map[string]any{"{{ .path }}": "1"}},
			"a value is over the limit",
		},
		"contains itself, compared":     {cyclic(`{{ if eq .path .path }}{{ end }}`), "a value is over the limit"},
		"contains itself, not equal":    {cyclic(`{{ if ne 1 .path }}{{ end }}`), "a value is over the limit"},
		"contains itself, piped to eq":  {cyclic(`{{ if .path | eq .path }}{{ end }}`), "a value is over the limit"},
		"printed references":            {`{{ $s := repeat 100000 "x" }}{{ $m := dict }}{{ range until 10000 }}{{ $_ := set $m (print .) $s }}{{ end }}{{ $m }}`, "over the limit"},
		"printed references, by others": {map[string]any{"a": `{{ $s := repeat 1000000 "x" }}{{ range until 1000 }}{{ $_ := set $.path (print .) $s }}{{ end }}`, "b": "{{ .path }}"}, "the output is over the limit"},
		"variables keep values":         {rep(`{{ $x := repeat 4000000 "x" }}`, 500), "the values that functions make are over the limit"},
		"a method that doubles":         {`{{ $t := toDate "2006-01-02" "2022-11-22" }}{{ $x := "1" }}{{ range until 60 }}{{ $x = $t.Format $x }}{{ end }}`, "a value is over the limit"},
		"a method that doubles, piped": {`{{ $t := toDate "2006-01-02" "2022-11-22" }}{{ "1` + rep(`" | $t.Format | printf "%s1`, 60) +
			`" }}`, "a value is over the limit"},
		"methods in one pipe": {
			`{{ $t := toDate "2006-01-02" "2022-11-22" }}{{ "1"` + rep(` | $t.Format`, 60) + ` }}`,
			"a value is over the limit",
		},
		"a large pattern":        {`{{ regexMatch (repeat 3000 "x{1000}") "" }}`, "regexMatch would give more"},
		"a large nested pattern": {`{{ regexMatch (repeat 100 "((x{30}){30}y){1,1}") "" }}`, "regexMatch would give more"},
		"a long pattern":         {`{{ regexMatch (repeat 1000000 "x") "" }}`, "regexMatch would give more"},
		"a set of characters":    {`{{ trimAll (repeat 1000000 "ä") (repeat 1000000 "ö") }}`, "trimAll would give more"},
		"a long constraint":      {`{{ semverCompare (repeat 1000000 "1||") "1.2.3" }}`, "semverCompare would give more"},
		"a map of parts":         {`{{ split "" (repeat 4000000 "x") }}`, "split would give more"},
		"from YAML":              {`{{ fromYaml (repeat 2000000 "-\n") }}`, "fromYaml would give more"},
		"from YAML with aliases": {
			`{{ fromYaml (printf "a: &a %s\nb: [%s]" (repeat 10000 "x") (repeat 100000 "*a,")) }}`,
			"too many steps",
		},
		"from YAML with some aliases": {
			`{{ fromYaml (printf "a: &a %s\nb: [%s]" (repeat 100000 "x") (repeat 1000 "*a,")) }}`,
			"with its aliases replaced",
		},
		"from JSON":                   {`{{ fromJson (printf "[%s0]" (repeat 2000000 "0,")) }}`, "fromJson would give more"},
		"a wide number":               {`{{ printf "%999999999d" 1 }}`, "none"},
		"a long error":                {`{{ fail (repeat 4000000 "x") }}`, "xxx"},
		"a range over text":           {`{{ range (repeat 4000000 "x") }}{{ end }}`, "range can't iterate over"},
		"many fields with errors":     {errorsIn(50_000), "no"},
		"a long key with many fields": {longKey(), "none"},
		"fields in fields":            {fieldsInFields(190, 20_000), "none"},
	} {
		t.Run(name, func(t *testing.T) {
			hostile.Refused(t, c.want, func() error {
				return last(t, c.in)
			})
		})
	}
}

// last renders, and returns the last problem. "none" is there being none.
func last(t *testing.T, in any) error {
	t.Helper()
	e, err := New(Config{Go: true})
	if err != nil {
		return err
	}
	tree, err := e.Compile("", in)
	if err == nil {
		_, err = tree.Render(context.Background(), map[string]any{"path": map[string]any{}, "x": "y"})
	}
	errs := problem.All(err)
	switch {
	case len(errs) == 0:
		return fmt.Errorf("none")
	case len(errs) > maxErrors+1:
		return fmt.Errorf("%d errors", len(errs))
	}
	return errs[len(errs)-1]
}

func errorsIn(n int) any {
	list := make([]any, n)
	for i := range list {
		list[i] = `{{ fail "no" }}`
	}
	return list
}

func longKey() any {
	fields := map[string]any{}
	for i := range 20_000 {
		fields[fmt.Sprint(i)] = []any{"{{.x}}"}
	}
	return map[string]any{strings.Repeat("x", 1_000_000): fields}
}

func fieldsInFields(depth, n int) any {
	list := make([]any, n)
	for i := range list {
		list[i] = "{{.x}}"
	}
	var v any = list
	for range depth {
		v = map[string]any{strings.Repeat("k", 200): v}
	}
	return v
}
