package convert

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Render renders a set.
type Render func(ctx context.Context, set manifest.Object) ([]manifest.Object, error)

// GoTemplate returns a file whose sets use Go templates instead of the older mode. Both forms of a set are rendered, and a set is refused
// unless they give the same Applications. Names are those of the sets that were rewritten; sets with Go templates stay as they are.
func GoTemplate(ctx context.Context, file string, data []byte, render Render) (*Result, error) {
	old := func(o manifest.Object) bool {
		return argo.IsApplicationSet(o) && !generator.GoTemplate(manifest.Map(o, "spec"))
	}
	new := func(o manifest.Object) bool { return argo.IsApplicationSet(o) && !old(o) }
	return each(file, data, kinds{old, new}, func(e *edit) error {
		after, err := prove(ctx, e.object, render)
		if err != nil {
			return fmt.Errorf("not rewritten to Go templates: %w", err)
		}
		return e.goTemplate(after)
	})
}

// WithGoTemplates returns a function that rewrites the sets of a file to Go templates, and then converts them unless only is set.
func (o Options) WithGoTemplates(ctx context.Context, render Render, only bool) func(file string, data []byte) (*Result, error) {
	return func(file string, data []byte) (*Result, error) {
		res, err := GoTemplate(ctx, file, data, render)
		if err != nil || only {
			return res, err
		}
		converted, err := o.File(file, res.Data)
		if err != nil {
			return nil, err
		}
		converted.Warnings = append(res.Warnings, converted.Warnings...)
		return converted, nil
	}
}

// prove rewrites a set and compares what both forms render.
func prove(ctx context.Context, set manifest.Object, render Render) (manifest.Object, error) {
	if manifest.Map(set, "spec")["templatePatch"] != nil {
		return nil, errors.New("spec.templatePatch: Argo CD evaluates it as a Go template already; rewrite the set by hand")
	}
	after := manifest.Copy(set).(map[string]any)
	spec := manifest.Map(after, "spec")
	r := newRewriter(spec["generators"])
	for _, k := range []string{"generators", "template"} {
		spec[k] = r.value(spec[k])
	}
	spec["goTemplate"] = true
	spec["goTemplateOptions"] = []any{"missingkey=error"}
	want, err := render(ctx, set)
	if err != nil {
		return nil, fmt.Errorf("it does not render: %w", first(err))
	}
	if len(want) == 0 {
		return nil, errors.New("it has no Applications now, so nothing can be compared")
	}
	got, err := render(ctx, after)
	if err != nil {
		return nil, fmt.Errorf("the new form does not render: %w", first(err))
	}
	if len(want) != len(got) {
		return nil, fmt.Errorf("it has %d Applications, and the new form %d", len(want), len(got))
	}
	for i := range want {
		if !reflect.DeepEqual(want[i], got[i]) {
			return nil, fmt.Errorf("%s %q would be different: %s", argo.KindApplication, manifest.String(want[i], "metadata", "name"),
				difference("", want[i], got[i]))
		}
	}
	return after, nil
}

// first returns the first of several problems.
func first(err error) error {
	if all := problem.All(err); len(all) > 0 {
		return all[0]
	}
	return err
}

// difference names the first field that differs.
func difference(path string, a, b any) string {
	x, ok1 := a.(map[string]any)
	y, ok2 := b.(map[string]any)
	if ok1 && ok2 {
		for _, k := range manifest.Keys(x) {
			if !reflect.DeepEqual(x[k], y[k]) {
				return difference(strings.TrimPrefix(path+"."+k, "."), x[k], y[k])
			}
		}
		for _, k := range manifest.Keys(y) {
			if _, ok := x[k]; !ok {
				return fmt.Sprintf("%s is new", strings.TrimPrefix(path+"."+k, "."))
			}
		}
	}
	return fmt.Sprintf("%s is %.80q, not %.80q", path, fmt.Sprint(b), fmt.Sprint(a))
}

