package template

import (
	"strconv"
	"text/template/parse"
)

// Most placeholders in ApplicationSets are plain fields such as {{.path.basename}}. They are walked directly, which is
// ten times cheaper than text/template. Where anything is not as simple as it looks (a field that is missing or not a
// string, a list that is too short), text/template decides, so there is one meaning.

// part is text, or a field that is a string, an element of it if it is a list, passed through functions.
type part struct {
	text  string
	field []string
	index int // of the element in a list; -1 for the field itself
	funcs []func(string) string
}

// fastParts returns the parts of a template that has nothing else; nil for any other.
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

// fastPipe understands .field, index .list 1, f .field, and functions of strings behind them.
func fastPipe(pipe *parse.PipeNode) (part, bool) {
	p := part{index: -1}
	if len(pipe.Decl) > 0 {
		return p, false
	}
	for i, cmd := range pipe.Cmds {
		args := cmd.Args
		if i == 0 {
			if field, ok := args[0].(*parse.FieldNode); ok && len(args) == 1 {
				p.field = field.Ident
				continue
			}
			field, ok := args[len(args)-1].(*parse.FieldNode)
			if isIndex(args) {
				field, ok = args[1].(*parse.FieldNode)
				if !ok {
					return p, false
				}
				p.field, p.index = field.Ident, int(args[2].(*parse.NumberNode).Int64)
				continue
			}
			if !ok {
				return p, false
			}
			p.field = field.Ident
			args = args[:len(args)-1]
		}
		f := fastFunction(args)
		if f == nil {
			return p, false
		}
		p.funcs = append(p.funcs, f)
	}
	return p, true
}

func isIndex(args []parse.Node) bool {
	if len(args) != 3 {
		return false
	}
	id, ok1 := args[0].(*parse.IdentifierNode)
	n, ok2 := args[2].(*parse.NumberNode)
	return ok1 && ok2 && id.Ident == "index" && n.IsInt && n.Int64 >= 0 && n.Int64 < 1<<20
}

// fastFunction returns a function of a string with its other arguments, which must be constants. It is the very
// function that text/template would call.
func fastFunction(args []parse.Node) func(string) string {
	id, ok := args[0].(*parse.IdentifierNode)
	if !ok {
		return nil
	}
	var texts []string
	var number int
	var numbers int
	for _, arg := range args[1:] {
		switch arg := arg.(type) {
		case *parse.StringNode:
			texts = append(texts, arg.Text)
		case *parse.NumberNode:
			if !arg.IsInt || strconv.Itoa(int(arg.Int64)) != arg.Text {
				return nil
			}
			number = int(arg.Int64)
			numbers++
		default:
			return nil
		}
	}
	switch id.Ident {
	case "normalize", "lower", "upper", "trim", "trimPrefix", "trimSuffix", "replace", "trunc":
	default:
		return nil // the rest may return more than it got, or is rare
	}
	switch f := base()[id.Ident].(type) {
	case func(string) string:
		if len(args) == 1 {
			return f
		}
	case func(string, string) string:
		if len(texts) == 1 && numbers == 0 {
			return func(s string) string { return f(texts[0], s) }
		}
	case func(string, string, string) string:
		if len(texts) == 2 && numbers == 0 && len(texts[1]) <= len(texts[0]) {
			return func(s string) string { return f(texts[0], texts[1], s) }
		}
	case func(int, string) string:
		if len(texts) == 0 && numbers == 1 && number >= 0 {
			return func(s string) string { return f(number, s) }
		}
	}
	return nil
}

func (n *program) fast(x *execution) (string, bool) {
	x.buf = x.buf[:0]
	for i := range n.parts {
		p := &n.parts[i]
		if p.field == nil {
			x.buf = append(x.buf, p.text...)
			continue
		}
		s, ok := p.lookup(x.params)
		if !ok || len(s) > x.engine.cfg.MaxValue {
			return "", false
		}
		for _, f := range p.funcs {
			s = f(s)
		}
		if len(n.parts) == 1 {
			return s, len(s) <= x.engine.cfg.MaxOutput
		}
		x.buf = append(x.buf, s...)
		if len(x.buf) > x.engine.cfg.MaxOutput {
			return "", false
		}
	}
	return string(x.buf), true
}

func (p *part) lookup(params map[string]any) (string, bool) {
	var v any = params
	for _, key := range p.field {
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
	if p.index >= 0 {
		switch list := v.(type) {
		case []string:
			if p.index < len(list) {
				return list[p.index], true
			}
		case []any:
			if p.index < len(list) {
				v = list[p.index]
				break
			}
			return "", false
		default:
			return "", false
		}
	}
	s, ok := v.(string)
	return s, ok
}
