package source

import "strings"

// expand replaces $name and ${name} by what value returns, as os.Expand does, which Argo CD uses and which logic cannot import.
func expand(s string, value func(name string) string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if rest == "" {
			b.WriteByte('$')
			return b.String()
		}
		name, width := variable(rest)
		switch {
		case name == "" && width == 0:
			b.WriteByte('$') // no name follows
		case name == "": // bad syntax is eaten
		default:
			b.WriteString(value(name))
		}
		s = rest[width:]
	}
}

// variable returns the name at the start of a text, and how many bytes it takes there.
func variable(s string) (name string, width int) {
	switch {
	case s[0] == '{':
		if len(s) > 2 && isSpecial(s[1]) && s[2] == '}' {
			return s[1:2], 3
		}
		end := strings.IndexByte(s, '}')
		switch {
		case end < 0:
			return "", 1
		case end == 1:
			return "", 2
		}
		return s[1:end], end + 1
	case isSpecial(s[0]):
		return s[:1], 1
	}
	i := 0
	for i < len(s) && isAlphaNumeric(s[i]) {
		i++
	}
	return s[:i], i
}

func isSpecial(c byte) bool { return strings.IndexByte("*#$@!?-0123456789", c) >= 0 }

func isAlphaNumeric(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