// goTemplate writes the new form of the set.
func (e *edit) goTemplate(after manifest.Object) error {
	same := func(got manifest.Object) bool { return reflect.DeepEqual(got, after) }
	r := newRewriter(manifest.Map(after, "spec")["generators"])
	text, err := e.specText()
	if err == nil {
		var b strings.Builder
		b.WriteString("goTemplate: true\ngoTemplateOptions: [missingkey=error]\n")
		for line := range strings.Lines(text) {
			b.WriteString(r.text(line))
		}
		f, _ := e.node.Field("spec")
		block, _ := blockOf(e.data, f)
		err = e.finish(apply(e.data, []splice{{block.from, block.to, indent(b.String(), spaces(block.inner))}}), same)
	}
	if !errors.Is(err, errText) {
		return err
	}
	return e.rewrite(after, string(manifest.AppendYAML(nil, after["spec"])))
}

// rewriter rewrites placeholders.
type rewriter struct {
	prefixes map[string]bool
	later    bool // in a generator that gets the parameters of the one before it
}

// newRewriter returns the rewriter for a set with these generators.
func newRewriter(generators any) rewriter {
	r := rewriter{prefixes: map[string]bool{}}
	for _, g := range generator.Nodes(generators) {
		if p := manifest.String(g.Spec, "pathParamPrefix"); p != "" {
			r.prefixes[p] = true
		}
	}
	return r
}

func (r rewriter) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.value(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			switch {
			case k == "elements" && !r.later: // parameters, not templates
			case k == "matrix":
				e = r.matrix(e)
			default:
				e = r.value(e)
			}
			out[r.text(k)] = e
		}
		return out
	}
	return v
}

// matrix rewrites a matrix. Everything in its second generator is a template.
func (r rewriter) matrix(v any) any {
	m, _ := v.(map[string]any)
	children, _ := m["generators"].([]any)
	if len(children) != 2 {
		return r.value(v)
	}
	out, _ := r.value(v).(map[string]any)
	r.later = true
	out["generators"] = []any{out["generators"].([]any)[0], r.value(children[1])}
	return out
}

// text rewrites the placeholders in a text.
func (r rewriter) text(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "{{")
		tag, rest, closed := strings.Cut(after, "}}")
		if !found || !closed {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(before)
		if name := strings.TrimSpace(tag); isParameter.MatchString(name) {
			b.WriteString("{{" + r.expression(name) + "}}")
		} else if !strings.Contains(tag, "`") {
			b.WriteString("{{`{{" + tag + "}}`}}") // text that the older mode leaves as it is
		} else {
			b.WriteString("{{" + tag + "}}")
		}
		s = rest
	}
}

var (
	isParameter = regexp.MustCompile(`^[A-Za-z_][\w./\[\]-]*$`)
	isField     = regexp.MustCompile(`^[A-Za-z_]\w*$`)
	segment     = regexp.MustCompile(`^path\[(\d+)\]$`)
)

// expression returns the Go template for a parameter.
func (r rewriter) expression(name string) string {
	prefix, rest := "", name
	if first, more, ok := strings.Cut(name, "."); ok && first != "" && r.prefixes[first] {
		prefix, rest = "."+first, more
	}
	switch m := segment.FindStringSubmatch(rest); {
	case rest == "path":
		return prefix + ".path.path"
	case m != nil:
		return "index " + prefix + ".path.segments " + m[1]
	}
	for _, group := range []string{"metadata.labels.", "metadata.annotations.", "values."} {
		if key, ok := strings.CutPrefix(rest, group); ok {
			return access(prefix+"."+strings.TrimSuffix(group, "."), []string{key})
		}
	}
	return access(prefix, strings.Split(rest, "."))
}

// access returns the expression for fields below another one. Names that are not identifiers need index.
func access(base string, names []string) string {
	for i, name := range names {
		if isField.MatchString(name) {
			base += "." + name
			continue
		}
		if base == "" {
			base = "."
		}
		keys := []string{"index", base}
		for _, name := range names[i:] {
			if _, err := strconv.Atoi(name); err != nil {
				name = "`" + name + "`"
			}
			keys = append(keys, name)
		}
		return strings.Join(keys, " ")
	}
	return base
}
