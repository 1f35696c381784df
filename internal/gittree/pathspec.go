package gittree

import (
	"fmt"
	"path"
	"strings"
)

// pathspec is a pattern as "git ls-files -- PATTERN" takes it, without magic.
type pathspec struct {
	text string
	glob []element // nil if it has no wildcards
}

// element is a star, or the bytes that match at one place.
type element struct {
	star  bool
	bytes [4]uint64
}

func (e *element) has(c byte) bool { return e.bytes[c/64]>>(c%64)&1 != 0 }

// maxPattern bounds a pattern: each name of a tree may take len(pattern)·len(name) steps, and a set of bytes that is never closed is
// compiled in quadratic time.
const maxPattern = 1 << 10

func parsePathspec(s string) (pathspec, error) {
	if len(s) > maxPattern {
		return pathspec{}, fmt.Errorf("path %.40q… has %d bytes: at most %d are supported, which is less than Git's limit", s, len(s),
			maxPattern)
	}
	if strings.HasPrefix(s, ":") {
		return pathspec{}, fmt.Errorf("path %q: Git's magic path specifications are not supported", s)
	}
	// Git cleans a path before it matches, and keeps a slash at its end.
	clean := path.Clean(s)
	switch {
	case s == "" || clean == ".":
		return pathspec{}, nil
	case clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(clean, "/"):
		return pathspec{}, fmt.Errorf("path %q is outside of the repository", s)
	}
	if strings.HasSuffix(s, "/") {
		clean += "/"
	}
	p := pathspec{text: clean}
	if strings.ContainsAny(s, "*?[\\") {
		p.glob = compile(clean)
	}
	return p, nil
}

func (p pathspec) matches(name string) bool {
	if p.text == "" {
		return true
	}
	if rest, ok := strings.CutPrefix(name, p.text); ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(p.text, "/")) {
		return true
	}
	return p.glob != nil && wildmatch(p.glob, name)
}

func compile(pattern string) []element {
	var out []element
	for len(pattern) > 0 {
		e, width := element{star: pattern[0] == '*'}, 1
		for c := 0; c < 256 && !e.star; c++ {
			var ok bool
			if width, ok = matchOne(pattern, byte(c)); ok {
				e.bytes[c/64] |= 1 << (c % 64)
			}
		}
		out, pattern = append(out, e), pattern[width:]
	}
	return out
}

// wildmatch matches as Git does outside of its "glob" magic: a star and a question mark match slashes too. It keeps
// only the last star to go back to, so it takes at most len(pattern)·len(name) steps.
func wildmatch(pattern []element, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0
	for n < len(name) {
		if p < len(pattern) {
			if pattern[p].star {
				star, mark = p, n
				p++
				continue
			}
			if pattern[p].has(name[n]) {
				p++
				n++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		p, n = star+1, mark
	}
	for p < len(pattern) && pattern[p].star {
		p++
	}
	return p == len(pattern)
}

// matchOne matches one byte against the first element of a pattern and returns the length of that element.
func matchOne(pattern string, c byte) (int, bool) {
	switch pattern[0] {
	case '?':
		return 1, true
	case '\\':
		if len(pattern) < 2 {
			return 1, false
		}
		return 2, pattern[1] == c
	case '[':
		return matchClass(pattern, c)
	default:
		return 1, pattern[0] == c
	}
}

// matchClass matches a bracket expression: ranges, negation by "!" or "^", escapes and named classes.
func matchClass(pattern string, c byte) (int, bool) {
	i, negated, found := 1, false, false
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		negated = true
		i++
	}
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return i + 1, found != negated
		}
		if name, ok := className(pattern[i:]); ok {
			found = found || inClass(name, c)
			i += len("[:") + len(name) + len(":]")
			continue
		}
		low, width := classChar(pattern[i:])
		i += width
		high := low
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			high, width = classChar(pattern[i+1:])
			i += 1 + width
		}
		// Git takes the first character of a range for itself, too, even if the range is empty.
		found = found || c == low || low <= c && c <= high
	}
	return 1, false // never closed
}

// className returns the name in "[:name:]" at the start of s. A class that does not end so is a set with a bracket in it.
func className(s string) (string, bool) {
	rest, ok := strings.CutPrefix(s, "[:")
	if !ok {
		return "", false
	}
	inner, _, ok := strings.Cut(rest, "]")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(inner, ":")
}

func classChar(s string) (byte, int) {
	if s[0] == '\\' && len(s) > 1 {
		return s[1], 2
	}
	return s[0], 1
}

func inClass(name string, c byte) bool {
	lower, upper, digit := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
	switch name {
	case "alpha":
		return lower || upper
	case "digit":
		return digit
	case "alnum":
		return lower || upper || digit
	case "lower":
		return lower
	case "upper":
		return upper
	case "space":
		return c == ' ' || c >= '\t' && c <= '\r'
	case "punct":
		return c > ' ' && c < 0x7f && !lower && !upper && !digit
	case "xdigit":
		return digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	}
	return false
}
