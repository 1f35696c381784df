package template

import (
	"context"
	"fmt"
)

// optional is a program that gives its own text if a parameter is missing.
type optional struct {
	text    string
	program *program
}

func (n *optional) render(x *execution) any {
	before := len(x.errs)
	v := n.program.render(x)
	if len(x.errs) > before && isMissing(x.errs[before]) {
		x.errs = x.errs[:before]
		return n.text
	}
	return v
}

// execution is one rendering of one tree.
type execution struct {
	ctx    context.Context
	engine *Engine
	params map[string]any
	buf    []byte
	errs   []error
}

// ended reports whether to stop: there are many errors, or the budget is used up.
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
