package lint

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/plan"
)

// ruleNoReason is about comments that silence a rule and do not say why.
var ruleNoReason = Rule{
	Rule: plan.Rule{
		Name: "ignore-without-reason", Kind: plan.Advice, Severity: plan.Warning,
		Means: "A comment argosy:ignore has no reason. It silences nothing.",
		Cure:  "Write the reason after the name of the rule: # argosy:ignore RULE because ...",
	},
	Family: Fields,
	Why:    "Whoever reads the file later must be able to tell whether the finding still may be ignored.",
}

var ignorePattern = regexp.MustCompile(`#\s*argosy:ignore\s+([\w,-]+)[ \t]*(.*)$`)

// ignore is a comment that silences rules.
type ignore struct {
	rules  []string
	reason string
	line   int
}

// ignores returns the comments that are about a line: those on it, and those on the comment lines directly above.
func (f *file) ignores(line int) []ignore {
	if out, ok := f.ignored[line]; ok { // of many findings on one line, below many comments
		return out
	}
	var out []ignore
	for at := line; at > 0; at-- {
		text := f.bytes(at)
		if at < line && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("#")) {
			break
		}
		if m := ignorePattern.FindSubmatch(text); m != nil {
			out = append(out, ignore{strings.Split(string(m[1]), ","), strings.TrimSpace(string(m[2])), at})
		}
	}
	if f.ignored == nil {
		f.ignored = map[int][]ignore{}
	}
	f.ignored[line] = out
	return out
}

// silenced reports whether a comment silences a rule at a line, and the line of a comment that would if it had a reason, 0 for none.
func (f *file) silenced(rule string, line int) (silent bool, noReason int) {
	for _, i := range f.ignores(line) {
		switch {
		case !slices.Contains(i.rules, rule):
		case i.reason != "":
			return true, 0
		default:
			noReason = i.line
		}
	}
	return false, noReason
}
