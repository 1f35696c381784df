package argo

import (
	"errors"
	"regexp"
	"strings"
)

// Glob translates a pattern in the syntax of gobwas/glob, which Argo CD uses. A * and a ? do not match the separators, of which there may
// be none; ** does.
func Glob(pattern, separators string) (*regexp.Regexp, error) {
	one := "."
	if separators != "" {
		one = "[^" + regexp.QuoteMeta(separators) + "]"
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(`.*`)
			i++
		case c == '*':
			b.WriteString(one + "*")
		case c == '?':
			b.WriteString(one)
		case c == '[':
			end := strings.IndexByte(pattern[i:], ']')
			if end < 2 {
				return nil, errors.New("it has a [ without its ]")
			}
			class, negated := strings.CutPrefix(pattern[i+1:i+end], "!")
			class = strings.NewReplacer(`^`, `\^`, `[`, `\[`).Replace(class)
			b.WriteString(map[bool]string{false: "[", true: "[^"}[negated] + class + "]")
			i += end
		case c == '{':
			depth++
			b.WriteString(`(?:`)
		case c == '}' && depth > 0:
			depth--
			b.WriteString(`)`)
		case c == ',' && depth > 0:
			b.WriteString(`|`)
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	if depth > 0 {
		return nil, errors.New("it has a { without its }")
	}
	re, err := regexp.Compile(b.String() + `\z`)
	if err != nil {
		return nil, errors.New("invalid character class")
	}
	return re, nil
}
