package template

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

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
		c.errs = append(c.errs, fmt.Errorf("%s: %w", path, placed(path, err)))
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

// join appends a key to a path, quoted where a dot or a slash would make it ambiguous. Paths have a limit.
func join(path, key string) string {
	if len(path) > maxPath {
		return path
	}
	key = words.Shorten(key, maxKey)
	if strings.ContainsAny(key, "./[] ") {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
