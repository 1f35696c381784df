package template

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/hostile"
)

func render(t *testing.T, cfg Config, v any, params map[string]any) (any, error) {
	t.Helper()
	e, err := New(cfg)
	if err != nil {
		return nil, err
	}
	tree, err := e.Compile("", v)
	if err != nil {
		return nil, err
	}
	return tree.Render(context.Background(), params)
}

var params = map[string]any{
	"name": "web", "n": 1e6, "list": []any{"a", "b"}, "nothing": nil,
	"path":   map[string]any{"basename": "Web_1", "segments": []string{"apps", "web"}},
	"values": map[string]string{"env": "prod"},
}

func TestRender(t *testing.T) {
	tests := map[string]struct {
		in   any
		want any
	}{
		"constant":        {"plain", "plain"},
		"field":           {"{{.name}}", "web"},
		"text and fields": {"a-{{.name}}-{{ .path.basename }}-{{.values.env}}", "a-web-Web_1-prod"},
		"trim":            {"a  {{- .name -}}  b", "awebb"},
		"piped":           {"{{ .path.basename | normalize }}", "web-1"},
		"called":          {"{{ normalize .path.basename | upper }}", "WEB-1"},
		"number":          {"{{.n}}", "1e+06"},
		"missing":         {"{{.nope}}", "<no value>"},
		"nil":             {"{{.nothing}}", "<no value>"},
		"index":           {"{{index .path.segments 1}}", "web"},
		"comment only":    {"{{/* x */}}", ""},
		"define":          {`{{define "x"}}<{{.}}>{{end}}{{template "x" .name}}`, "<web>"},
		"sorted keys":     {`{{ dict "b" 1 "a" 2 "c" 3 | keys | join "," }}`, "a,b,c"},
		"sorted values":   {`{{ dict "b" 1 "a" 2 | values | join "," }}`, "2,1"},
		"slug":            {`{{ slugify 10 true "Feature/some.branch_name" }}`, "feature"},
		"slug cut hard":   {`{{ slugify 10 false "Feature/some.branch_name" }}`, "feature-so"},
		"yaml":            {`{{ toYaml .list }}`, "- a\n- b"},
		"tree, keys, null, int": {
			map[string]any{"x-{{.name}}": []any{"{{.name}}", int64(1), nil}, "gone": nil},
			map[string]any{"x-web": []any{"web", int64(1), nil}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := render(t, Config{Go: true}, tt.in, params)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRenderSimple(t *testing.T) {
	flat := map[string]any{"name": "web", "path[0]": "apps", "n": 5.0}
	tests := map[string]struct{ in, want string }{
		"constant":        {"plain", "plain"},
		"spaces":          {"{{ name }}-{{name}}", "web-web"},
		"odd names":       {"{{path[0]}}", "apps"},
		"unknown kept":    {"{{ nope }}{{}}", "{{ nope }}{{}}"},
		"not a string":    {"{{n}}", "{{n}}"},
		"lone braces":     {"{{ a", "{{ a"},
		"across lines":    {"{{name\n}}", "{{name\n}}"},
		"template inside": {"{{{{name}}}}", "{{{{name}}}}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := render(t, Config{}, tt.in, flat)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	fails(t, map[string]failure{
		"parse":            {Config{Go: true}, "{{ .a", []string{"unclosed action"}},
		"unknown function": {Config{Go: true}, "{{ env \"HOME\" }}", []string{`function "env" not defined`}},
		"missing key": {
			Config{Go: true, Options: []string{"missingkey=error"}},
			map[string]any{"a": "{{.x}}", "b.c": "{{.y}}"},
			[]string{`a: <.x>: map has no entry for key "x"`, `"b.c": <.y>: map has no entry for key "y"`},
		},
		"option":             {Config{Go: true, Options: []string{"missingkey=panic"}}, "", []string{"missingkey=panic"}},
		"keys collide":       {Config{Go: true}, map[string]any{"{{.name}}": "1", "web": "2"}, []string{`two keys become "web"`}},
		"unstable":           {Config{Go: true}, "{{ now }}", []string{"error calling now: it answers differently each time"}},
		"current time":       {Config{Go: true}, `{{ date "2006" "" }}`, []string{"the date must be a time"}},
		"panicking function": {Config{Go: true}, `{{ div 1 0 }}`, []string{"divide by zero"}},
		"fail":               {Config{Go: true}, `{{ fail "no" }}`, []string{"no"}},
		"simple, unclosed":   {Config{}, "{{a}} {{b", []string{`"{{" without "}}"`}},
		"slugify arguments":  {Config{Go: true}, `{{ slugify "a" "b" }}`, []string{"slugify takes"}},
		"output": {
			Config{Go: true, MaxOutput: 100},
			`{{ range until 200 }}x{{end}}`,
			[]string{"the output is over the limit of 100 bytes"},
		},
		"output, fast":   {Config{Go: true, MaxOutput: 2}, `{{.name}}{{.name}}`, []string{"over the limit of 2 bytes"}},
		"output, simple": {Config{MaxOutput: 2}, `{{name}}{{name}}`, []string{"over the limit of 2 bytes"}},
		"loop":           {Config{Go: true, MaxSteps: 1000}, `{{ range 100000000000 }}{{end}}`, []string{"too many steps"}},
		"repeat":         {Config{Go: true}, `{{ repeat 1000000000 "xxxxxxxx" }}`, []string{"repeat would give more"}},
		"until":          {Config{Go: true}, `{{ until 1000000000 }}`, []string{"until would give more"}},
		"seq":            {Config{Go: true}, `{{ seq 1 2000000000 }}`, []string{"seq would give more"}},
		"printf":         {Config{Go: true}, `{{ printf (repeat 1000 "%[1]999999d") 1 }}`, []string{"printf would give more"}},
		"printf star":    {Config{Go: true}, `{{ printf (repeat 1000 "%[1]*[2]d") 999999 1 }}`, []string{"printf would give more"}},
		"doubling": {
			Config{Go: true},
			`{{ $x := "xxxxxxxxxxxxxxxx" }}{{ range until 60 }}{{ $x = cat $x $x }}{{end}}`,
			[]string{"a value is over the limit"},
		},
		"doubling by print": {
			Config{Go: true},
			`{{ $x := "xxxxxxxxxxxxxxxx" }}{{ range until 60 }}{{ $x = print $x $x }}{{end}}`,
			[]string{"a value is over the limit"},
		},
		"doubling lists": {
			Config{Go: true},
			`{{ $x := list 1 2 }}{{ range until 60 }}{{ $x = list $x $x }}{{end}}{{ toJson $x }}`,
			[]string{"a value is over the limit"},
		},
		"replace": {
			Config{Go: true},
			`{{ $x := repeat 100000 "x" }}{{ replace "" $x $x }}`,
			[]string{"replace would give more"},
		},
		"join": {Config{Go: true}, `{{ join (repeat 1000000 "x") (until 50000) }}`, []string{"join would give more"}},
		"uniq": {Config{Go: true}, `{{ uniq (until 200000) }}`, []string{"uniq would give more"}},
		"slow regex": {
			Config{Go: true},
			`{{ regexMatch "(a?){1000}(b?){1000}(x?){1000}c" (repeat 1000000 "a") }}`,
			[]string{"regexMatch would give more"},
		},
		"contains itself": {
			Config{Go: true},
			`{{ $d := dict "a" 1 }}{{ $_ := set $d "d" $d }}{{ $d }}`,
			[]string{"a value is over the limit"},
		},
		"many expensive calls": {
			Config{Go: true, MaxSteps: 100000},
			`{{ $x := repeat 1000000 "x" }}{{ range until 10000 }}{{ $y := sha256sum $x }}{{end}}`,
			[]string{"steps"},
		},
	})
}

// TestLargeErrors: templates that count their steps end, also those whose steps are slow.
func TestLargeErrors(t *testing.T) {
	hostile.Unraced(t)
	fails(t, map[string]failure{
		"exponential calls": {Config{Go: true, MaxSteps: 100000}, exponential(), []string{"steps"}},
		"quadratic": {
			Config{Go: true},
			`{{ $l := until 2000 }}{{ range until 1000 }}{{ $x := uniq $l }}{{end}}`,
			[]string{"steps"},
		},
		"slow by design": {
			Config{Go: true},
			`{{ range until 100 }}{{ derivePassword 1 "long" "p" "u" "s" }}{{end}}`,
			[]string{"steps"},
		},
	})
}

// failure is a template and what its error says.
type failure struct {
	cfg  Config
	in   any
	want []string
}

func fails(t *testing.T, tests map[string]failure) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := render(t, tt.cfg, tt.in, params)
			if err == nil {
				t.Fatalf("got %.100v, want an error with %q", got, tt.want)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want it to contain %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "template: ") {
				t.Errorf("got %q, with text/template's own prefix", err)
			}
		})
	}
}

