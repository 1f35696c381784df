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
	"slices"
	"strconv"
	"strings"
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
	actions int // placeholders that were compiled
	warn    map[string]string
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
	e := &Engine{cfg: cfg, funcs: gotemplate.FuncMap{}, warn: map[string]string{}}
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

// Left ends a warning about a placeholder that is no parameter.
const Left = "is left as it is"

// Warnings returns, in order, a line for each template that left a placeholder without a value.
func (e *Engine) Warnings() []string {
	var out []string
	for _, path := range manifest.Keys(e.warn) {
		out = append(out, path+": "+e.warn[path])
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

type compiler struct {
	engine *Engine
	errs   []error
	full   bool // there are too many placeholders, which was said
}

func (c *compiler) compile(path string, v any) node {
	switch v := v.(type) {
	case string:
		return c.text(path, v)
	case map[string]any:
		m := &mapNode{path: path, entries: make([]entry, 0, len(v))}
		for _, k := range c.engine.keys(v) {
			if v[k] == nil {
				continue
			}
			child := join(path, k)
			m.entries = append(m.entries, entry{key: c.text(child+" (key)", k), value: c.compile(child, v[k])})
		}
		return m
	case Optional:
		m := &mapNode{path: path, entries: make([]entry, 0, len(v))}
		for _, k := range c.engine.keys(v) {
			if v[k] != nil {
				m.entries = append(m.entries, entry{key: constant{k}, value: c.optional(join(path, k), v[k])})
			}
		}
		return m
	case []any:
		l := &listNode{path: path, items: make([]node, len(v))}
		for i, e := range v {
			l.items[i] = c.compile(path+"["+strconv.Itoa(i)+"]", e)
		}
		return l
	default:
		return constant{v}
	}
}

// keys returns the keys of a map in the order in which they are rendered.
func (e *Engine) keys(m map[string]any) []string {
	keys := manifest.Keys(m)
	rank := func(k string) int {
		if i := slices.Index(e.cfg.Order, k); i >= 0 {
			return i
		}
		return len(e.cfg.Order)
	}
	slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
	return keys
}

// text compiles one string; without a placeholder it is a constant in either mode.
func (c *compiler) text(path, s string) node {
	if !strings.Contains(s, "{{") {
		return constant{s}
	}
	if !c.count(path, s) {
		return constant{s}
	}
	if !c.engine.cfg.Go {
		n, err := newSimple(path, s)
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf("%s: %w", path, err))
		}
		return n
	}
	n, err := c.engine.newProgram(path, s, c.engine.cfg.Options)
	if err != nil {
		c.errs = append(c.errs, fmt.Errorf("%s: %w", path, err))
		return constant{s}
	}
	return n
}

// count reports whether a text is within the limits of what is compiled.
func (c *compiler) count(path, s string) bool {
	n, err := checkText(s, maxActions-c.engine.actions)
	if err == nil {
		c.engine.actions += n
		return true
	}
	if !c.full {
		c.errs = append(c.errs, fmt.Errorf("%s: %w", path, err))
	}
	c.full = c.full || n > maxActions-c.engine.actions
	return false
}

// optional compiles a value of an Optional.
func (c *compiler) optional(path string, v any) node {
	s, ok := v.(string)
	if !ok || !c.engine.cfg.Go || !strings.Contains(s, "{{") {
		return c.compile(path, v)
	}
	if !c.count(path, s) {
		return constant{s}
	}
	n, err := c.engine.newProgram(path, s, []string{"missingkey=error"})
	if err != nil {
		c.errs = append(c.errs, fmt.Errorf("%s: %w", path, err))
		return constant{s}
	}
	return &optional{text: s, program: n}
}

// optional is a program that gives its own text if a parameter is missing.
type optional struct {
	text    string
	program *program
}

func (n *optional) render(x *execution) any {
	before := len(x.errs)
	v := n.program.render(x)
	var missing *missingError
	if len(x.errs) > before && errors.As(x.errs[before], &missing) {
		x.errs = x.errs[:before]
		return n.text
	}
	return v
}

// join appends a key to a path, quoted where a dot or a slash would make it ambiguous. Paths have a limit.
func join(path, key string) string {
	if len(path) > maxPath {
		return path
	}
	if len(key) > maxKey {
		key = strings.ToValidUTF8(key[:maxKey], "") + "…"
	}
	if strings.ContainsAny(key, "./[] ") {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// execution is one rendering of one tree.
type execution struct {
	ctx    context.Context
	engine *Engine
	params map[string]any
	buf    []byte
	errs   []error
}

// ended reports whether it makes no sense to go on: there are many errors, or nothing may be rendered any more.
func (x *execution) ended() bool {
	return len(x.errs) >= maxErrors || len(x.errs) > 0 && x.engine.Spent()
}

// visit charges for a map or a list of n nodes, and reports whether it may be rendered.
func (x *execution) visit(path string, n int) bool {
	if err := x.engine.budget.spend(x.ctx, n/8); err != nil {
		x.errs = append(x.errs, pathError(path, err))
		return false
	}
	return true
}

type node interface {
	render(x *execution) any
}

type constant struct{ value any }

func (n constant) render(*execution) any { return n.value }

type entry struct{ key, value node }

type mapNode struct {
	path    string
	entries []entry
}

func (n *mapNode) render(x *execution) any {
	if !x.visit(n.path, len(n.entries)) {
		return nil
	}
	m := make(map[string]any, len(n.entries))
	for i := range n.entries {
		if x.ended() {
			break
		}
		e := &n.entries[i]
		v := e.value.render(x)
		key, _ := e.key.render(x).(string)
		if _, exists := m[key]; exists && len(x.errs) == 0 {
			x.errs = append(x.errs, fmt.Errorf("%s: two keys become %q", n.path, key))
		}
		m[key] = v
	}
	return m
}

type listNode struct {
	path  string
	items []node
}

func (n *listNode) render(x *execution) any {
	if !x.visit(n.path, len(n.items)) {
		return nil
	}
	l := make([]any, len(n.items))
	for i, item := range n.items {
		if x.ended() {
			break
		}
		l[i] = item.render(x)
	}
	return l
}

func size(n node, depth int) int {
	total := 2*depth + 4
	switch n := n.(type) {
	case constant:
		if s, ok := n.value.(string); ok {
			total += len(s)
		}
	case *mapNode:
		for _, e := range n.entries {
			total += size(e.key, 0) + size(e.value, depth+1)
		}
	case *listNode:
		for _, item := range n.items {
			total += size(item, depth+1)
		}
	}
	return total
}

func isConstant(n node) bool {
	switch n := n.(type) {
	case constant:
		return true
	case *mapNode:
		for _, e := range n.entries {
			if !isConstant(e.key) || !isConstant(e.value) {
				return false
			}
		}
		return true
	case *listNode:
		for _, item := range n.items {
			if !isConstant(item) {
				return false
			}
		}
		return true
	default:
		return false
	}
}
