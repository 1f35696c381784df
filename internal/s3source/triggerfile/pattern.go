package triggerfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// filter chooses files by name.
type filter struct{ include, exclude []pattern }

type pattern struct {
	*regexp.Regexp
	whole bool // matches the whole name, not its last element
}

func (p pattern) match(name string) bool {
	if !p.whole {
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	return p.MatchString(name)
}

func (f filter) keeps(name string) bool {
	matches := func(p pattern) bool { return p.match(name) }
	return (len(f.include) == 0 || slices.ContainsFunc(f.include, matches)) && !slices.ContainsFunc(f.exclude, matches)
}

// parsePattern translates a pattern to a regular expression, which takes linear time whatever it is. A pattern that can never match a name,
// such as one for other programs, is refused: otherwise a file that it should exclude would be deployed.
func parsePattern(text string) (pattern, error) {
	switch {
	case strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./"):
		return pattern{}, errors.New("must be relative to path, without / or ./ in front")
	case strings.HasPrefix(text, "!"):
		return pattern{}, errors.New("must not be negated; use exclude, or include")
	case strings.HasSuffix(text, "/"):
		return pattern{}, fmt.Errorf("must match files, write %q", text+"**")
	}
	var b strings.Builder
	b.WriteString(`(?s)^`)
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '*':
			i += star(&b, text, i)
		case '?':
			b.WriteString(`[^/]`)
		case '[':
			end := strings.IndexByte(text[i:], ']')
			if end < 2 {
				return pattern{}, errors.New("has a [ without its ]")
			}
			class := strings.ReplaceAll(text[i+1:i+end], `\`, `\\`)
			b.WriteString("[" + strings.Replace(class, "!", "^", min(1, strings.Index(class, "!")+1)) + "]")
			i += end
		case '{':
			depth++
			b.WriteString(`(?:`)
		case '}':
			if depth--; depth < 0 {
				return pattern{}, errors.New("has a } without its {")
			}
			b.WriteString(`)`)
		case ',':
			if depth > 0 {
				b.WriteString(`|`)
			} else {
				b.WriteString(`,`)
			}
		default:
			b.WriteString(regexp.QuoteMeta(text[i : i+1]))
		}
	}
	if depth > 0 {
		return pattern{}, errors.New("has a { without its }")
	}
	b.WriteString(`$`)
	re, err := regexp.Compile(b.String())
	if err != nil {
		return pattern{}, errors.New("has an invalid character class")
	}
	return pattern{re, strings.Contains(text, "/") || strings.Contains(text, "**")}, nil
}

// star translates * and **, and returns how many more characters it has used. "**/" is any number of directories, none
// included.
func star(b *strings.Builder, text string, i int) int {
	if !strings.HasPrefix(text[i:], "**") {
		b.WriteString(`[^/]*`)
		return 0
	}
	if strings.HasPrefix(text[i:], "**/") && (i == 0 || text[i-1] == '/') {
		b.WriteString(`(?:.*/)?`)
		return 2
	}
	b.WriteString(`.*`)
	return 1
}
