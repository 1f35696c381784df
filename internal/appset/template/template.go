// Package template renders the templates of ApplicationSets: trees of maps, lists and strings, with placeholders in
// values and in map keys.
//
// It knows both modes of Argo CD: Go templates with sprig, and the older substitution of {{name}}. A tree is compiled once and rendered for
// each set of parameters. Rendering is a pure function of tree and parameters: functions that answer differently each time are refused, and
// what sprig leaves to chance (the order of keys) is sorted. Output, size of intermediate values, nesting and number of steps are limited,
// so no template can hang, exhaust memory or overflow the stack.
//
// Chart executes the templates of Helm charts within the same limits.
//
// An Engine, and the trees compiled by it, belong to one goroutine.
package template

import (
	"context"
	"errors"
	"fmt"
	gotemplate "text/template"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// Config configures an Engine.
type Config struct {
	// Go selects Go templates. False is the older mode.
	Go bool
	// Options are the options of Go templates, such as "missingkey=error".
	Options []string
	// Order names the keys of maps that are rendered first, in this order; the others follow in alphabetical order. It
	// shows when a template changes its parameters.
	Order []string
	// MaxOutput bounds the output of one string in bytes. Zero is 1 MiB.
	MaxOutput int
	// MaxValue bounds any value that exists during the execution, in bytes. Zero is 4 MiB.
	MaxValue int
	// MaxSteps bounds the work of all renderings of the Engine together; each adds stepsPerRender to it. Zero is 5
	// million. A simple placeholder costs one.
	MaxSteps int
}

// Engine compiles templates and holds what their executions share.
type Engine struct {
	cfg     Config
	funcs   gotemplate.FuncMap
	budget  budget
	mutates bool
	actions int                // placeholders that were compiled
	warn    map[string]Warning // by the path
}

// New returns an Engine.
func New(cfg Config) (*Engine, error) {
	for _, o := range cfg.Options {
		switch o {
		case "missingkey=default", "missingkey=invalid", "missingkey=zero", "missingkey=error":
		default:
			return nil, fmt.Errorf("goTemplateOptions: %q is not an option; they are missingkey=default, invalid, zero and error", o)
		}
	}
	cfg.MaxOutput = orDefault(cfg.MaxOutput, 1<<20)
	cfg.MaxValue = orDefault(cfg.MaxValue, 4<<20)
	cfg.MaxSteps = orDefault(cfg.MaxSteps, 5_000_000)
	e := &Engine{cfg: cfg, funcs: gotemplate.FuncMap{}, warn: map[string]Warning{}}
	e.budget = budget{
		left: cfg.MaxSteps, maxValue: cfg.MaxValue, maxBound: 16 * cfg.MaxValue, output: maxTotalOutput, made: maxMade,
		maxMade: maxMade, maxOutput: maxTotalOutput,
	}
	return e, nil
}

func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}

// Mutates reports whether a compiled template uses functions that change their arguments, so that parameters must not
// be shared between executions.
func (e *Engine) Mutates() bool { return e.mutates }

// Go reports whether the engine is in Go template mode.
func (e *Engine) Go() bool { return e.cfg.Go }

// Left ends the text of a warning about a placeholder that is no parameter.
const Left = "is left as it is"

// Warning is a line about a template that left a placeholder without a value.
type Warning struct {
	Text string
	// Left says that the placeholder stays in the text: it is no parameter.
	Left bool
}

// Warnings returns, in order, the warning of each template that has one.
func (e *Engine) Warnings() []Warning {
	var out []Warning
	for _, path := range manifest.Keys(e.warn) {
		w := e.warn[path]
		w.Text = path + ": " + w.Text
		out = append(out, w)
	}
	return out
}

// Tree is a compiled value.
type Tree struct {
	engine *Engine
	root   node
	size   int
}

// Compile compiles every string in v, map keys included. path names v in errors. All errors are reported.
func (e *Engine) Compile(path string, v any) (*Tree, error) {
	c := compiler{engine: e}
	root := c.compile(path, v)
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	return &Tree{engine: e, root: root, size: size(root, 0)}, nil
}

// Size is about how many bytes the constant parts of a tree are as YAML. What Render adds is in Engine.Output.
func (t *Tree) Size() int { return t.size }

// Spent reports whether the Engine has rendered all that it may, so that each further rendering is the same error.
func (e *Engine) Spent() bool { return e.budget.left < 0 || e.budget.output < 0 }

// Output is how many bytes all renderings so far have put in the place of placeholders.
func (e *Engine) Output() int { return maxTotalOutput - e.budget.output }

// Optional is an object in a tree whose strings stay as they are written, placeholders and all, if a parameter of theirs is missing. Its
// keys are not templates.
type Optional map[string]any

// Constant reports whether rendering does not depend on parameters.
func (t *Tree) Constant() bool { return isConstant(t.root) }

// Render returns the tree with its placeholders replaced. Nothing of the result is shared with the tree or with an
// earlier result. Null values in maps are dropped, as Argo CD does. All errors are reported.
func (t *Tree) Render(ctx context.Context, params map[string]any) (any, error) {
	x := execution{ctx: ctx, engine: t.engine, params: params}
	t.engine.budget.left += stepsPerRender
	t.engine.budget.made = maxMade
	v := t.root.render(&x)
	if len(x.errs) > 0 {
		return nil, errors.Join(x.errs...)
	}
	return v, nil
}

// RenderString renders a tree that was compiled from a string.
func (t *Tree) RenderString(ctx context.Context, params map[string]any) (string, error) {
	v, err := t.Render(ctx, params)
	if err != nil {
		return "", err
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("rendering gave %s, not a string", manifest.TypeName(v))
	}
	return s, nil
}
