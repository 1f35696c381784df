package template

import (
	"reflect"
	"regexp/syntax"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// products holds, for functions whose result or whose work can be the product of their arguments, an upper bound of
// it, in bytes.
var products = map[string]func(args []reflect.Value) int{
	"repeat":    func(a []reflect.Value) int { return mul(integer(a[0]), length(a[1])) },
	"indent":    func(a []reflect.Value) int { return length(a[1]) + mul(integer(a[0]), 1+lines(a[1])) },
	"nindent":   func(a []reflect.Value) int { return length(a[1]) + mul(integer(a[0]), 1+lines(a[1])) },
	"replace":   func(a []reflect.Value) int { return length(a[2]) + mul(length(a[1]), occurrences(a[2], a[0])) },
	"wrapWith":  func(a []reflect.Value) int { return mul(length(a[1]), length(a[2])) },
	"join":      func(a []reflect.Value) int { return mul(length(a[0]), items(a[1])) },
	"until":     func(a []reflect.Value) int { return mul(8, integer(a[0])) },
	"untilStep": func(a []reflect.Value) int { return mul(8, span(a)) },
	"seq":       func(a []reflect.Value) int { return mul(8, span(elements(a[0]))) },
	"printf":    printfSize,
	// Each element is an entry of a map, or a value.
	"split":  func(a []reflect.Value) int { return mul(128, 1+occurrences(a[1], a[0])) },
	"splitn": func(a []reflect.Value) int { return mul(128, 1+occurrences(a[2], a[0])) },
	// It looks for each character of the text in all of the set.
	"trimAll": func(a []reflect.Value) int { return mul(length(a[0]), length(a[1])) },
	"trimall": func(a []reflect.Value) int { return mul(length(a[0]), length(a[1])) },
	// It compiles a pattern for each part of the constraint.
	"semverCompare": func(a []reflect.Value) int { return mul(4096, length(a[0])) },
	// A value takes far more than its text.
	"fromYaml":      parsed,
	"fromYamlArray": parsed,
	"fromJson":      parsed,
	"mustFromJson":  parsed,
	"fromJsonArray": parsed,
	"fromToml":      parsed,
	"randAlphaNum":  random,
	"randAlpha":     random,
	"randAscii":     random,
	"randNumeric":   random,
	"randBytes":     random,
	// These compare every element with every other, which costs as much as writing some bytes.
	"uniq":        func(a []reflect.Value) int { return mul(16, mul(items(a[0]), items(a[0]))) },
	"mustUniq":    func(a []reflect.Value) int { return mul(16, mul(items(a[0]), items(a[0]))) },
	"without":     func(a []reflect.Value) int { return mul(16, mul(items(a[0]), items(a[1]))) },
	"mustWithout": func(a []reflect.Value) int { return mul(16, mul(items(a[0]), items(a[1]))) },

	"regexReplaceAll":            regexReplace,
	"regexReplaceAllLiteral":     regexReplace,
	"mustRegexReplaceAll":        regexReplace,
	"mustRegexReplaceAllLiteral": regexReplace,
	"regexMatch":                 regexWork,
	"mustRegexMatch":             regexWork,
	"regexFind":                  regexWork,
	"mustRegexFind":              regexWork,
	"regexFindAll":               regexList,
	"mustRegexFindAll":           regexList,
	"regexSplit":                 regexList,
	"mustRegexSplit":             regexList,
}

// parsed bounds the memory of a parser: some 300 bytes for each value.
func parsed(a []reflect.Value) int {
	if text := plain(a[0]); text.Kind() == reflect.String {
		return mul(256, manifest.Nodes([]byte(text.String())))
	}
	return 0
}

func random(a []reflect.Value) int { return mul(4, integer(a[0])) }

// regexList is regexWork for functions that give a list, at most an element for each byte.
func regexList(a []reflect.Value) int { return max(regexWork(a), mul(32, length(a[1])+1)) }

// regexWork bounds the work of matching: in the worst case every instruction of the pattern for every byte of the text.
func regexWork(a []reflect.Value) int {
	pattern := plain(a[0])
	if pattern.Kind() != reflect.String {
		return 0
	}
	if pattern.Len() > maxPattern {
		return mul(1<<30, 1<<30)
	}
	parsed, err := syntax.Parse(pattern.String(), syntax.Perl)
	if err != nil {
		return 0 // the function will say so
	}
	n := instructions(parsed)
	if n > maxPattern {
		return mul(1<<30, 1<<30)
	}
	// Compiling costs, too.
	return mul(n, length(a[1])+64)
}

// instructions is an upper bound of those that a pattern is compiled to.
func instructions(r *syntax.Regexp) int {
	n := 2 + 2*len(r.Rune)
	for _, sub := range r.Sub {
		n = min(n+instructions(sub), 1<<30)
	}
	if r.Op == syntax.OpRepeat {
		n = mul(n, 1+max(r.Min, r.Max))
	}
	return n
}

func regexReplace(a []reflect.Value) int {
	return max(regexWork(a), mul(length(a[1])+1, length(a[2])+1))
}

// mul multiplies without overflow.
func mul(a, b int) int {
	const most = 1 << 40
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > most/b {
		return most
	}
	return a * b
}

func plain(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return reflect.Value{}
		}
		v = v.Elem()
	}
	return v
}

func integer(v reflect.Value) int {
	if v = plain(v); v.IsValid() && v.CanInt() {
		return int(v.Int())
	}
	return 0
}

func length(v reflect.Value) int {
	if v = plain(v); v.Kind() == reflect.String {
		return v.Len()
	}
	return 0
}

func items(v reflect.Value) int {
	switch v = plain(v); v.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return v.Len()
	}
	return 0
}

func elements(v reflect.Value) []reflect.Value {
	out := make([]reflect.Value, v.Len())
	for i := range out {
		out[i] = v.Index(i)
	}
	return out
}

// span is an upper bound of the length of the sequence that start, stop and step describe.
func span(a []reflect.Value) int {
	n := 0
	for _, v := range a {
		i := integer(v)
		n = max(n, i, -i)
	}
	return mul(2, n)
}

func lines(v reflect.Value) int {
	if v = plain(v); v.Kind() == reflect.String {
		return strings.Count(v.String(), "\n")
	}
	return 0
}

func occurrences(s, sub reflect.Value) int {
	s, sub = plain(s), plain(sub)
	if s.Kind() != reflect.String || sub.Kind() != reflect.String {
		return 0
	}
	return strings.Count(s.String(), sub.String())
}

// printfSize bounds the result of printf: each verb may print the largest argument, padded to the largest width.
func printfSize(a []reflect.Value) int {
	format := a[0].String()
	width, run := 0, 0
	for i := 0; i < len(format); i++ {
		if c := format[i]; c >= '0' && c <= '9' {
			run = min(run*10+int(c-'0'), 1<<30)
			width = max(width, run)
		} else {
			run = 0
		}
	}
	largest := 0
	for _, arg := range elements(a[1]) {
		// A number can be a width, by way of "*".
		largest = max(largest, weigh(arg, 1<<30, 0))
		if strings.Contains(format, "*") {
			width = max(width, integer(arg), -integer(arg))
		}
	}
	return len(format) + mul(strings.Count(format, "%"), max(min(width, 1_000_000), 8*largest, 64))
}