// exponential is a template that calls 2^40 others and writes nothing.
func exponential() string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, `{{define "t%d"}}{{template "t%d"}}{{template "t%d"}}{{end}}`, i, i+1, i+1)
	}
	return b.String() + `{{define "t40"}}{{end}}{{template "t0"}}`
}

func TestRecursionEnds(t *testing.T) {
	_, err := render(t, Config{Go: true}, `{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`, params)
	if err == nil || !strings.Contains(err.Error(), "nested deeper than 1000") {
		t.Errorf("got %v", err)
	}
}

func TestCancelled(t *testing.T) {
	e, err := New(Config{Go: true})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := e.Compile("", `{{ range 100000000000 }}{{end}}`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tree.Render(ctx, params); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWarnings(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg  Config
		in   string
		want string
	}{
		"go":     {Config{Go: true}, "{{.nope}}", `spec.path: a parameter has no value`},
		"simple": {Config{}, "{{ nope }}", "spec.path: no parameter nope, {{ nope }} is left as it is"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := New(tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := e.Compile("spec", map[string]any{"path": tt.in})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := tree.Render(context.Background(), params); err != nil {
					t.Fatal(err)
				}
			}
			got := e.Warnings()
			if len(got) != 1 || !strings.HasPrefix(got[0].Text, tt.want) || got[0].Left == tt.cfg.Go {
				t.Errorf("got %+v, want one line that starts with %q", got, tt.want)
			}
		})
	}
}

