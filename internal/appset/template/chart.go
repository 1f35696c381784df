package template

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	gotemplate "text/template"
	"text/template/parse"

	"github.com/Masterminds/sprig/v3"

	"github.com/argosy-cd/argosy/internal/words"
)

// Limits of the templates of one chart. Those of the largest public charts make some 10 MB.
const (
	chartSteps  = 5_000_000
	chartValue  = 16 << 20
	chartBound  = 64 << 20
	chartMade   = 256 << 20
	chartOutput = 64 << 20
	// chartText bounds the templates of a chart and of its dependencies.
	chartText = 32 << 20
	// chartActions bounds the placeholders of all templates that are in use at a time.
	chartActions = 200_000
	// chartIncludes is how often Helm lets a template include itself.
	chartIncludes = 1000
)

// Chart has the templates of a Helm chart, which call each other by name, with the functions that Helm gives them: those of sprig, include
// and tpl, and those of its caller. It executes them as text/template does, within limits of steps, of nesting, of values and of output;
// and it ends with its context.
type Chart struct {
	budget   budget
	root     *gotemplate.Template
	names    map[string]any // of functions, for the parser
	included map[string]int
	text     int // bytes of all templates in use
	actions  int // placeholders in them
	defined  int // templates, more or less
}

// NewChart returns a Chart without templates.
func NewChart(ctx context.Context, more map[string]any) *Chart {
	c := &Chart{
		budget: budget{
			ctx: ctx, left: chartSteps, made: chartMade, output: chartOutput, shallow: shallow,
			maxValue: chartValue, maxBound: chartBound, maxMade: chartMade, maxOutput: chartOutput,
		},
		root:     gotemplate.New("gotpl").Option("missingkey=zero"),
		included: map[string]int{},
	}
	funcs := gotemplate.FuncMap{}
	maps.Copy(funcs, sprig.TxtFuncMap())
	for _, name := range []string{"env", "expandenv"} {
		delete(funcs, name)
	}
	for _, name := range []string{"print", "println", "printf", "html", "js", "urlquery"} {
		funcs[name] = base()[name]
	}
	maps.Copy(funcs, more)
	for name, f := range funcs {
		funcs[name] = c.budget.wrap(name, reflect.ValueOf(f))
	}
	c.names = maps.Clone(map[string]any(funcs))
	c.names["include"], c.names["tpl"] = 0, 0
	c.root.Funcs(funcs).Funcs(c.budget.functions()).Funcs(c.callers(c.root))
	return c
}

// shallow are the functions that pass values on without reading them. Most get all values of a chart, so to weigh those each time would
// take most of the time.
var shallow = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(`
		default required dict list tuple set unset get hasKey ternary kindIs kindOf typeOf typeIs typeIsLike empty coalesce
		first mustFirst last mustLast rest mustRest initial mustInitial append push mustAppend mustPush prepend mustPrepend
		concat keys values pluck pick omit dig slice mustSlice reverse mustReverse has mustHas compact mustCompact chunk
		mustChunk all any lookup fail`) {
		m[name] = true
	}
	return m
}()

// callers are the functions that call templates of t.
func (c *Chart) callers(t *gotemplate.Template) gotemplate.FuncMap {
	return gotemplate.FuncMap{
		"include": func(name string, data any) (string, error) { return c.include(t, name, data) },
		"tpl":     func(text string, data any) (string, error) { return c.tpl(t, text, data) },
	}
}

// Parse adds a template, and those that it defines. A template that is there already is replaced, as text/template has it.
func (c *Chart) Parse(name, text string) error {
	_, err := c.parse(c.root.New(name), name, text)
	return err
}

