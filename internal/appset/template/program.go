package template

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	gotemplate "text/template"
	"text/template/parse"

	"github.com/argosy-cd/argosy/internal/words"
)

// program is a string of Go template mode.
type program struct {
	path string
	exec *gotemplate.Template
	// parts is set when the template is nothing but text and simple fields: see fastParts.
	parts []part
}

func (e *Engine) newProgram(path, s string, options []string) (*program, error) {
	trees, err := parse.Parse("", s, "", "", base(), builtins)
	if err != nil {
		return nil, parseError(err)
	}
	p := &program{path: path, exec: gotemplate.New(""), parts: fastParts(trees[""])}
	used := e.budget.functions()
	for _, tree := range trees {
		for _, name := range instrument(tree.Root, isWrapped).functions {
			if slices.Contains(mutating, name) {
				e.mutates = true
			}
			if f := e.function(name); f != nil {
				used[name] = f
			}
		}
	}
	p.exec.Funcs(used).Option(options...)
	for name, tree := range trees {
		if _, err := p.exec.AddParseTree(name, tree); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// isWrapped reports whether a function checks its own result.
func isWrapped(name string) bool { return base()[name] != nil }

// function returns a function tied to the budget, nil for those that are built into text/template.
func (e *Engine) function(name string) any {
	if f, ok := e.funcs[name]; ok {
		return f
	}
	f, ok := base()[name]
	if !ok {
		return nil
	}
	wrapped := e.budget.wrap(name, reflect.ValueOf(f))
	e.funcs[name] = wrapped
	return wrapped
}

func (n *program) render(x *execution) any {
	e := x.engine
	if err := e.budget.spend(x.ctx, 1+len(n.parts)); err != nil {
		x.errs = append(x.errs, pathError(n.path, err))
		return ""
	}
	if n.parts != nil {
		if out, ok := n.fast(x); ok {
			if err := e.budget.write(len(out)); err != nil {
				x.errs = append(x.errs, pathError(n.path, err))
			}
			return out
		}
	}
	out, err := n.slow(x)
	if err == nil {
		err = e.budget.write(len(out))
	}
	if err != nil {
		x.errs = append(x.errs, pathError(n.path, err))
		return ""
	}
	if strings.Contains(out, "<no value>") && e.warn[n.path] == (Warning{}) {
		e.warn[n.path] = Warning{Text: `a parameter has no value, which Go templates print as "<no value>"; goTemplateOptions: ["missingkey=error"] makes it an error`}
	}
	return out
}

func (n *program) slow(x *execution) (out string, err error) {
	// text/template passes runtime errors of functions on; none of them may end the process.
	defer func() {
		if r := recover(); r != nil {
			if re, ok := r.(runtime.Error); ok {
				err = re
			} else {
				err = fmt.Errorf("%v", r)
			}
		}
	}()
	x.engine.budget.ctx, x.engine.budget.nesting = x.ctx, 0
	w := limitedWriter{max: x.engine.cfg.MaxOutput}
	if err := n.exec.Execute(&w, x.params); err != nil {
		return "", execError(err)
	}
	return w.String(), nil
}

// limitedWriter refuses output over max.
type limitedWriter struct {
	strings.Builder
	max int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.Len()+len(p) > w.max {
		return 0, outputError(w.max)
	}
	return w.Builder.Write(p)
}

type outputError int

func (e outputError) Error() string {
	return fmt.Sprintf("the output is over the limit of %d bytes", int(e))
}

var (
	execPrefix  = regexp.MustCompile(`^template: [^ ]*:\d+:\d+: executing "[^"]*" at `)
	parsePrefix = regexp.MustCompile(`^template: [^ ]*:(\d+): `)
)

// execError strips the name and the position from an error of text/template.
func execError(err error) error {
	var limit *limitError
	if errors.As(err, &limit) {
		return limit
	}
	var output outputError
	if errors.As(err, &output) {
		return output
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	msg := AsWritten(execPrefix.ReplaceAllString(words.Ends(err.Error(), maxMessage), ""))
	text := msg
	for _, p := range plainWords {
		msg = p.jargon.ReplaceAllString(msg, p.plain)
	}
	return caused(err, text, msg)
}

// nothing is in an error about a value that is not there.
const nothing = "missing or null"

// plainWords replaces Go types in errors of text/template by words about parameters.
var plainWords = []struct {
	jargon *regexp.Regexp
	plain  string
}{
	{
		regexp.MustCompile(`can't evaluate field (\S+) in type (interface \{\}|string|float64|bool)$`),
		"there is no $1, because what is in front of it is not an object",
	},
	{
		regexp.MustCompile(`nil pointer evaluating interface \{\}\.(\S+)$`),
		"there is no $1, because what is in front of it is " + nothing,
	},
	{regexp.MustCompile(`invalid value; expected (\S+)$`), nothing + "; a $1 is expected"},
}

// undefined matches an error of text/template about a function that is not there.
var undefined = regexp.MustCompile(`function "[^"]*" not defined$`)

// parseError is about the text of a template.
func parseError(err error) error {
	msg := parsePrefix.ReplaceAllString(words.Ends(err.Error(), maxMessage), "line $1: ")
	if !undefined.MatchString(msg) {
		return errors.New(msg)
	}
	for _, name := range removed {
		if strings.HasSuffix(msg, fmt.Sprintf("function %q not defined", name)) {
			msg += "; Argo CD removes it from sprig, because it tells about the environment"
		}
	}
	return &Error{Cause: Undefined, text: msg}
}