// FuzzGo checks that no template hangs, takes much memory or panics, and that rendering is deterministic.
func FuzzGo(f *testing.F) {
	for _, s := range []string{
		"{{.name}}", "a{{.path.basename|normalize}}", `{{range $i, $e := .list}}{{$i}}{{$e}}{{end}}`,
		`{{define "a"}}{{end}}{{template "a"}}`,
		`{{ $x := dict "a" .list }}{{ set $x "b" $x | toJson }}`, `{{ printf "%*d" 100 1 }}`, `{{ repeat 10 (repeat 10 "x") }}`,
		`{{ regexReplaceAll "a*" "baaac" "x" }}`, `{{ with .values }}{{ .env }}{{ end }}`, `{{ slice .list 0 1 }}`, `{{ index .list 5 }}`,
		`{{ toYaml . | fromYaml | toPrettyJson | nindent 3 }}`, `{{ dig "a" "b" "c" (dict) }}`, `{{ round 1.5 100000000 }}`,
		`{{ mulf 1e308 1e308 1e308 }}`,
		`{{ wrapWith 1 "xxxx" "aaaaa" }}`, `{{ semver "1.2.3" }}`, `{{ untilStep 0 10 -1 }}`, `{{ chunk 0 .list }}`,
		`{{ toDate "2006" "2020" | date "x" }}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		run := func() (any, string) {
			v, err := render(t, Config{Go: true, MaxSteps: 20000, MaxValue: 1 << 16, MaxOutput: 1 << 16}, s, map[string]any{
				"name": "web", "list": []any{"a", 1.0}, "path": map[string]any{"basename": "B_c"},
				"values": map[string]string{"env": "prod"},
			})
			if err != nil {
				return nil, err.Error()
			}
			return v, ""
		}
		v1, err1 := run()
		v2, err2 := run()
		if v1 != v2 || err1 != err2 {
			t.Errorf("got %q %q, then %q %q", v1, err1, v2, err2)
		}
	})
}

// FuzzSimple checks that text outside placeholders is kept to the byte.
func FuzzSimple(f *testing.F) {
	for _, s := range []string{"{{name}}", "a{{ b }}c", "{{", "}}{{", "{{{{name}}}}", "{{\nname}} {{name}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := render(t, Config{}, s, map[string]any{})
		if err == nil && v != s {
			t.Errorf("got %q from %q with no parameters", v, s)
		}
	})
}