func (c *Chart) parse(t *gotemplate.Template, name, text string) (*gotemplate.Template, error) {
	if c.text += len(text); c.text > chartText {
		return nil, limitf("all templates together are over the limit of %d bytes", chartText)
	}
	n := strings.Count(text, "{{")
	if c.actions += n; c.actions > chartActions {
		return nil, limitf("all templates together have more than %d placeholders", chartActions)
	}
	if err := c.budget.spend(c.budget.ctx, 8*n+len(text)/64); err != nil {
		return nil, err
	}
	if n > maxControls && len(controlWord.FindAllStringIndex(text, maxControls+1)) > maxControls {
		return nil, limitf("there are more than %d control structures, such as if and range", maxControls)
	}
	trees, err := parse.Parse(name, text, "", "", c.names, builtins)
	if err != nil {
		return nil, err
	}
	c.defined += len(trees)
	for name, tree := range trees {
		added, err := t.AddParseTree(name, tree)
		if err != nil {
			return nil, err
		}
		// An empty template does not replace another.
		if added.Tree == tree && tree.Root != nil {
			instrument(tree.Root, func(name string) bool { return c.names[name] != nil })
		}
	}
	return t, nil
}

// Execute executes a template.
func (c *Chart) Execute(name string, data any) (string, error) {
	c.budget.nesting = 0
	out, err := c.execute(c.root, name, data)
	if err == nil {
		err = c.budget.write(len(out))
	}
	return out, err
}

func (c *Chart) execute(t *gotemplate.Template, name string, data any) (string, error) {
	w := chargedWriter{budget: &c.budget}
	if err := t.ExecuteTemplate(&w, name, data); err != nil {
		return "", err
	}
	return w.String(), nil
}

// chargedWriter fails once the templates have written more than the budget allows.
type chargedWriter struct {
	strings.Builder
	budget *budget
}

func (w *chargedWriter) Write(p []byte) (int, error) {
	if w.Len()+len(p) > chartValue {
		return 0, outputError(chartValue)
	}
	if err := w.budget.make(len(p)); err != nil {
		return 0, err
	}
	return w.Builder.Write(p)
}

// include is the function include of Helm.
func (c *Chart) include(t *gotemplate.Template, name string, data any) (string, error) {
	if c.included[name] > chartIncludes {
		return "", fmt.Errorf("rendering template has a nested reference name: %s: %w", name, errors.New("unable to execute template"))
	}
	c.included[name]++
	defer func() { c.included[name]-- }()
	if _, err := c.budget.enter(callNests); err != nil {
		return "", err
	}
	out, err := c.execute(t, name, data)
	c.budget.leave(callNests)
	return out, err
}

// callNests is how many control structures a function that executes a template takes the stack of.
const callNests = 4

// tpl is the function tpl of Helm: the text can call the templates of its caller, and the templates that it defines are visible only inside
// of it. Its errors have the words of Helm, which a test compares.
func (c *Chart) tpl(parent *gotemplate.Template, text string, data any) (string, error) {
	if !strings.Contains(text, "{{") { // most values are plain text
		return strings.ReplaceAll(text, "<no value>", ""), c.budget.make(len(text))
	}
	// A clone has an entry for each template.
	if err := c.budget.spend(c.budget.ctx, 1+c.defined/8); err != nil {
		return "", err
	}
	if _, err := c.budget.enter(callNests); err != nil {
		return "", err
	}
	t, err := parent.Clone()
	if err != nil {
		return "", fmt.Errorf("cannot clone template: %w", err)
	}
	t.Option("missingkey=zero").Funcs(c.callers(t))
	bytes, actions, defined := c.text, c.actions, c.defined
	if t, err = c.parse(t.New(parent.Name()), parent.Name(), text); err != nil {
		return "", fmt.Errorf("cannot parse template %q: %w", excerpt(text), err)
	}
	w := chargedWriter{budget: &c.budget}
	if err := t.Execute(&w, data); err != nil {
		return "", fmt.Errorf("error during tpl function execution for %q: %w", excerpt(text), err)
	}
	c.text, c.actions, c.defined = bytes, actions, defined
	c.budget.leave(callNests)
	return strings.ReplaceAll(w.String(), "<no value>", ""), nil
}

// excerpt keeps a text from filling a message: each template that calls another by tpl would add it again.
func excerpt(text string) string { return words.Shorten(text, maxKey) }

// IsLimit reports whether an error is about a limit, and returns it without the templates that led to it.
func IsLimit(err error) (error, bool) {
	var limit *limitError
	if errors.As(err, &limit) {
		return limit, true
	}
	var output outputError
	if errors.As(err, &output) {
		return output, true
	}
	return err, false
}
