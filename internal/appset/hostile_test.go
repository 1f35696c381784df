package appset_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// goSet is a set in Go template mode with generators, a template for metadata.annotations and a patch, all of them YAML in one line.
func goSet(generators, annotations, patch string) string {
	return fmt.Sprintf(`{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: set}, spec: {goTemplate: true, generators: %s,
  template: {metadata: {name: "a{{.id}}", annotations: %s}, spec: {project: p, destination: {server: s, namespace: ns}, source: {repoURL: r, path: x}}}, templatePatch: %q}}`, generators, annotations, patch)
}

const one = `[{list: {elements: [{id: "1", m: {}}]}}]`

// many is a list of n elements, and perhaps more in each.
func many(n int, more string) string {
	var b strings.Builder
	b.WriteString("{list: {elements: [")
	for i := range n {
		fmt.Fprintf(&b, "{id: \"%d\"%s},", i, more)
	}
	return b.String() + "]}}"
}

func generate(ctx context.Context, text string) error {
	docs, err := manifest.Decode("in.yaml", []byte(text))
	if err != nil {
		return err
	}
	set, _, err := appset.Parse(docs[0])
	if err != nil {
		return err
	}
	_, err = appset.Generate(ctx, appset.Config{}, set)
	return err
}

// TestHostile has sets that end the process, or take a core for long, where nothing is bounded.
func TestHostile(t *testing.T) {
	rep := strings.Repeat
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ",k%d: \"\"", i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		in   func() string
		want string
	}{
		"parameters that contain themselves": {func() string {
			return goSet(one, `{a: '{{ set .m "m" .m }}', b: '{{ .m }}'}`, "")
		}, "a value is over the limit"},
		"printed references": {func() string {
			return goSet(one, `{a: '{{ $s := repeat 100000 "x" }}{{ $m := list }}{{ range until 10000 }}{{ $m = append $m $s }}{{ end }}{{ $m }}'}`, "")
		}, "over the limit"},
		"aliases in a patch": {func() string {
			return goSet(one, `{}`, `metadata: {annotations: {a: &a {{ repeat 100000 "x" }}, {{ range until 100000 }}k{{ . }}: *a, {{ end }}}}`)
		}, "over the limit"},
		"aliases in a patch, spec": {func() string {
			return goSet(one, `{}`, `{{ print "spec:\n  info: [&a {name: " (repeat 100000 "x") "}, " (repeat 100000 "*a,") "]" }}`)
		}, "spec.templatePatch: the rendered patch is not YAML: with its aliases replaced it is over the limit"},
		"values in a patch": {func() string {
			return goSet(one, `{}`, `{{ print "spec:\n  x: [" (repeat 1000000 ",") "]" }}`)
		}, "not YAML"},
		"brackets in a patch": {func() string {
			return goSet(one, `{}`, `{{ print "spec: " (repeat 400000 "[") }}`)
		}, "exceeded max depth"},
		"JSON brackets in a patch": {func() string { return goSet(one, `{}`, `{"a":{{ repeat 400000 "[" }}`) }, "exceeded max depth"},
		"finalizers": {func() string {
			return goSet(one, `{}`, `{"metadata":{"finalizers":[{{ range until 60000 }}"{{ . }}",{{ end }}"x"]}}`)
		}, "elements: too many comparisons"},
		"finalizers of both": {func() string {
			return strings.Replace(goSet(one, `{}`, `{"metadata":{"finalizers":[{{ range until 60000 }}"{{ . }}",{{ end }}"x"]}}`),
				"annotations: {}", "finalizers: ["+rep("a,", 60_000)+"]", 1)
		}, "elements: too many comparisons"},
		"a large constant, many times": {func() string {
			return goSet("["+many(5000, "")+"]", "{a: "+rep("x", 1_000_000)+"}", "")
		}, "all Applications together are over the limit of 104857600 bytes"},
		"a large Application": {func() string {
			return goSet(one, "{a: "+rep("x", 4_000_000)+"}", "")
		}, "the Application is over the limit of 3145728 bytes"},
		"large Applications": {func() string {
			return goSet("["+many(5000, "")+"]", `{a: '{{ repeat 1000000 "x" }}'}`, "")
		}, "over the limit"},
		"a large error, many times": {func() string {
			return goSet("["+many(5000, "")+"]", `{a: '{{ fail (repeat 4000000 "x") }}'}`, "")
		}, "xxx"},
		"too many sets": {func() string {
			return goSet("[{matrix: {generators: ["+many(300, "")+","+many(300, "")+"]}}]", "{}", "")
		}, "matrix: more than 50000 parameter sets"},
		"too many parameters": {func() string {
			return goSet("[{matrix: {generators: ["+many(200, "")+",{list: {elements: ["+rep("{z: b"+keys(1000)+"},", 200)+"]}}]}}]", "{}",
				"")
		}, "all parameter sets together have more than 4000000 parameters"},
		"too many sets that go": {func() string {
			return goSet("[{matrix: {generators: ["+many(4000, "")+",{list: {elements: ["+rep("{z: '{{.id}}'},", 9000)+
				"]}, selector: {matchLabels: {z: x}}}]}}]", "{}", "")
		}, "the templates take too many steps"},
		"long names of parameters": {func() string {
			return goSet(`[{list: {elements: [{id: "1", ? `+rep("x", 1_000_000)+` : [`+rep("1,", 100_000)+
				`]}]}, selector: {matchLabels: {id: "1"}}}]`, "{}", "")
		}, "the names of all nested parameters are over the limit"},
		"a set of many placeholders": {func() string {
			return goSet(one, "{a: '"+rep("{{.id}}", 110_000)+"', b: '"+rep("{{.id}}", 110_000)+"'}", "")
		}, "placeholders"},
		"a deep template": {func() string {
			return goSet(one, rep("{? "+rep("k", 1000)+" : ", 150)+"["+rep("'{{.id}}',", 50_000)+"]"+rep("}", 150), "")
		}, "must be a string"},
		"a deep spec": {func() string {
			return strings.Replace(goSet(one, "{}", ""), "path: x", "x: "+rep("{? "+rep("k", 1000)+" : ", 150)+"["+
				rep("'{{.id}}',", 50_000)+"]"+rep("}", 150), 1)
		}, "over the limit"},
		"a template that calls itself": {func() string {
			return goSet(one, `{a: '{{define "x"}}`+rep("{{if 1}}", 200)+`{{template "x"}}`+rep("{{end}}", 200)+`{{end}}{{template "x"}}'}`,
				"")
		}, "nested deeper than 1000"},
		"cyclic values of a generator": {func() string {
			return goSet(`[{matrix: {generators: [{list: {elements: [{id: "1", m: {}}]}}, {list: {elements: [{a: '{{ set .m "m" .m }}', b: '{{ .m }}'}]}}]}}]`, "{}", "")
		}, "a value is over the limit"},
	} {
		t.Run(name, func(t *testing.T) {
			hostile.Refused(t, c.want, func() error {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
				defer cancel()
				errs := problem.All(generate(ctx, c.in()))
				switch {
				case len(errs) == 0:
					return errors.New("none")
				case len(errs) > 101:
					return fmt.Errorf("%d errors", len(errs))
				}
				return errs[0]
			})
		})
	}
}

// TestLarge: a large set is generated.
func TestLarge(t *testing.T) {
	hostile.Unraced(t)
	if err := generate(context.Background(), goSet("[{matrix: {generators: ["+many(100, "")+",{list: {elements: ["+
		strings.Repeat("{z: '{{.id}}', m: {a: b}},", 50)+"]}}]}}]",
		`{a: '{{ toYaml .m | fromYaml | toJson }}-{{ range until 20 }}{{ . }}{{ end }}'}`,
		`metadata: {name: 'x'}`)); !strings.Contains(fmt.Sprint(err), `"x" is the name of another`) {
		t.Error(err)
	}
	if err := generate(context.Background(), goSet("["+many(5000, ", m: {a: b, c: [d, e]}, z: {y: {x: w}}")+"]",
		`{a: '{{ toYaml .m | fromYaml | toJson }}-{{ range until 20 }}{{ . }}{{ end }}', b: `+strings.Repeat("x", 4000)+`}`,
		`spec: {source: {targetRevision: "{{.id}}", helm: {values: "{{ repeat 1000 .m.a }}"}}}`)); err != nil {
		t.Error(err)
	}
}
