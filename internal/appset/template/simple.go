package template

import (
	"fmt"
	"strings"
)

// simple is a string of the older mode: text and {{name}} placeholders.
type simple struct {
	path  string
	parts []simplePart
}

type simplePart struct {
	text string // literal text, or the placeholder as written, braces included
	name string // the parameter; empty for literal text
}

// newSimple parses s. As in Argo CD, a string is a template only if a line of it has "{{" and, behind it, "}}"; in a
// template every "{{" needs its "}}".
func newSimple(path, s string) (node, error) {
	if !hasPlaceholder(s) {
		return constant{s}, nil
	}
	n := &simple{path: path}
	for rest := s; rest != ""; {
		text, after, found := strings.Cut(rest, "{{")
		if text != "" {
			n.parts = append(n.parts, simplePart{text: text})
		}
		if !found {
			break
		}
		tag, tail, found := strings.Cut(after, "}}")
		if !found {
			return constant{s}, fmt.Errorf(`"{{" without "}}" at %.20q`, "{{"+after)
		}
		n.parts = append(n.parts, simplePart{text: "{{" + tag + "}}", name: strings.TrimSpace(tag)})
		rest = tail
	}
	return n, nil
}

func hasPlaceholder(s string) bool {
	for line := range strings.Lines(s) {
		if _, after, found := strings.Cut(line, "{{"); found && strings.Contains(after, "}}") {
			return true
		}
	}
	return false
}

// render replaces the placeholders whose parameter is a string and leaves the others as they are.
func (n *simple) render(x *execution) any {
	if err := x.engine.budget.spend(x.ctx, len(n.parts)); err != nil {
		x.errs = append(x.errs, pathError(n.path, err))
		return ""
	}
	x.buf = x.buf[:0]
	for _, p := range n.parts {
		text := p.text
		if p.name != "" {
			if v, ok := x.params[p.name].(string); ok {
				text = v
			} else if x.engine.warn[n.path] == (Warning{}) {
				x.engine.warn[n.path] = Warning{"no parameter " + p.name + ", " + p.text + " " + Left, true}
			}
		}
		x.buf = append(x.buf, text...)
		if len(x.buf) > x.engine.cfg.MaxOutput {
			x.errs = append(x.errs, pathError(n.path, outputError(x.engine.cfg.MaxOutput)))
			return ""
		}
	}
	if err := x.engine.budget.write(len(x.buf)); err != nil {
		x.errs = append(x.errs, pathError(n.path, err))
	}
	return string(x.buf)
}
