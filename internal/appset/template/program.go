package template

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	gotemplate "text/template"
	"text/template/parse"
)

// program is a string of Go template mode.
type program struct {
	path string
	exec *gotemplate.Template
	// parts is set when the template is nothing but text and fields such as {{.path.basename}}: then it is walked
	// directly, which is ten times cheaper than text/template. Where a field is not a string, exec decides.
	parts []part
}

type part struct {
	text  string
	field []string
	funcs []func(string) string
}

func (e *Engine) newProgram(path, s string) (*program, error) {
	t, err := gotemplate.New("").Funcs(e.funcs).Option(e.cfg.Options...).Parse(s)
	if err != nil {
		return nil, errors.New(parsePrefix.ReplaceAllString(oneLine(err), "line $1: "))
	}
	p := &program{path: path, exec: t, parts: fastParts(t.Tree)}
	for _, defined := range t.Templates() {
		if defined.Tree == nil || defined.Root == nil {
			continue
		}
		w := walker{}
		w.list(defined.Root)
		if w.mutates {
			e.mutates = true
		}
		// A template can call itself, so each call has its price.
		addTick(defined.Root)
	}
	return p, nil
}

// fastParts returns the parts of a template that consists of text and of string fields, possibly piped through
// functions from string to string; nil for any other.
func fastParts(tree *parse.Tree) []part {
	if tree == nil || tree.Root == nil {
		return nil
	}
	parts := make([]part, 0, len(tree.Root.Nodes))
	for _, n := range tree.Root.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			parts = append(parts, part{text: string(n.Text)})
		case *parse.ActionNode:
			p, ok := fastPipe(n.Pipe)
			if !ok {
				return nil
			}
			parts = append(parts, p)
		default:
			return nil
		}
	}
	return parts
}

func fastPipe(pipe *parse.PipeNode) (part, bool) {
	if len(pipe.Decl) > 0 {
		return part{}, false
	}
	var p part
	for i, cmd := range pipe.Cmds {
		args := cmd.Args
		if i > 0 || len(args) == 2 {
			// "f" behind a pipe, or "f .field".
			id, ok := args[0].(*parse.IdentifierNode)
			if !ok {
				return part{}, false
			}
			f := stringFunction(id.Ident)
			if f == nil || (i > 0 && len(args) != 1) {
				return part{}, false
			}
			p.funcs = append(p.funcs, f)
			args = args[1:]
		}
		if i > 0 {
			continue
		}
		field, ok := args[0].(*parse.FieldNode)
		if !ok || len(args) != 1 {
			return part{}, false
		}
		p.field = field.Ident
	}
	return p, true
}

func (n *program) render(x *execution) any {
	e := x.engine
	if err := e.budget.spend(x.ctx, 1+len(n.parts)); err != nil {
		x.errs = append(x.errs, pathError(n.path, err))
		return ""
	}
	if n.parts != nil {
		if out, ok := n.fast(x); ok {
			return out
		}
	}
	out, err := n.slow(x)
	if err != nil {
		x.errs = append(x.errs, pathError(n.path, err))
		return ""
	}
	if strings.Contains(out, "<no value>") && e.warn[n.path] == "" {
		e.warn[n.path] = `a parameter has no value, which Go templates print as "<no value>"; goTemplateOptions: ["missingkey=error"] makes it an error`
	}
	return out
}

func (n *program) fast(x *execution) (string, bool) {
	x.buf = x.buf[:0]
	for i := range n.parts {
		p := &n.parts[i]
		if p.field == nil {
			x.buf = append(x.buf, p.text...)
			continue
		}
		s, ok := lookup(x.params, p.field)
		if !ok || len(s) > x.engine.cfg.MaxValue {
			return "", false
		}
		if len(n.parts) == 1 && len(p.funcs) == 0 {
			return s, len(s) <= x.engine.cfg.MaxOutput
		}
		for _, f := range p.funcs {
			s = f(s)
		}
		x.buf = append(x.buf, s...)
		if len(x.buf) > x.engine.cfg.MaxOutput {
			return "", false
		}
	}
	return string(x.buf), true
}

func lookup(params map[string]any, field []string) (string, bool) {
	var v any = params
	for _, key := range field {
		switch m := v.(type) {
		case map[string]any:
			v = m[key]
		case map[string]string:
			s, ok := m[key]
			if !ok {
				return "", false
			}
			v = s
		default:
			return "", false
		}
	}
	s, ok := v.(string)
	return s, ok
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
	x.engine.budget.ctx = x.ctx
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
		return 0, errOutput(w.max)
	}
	return w.Builder.Write(p)
}

type errOutput int

func (e errOutput) Error() string {
	return fmt.Sprintf("the output is over the limit of %d bytes", int(e))
}

func pathError(path string, err error) error {
	if path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

var (
	execPrefix  = regexp.MustCompile(`^template: [^ ]*:\d+:\d+: executing "[^"]*" at `)
	parsePrefix = regexp.MustCompile(`^template: [^ ]*:(\d+): `)
)

// execError strips what text/template says about names and positions of a template that has no name.
func execError(err error) error {
	var limit *limitError
	if errors.As(err, &limit) {
		return limit
	}
	var output errOutput
	if errors.As(err, &output) {
		return output
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return errors.New(execPrefix.ReplaceAllString(oneLine(err), ""))
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", " ") }
