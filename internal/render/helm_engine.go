package render

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"

	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Helm's engine gives each template its values, and executes it without a limit of any kind. So it gets templates that only call
// renderName, with their values, and the real ones are executed by package template.
const (
	renderName = "argosyRender"
	stub       = "{{" + renderName + " .}}"
)

// executeChart renders the templates of a chart and of its dependencies.
func executeChart(ctx context.Context, c *helmchart.Chart, values common.Values) (map[string]string, error) {
	templates := map[string]*common.File{}
	collect(c, templates)
	limited := template.NewChart(ctx, helmFunctions())
	for _, name := range parseOrder(templates) {
		if err := limited.Parse(name, string(templates[name].Data)); err != nil {
			return nil, parseError(name, err)
		}
	}
	for _, f := range templates {
		f.Data = []byte(stub)
	}
	var failed error
	render := func(values map[string]any) (string, error) {
		about, _ := asMap(values["Template"])
		name, _ := about["Name"].(string)
		out, err := limited.Execute(name, values)
		if err != nil {
			failed = execError(name, err)
		}
		return out, err
	}
	rendered, err := engine.Engine{CustomTemplateFuncs: map[string]any{renderName: render}}.Render(c, values)
	if err == nil {
		return rendered, nil
	}
	if failed != nil {
		return nil, failed
	}
	return nil, errors.New(template.AsWritten(ourCall.ReplaceAllString(oneLine(err), "")))
}

// collect finds the templates that Helm's engine takes, by the names that they have there.
func collect(c *helmchart.Chart, templates map[string]*common.File) {
	for _, sub := range c.Dependencies() {
		collect(sub, templates)
	}
	for _, f := range c.Templates {
		if library := c.Metadata != nil && strings.EqualFold(c.Metadata.Type, "library"); library &&
			!strings.HasPrefix(path.Base(f.Name), "_") {
			continue
		}
		templates[path.Join(c.ChartFullPath(), f.Name)] = f
	}
}

// parseOrder is the order of Helm's engine, the deepest first: of two templates with the same name the last counts.
func parseOrder(templates map[string]*common.File) []string {
	names := manifest.Keys(templates)
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/")), cmp.Compare(b, a))
	})
	return names
}

// warning is the message of fail and required, which Helm shows without the way to it.
type warning string

func (w warning) Error() string { return string(w) }

// parseError formats an error of the parser as Helm does.
func parseError(name string, err error) error {
	if limit, ok := template.IsLimit(err); ok {
		return fmt.Errorf("%s: %w", name, limit)
	}
	tokens := strings.Split(err.Error(), ": ")
	if len(tokens) == 1 {
		return fmt.Errorf("parse error in (%s): %w", name, err)
	}
	return fmt.Errorf("parse error at (%s): %s", tokens[1], tokens[len(tokens)-1])
}

// execError formats an error of a template as Helm does, if it has a position; else it returns nil.
func execError(name string, err error) error {
	if limit, ok := template.IsLimit(err); ok {
		return fmt.Errorf("%s: %w", name, limit)
	}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			return fmt.Errorf("%s: %w", name, ended)
		}
	}
	var w warning
	if errors.As(err, &w) {
		location := name
		if tokens := strings.SplitN(err.Error(), ": ", 3); len(tokens) == 3 {
			location = tokens[1]
		}
		return fmt.Errorf("execution error at (%s): %w", location, w)
	}
	return nil
}

// ourCall is the call of renderName in an error of Helm.
var ourCall = regexp.MustCompile(`^.*? executing "[^"]*" at <` + renderName + ` \.>: error calling ` + renderName + `:? ?`)

// helmFunctions are the functions that Helm adds to those of sprig.
func helmFunctions() map[string]any {
	return map[string]any{
		"toYaml": func(v any) string {
			data, err := manifest.Marshal(v)
			if err != nil {
				return ""
			}
			return strings.TrimSuffix(string(data), "\n")
		},
		"mustToYaml": func(v any) (string, error) {
			data, err := manifest.Marshal(v)
			return strings.TrimSuffix(string(data), "\n"), err
		},
		"fromYaml": func(s string) (map[string]any, error) {
			m := map[string]any{}
			return m, intoError(s, &m, func(message string) { m["Error"] = message })
		},
		"fromYamlArray": func(s string) ([]any, error) {
			a := []any{}
			err := intoError(s, &a, func(message string) { a = []any{message} })
			return a, err
		},
		"toJson": func(v any) string {
			data, err := json.Marshal(v)
			if err != nil {
				return ""
			}
			return string(data)
		},
		"mustToJson": func(v any) (string, error) {
			data, err := json.Marshal(v)
			return string(data), err
		},
		"fromJson": func(s string) map[string]any {
			m := map[string]any{}
			if err := json.Unmarshal([]byte(s), &m); err != nil {
				m["Error"] = err.Error()
			}
			return m
		},
		"fromJsonArray": func(s string) []any {
			a := []any{}
			if err := json.Unmarshal([]byte(s), &a); err != nil {
				a = []any{err.Error()}
			}
			return a
		},
		"toToml":       func(v any) any { return helms("toToml", v) },
		"fromToml":     func(s string) any { return helms("fromToml", s) },
		"toYamlPretty": func(v any) any { return helms("toYamlPretty", v) },
		"required": func(message string, v any) (any, error) {
			if v == nil || v == "" {
				return v, warning(message)
			}
			return v, nil
		},
		"fail":          func(message string) (string, error) { return "", warning(message) },
		"lookup":        func(string, string, string, string) (map[string]any, error) { return map[string]any{}, nil },
		"getHostByName": func(string) string { return "" },
	}
}

// intoError decodes YAML. Its errors are values in a template of Helm, but not those about limits.
func intoError(s string, into any, fail func(string)) error {
	if err := manifest.Check([]byte(s)); err != nil {
		return err
	}
	if err := manifest.UnmarshalPlain([]byte(s), into); err != nil {
		fail(err.Error())
	}
	return nil
}

// helms calls a function of Helm's engine, which does not export it.
func helms(name string, v any) any {
	var got any
	keep := func(v any) string { got = v; return "" }
	c := &helmchart.Chart{
		Metadata:  &helmchart.Metadata{Name: "c"},
		Templates: []*common.File{{Name: "t", Data: []byte("{{ keep (" + name + " .Values.v) }}")}},
	}
	values := common.Values{"Values": common.Values{"v": v}}
	if _, err := (engine.Engine{CustomTemplateFuncs: map[string]any{"keep": keep}}).Render(c, values); err != nil {
		return err.Error()
	}
	return got
}
