package template

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	gotemplate "text/template"

	"github.com/Masterminds/sprig/v3"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// removed are the functions that Argo CD removes from sprig because they tell about the environment.
var removed = []string{"env", "expandenv", "getHostByName"}

// unstable are the functions of sprig that answer differently each time. Argo CD allows them, but an Application that
// changes with every evaluation is never in sync.
var unstable = []string{
	"now", "ago", "randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randInt", "randBytes", "shuffle", "uuidv4",
	"bcrypt", "htpasswd", "encryptAES", "genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert",
	"genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
}

// Unstable returns the names of the functions that answer differently each time. A template that calls one is an error here.
func Unstable() []string { return slices.Clone(unstable) }

// base is the function map before it is tied to a budget.
var base = sync.OnceValue(func() gotemplate.FuncMap {
	funcs := sprig.GenericFuncMap()
	for _, name := range removed {
		delete(funcs, name)
	}
	for _, name := range unstable {
		funcs[name] = func(...any) (string, error) {
			return "", &Error{Cause: Different, text: "it answers differently each time, so the Applications would never be in sync"}
		}
	}
	fixTime(funcs)
	funcs["normalize"] = Normalize
	funcs["slugify"] = slugify
	funcs["toYaml"] = toYAML
	funcs["fromYaml"] = fromYAML
	funcs["fromYamlArray"] = fromYAMLArray
	// sprig takes these two in the order of a Go map, that is, in any order.
	funcs["keys"] = sortedKeys
	funcs["values"] = sortedValues
	// The built-in functions that make strings, so that the guard sees them too.
	funcs["print"] = fmt.Sprint
	funcs["println"] = fmt.Sprintln
	funcs["printf"] = fmt.Sprintf
	funcs["html"] = gotemplate.HTMLEscaper
	funcs["js"] = gotemplate.JSEscaper
	funcs["urlquery"] = gotemplate.URLQueryEscaper
	return funcs
})

// builtins are the functions that text/template itself adds, for the parser, which asks for names only.
var builtins = map[string]any{
	"and": 0, "call": 0, "eq": 0, "ge": 0, "gt": 0, "html": 0, "index": 0, "js": 0, "le": 0, "len": 0,
	"lt": 0, "ne": 0, "not": 0, "or": 0, "print": 0, "printf": 0, "println": 0, "slice": 0, "urlquery": 0,
}

var invalidNameChars = regexp.MustCompile("[^-a-z0-9.]")

var invalidSlugChars = regexp.MustCompile("[^a-z0-9]+")

// Normalize makes a DNS name of s as Argo CD's normalize function does: lower case, everything but letters, digits,
// dots and dashes replaced by a dash, at most 253 characters, no dot or dash at the ends.
func Normalize(s string) string {
	if isNormal(s) {
		return s
	}
	s = invalidNameChars.ReplaceAllString(strings.ToLower(s), "-")
	if len(s) > 253 {
		s = s[:253]
	}
	return strings.Trim(s, "-.")
}

func isNormal(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' && c != '.' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return len(s) <= 253
}

// slugify is called with the name last, in front of it an optional length (50) and whether to cut at a dash (true).
func slugify(args ...any) (string, error) {
	size, smart, name := 50, true, ""
	for i, arg := range args {
		var ok bool
		switch {
		case i == len(args)-1:
			name, ok = arg.(string)
		case i == 0:
			size, ok = arg.(int)
		case i == 1:
			smart, ok = arg.(bool)
		}
		if !ok {
			return "", fmt.Errorf("argument %d has the wrong type %T; slugify takes a length, true or false, and a string", i+1, arg)
		}
	}
	s := Normalize(name)
	if !smart && len(s) >= size {
		if size < 0 {
			return "", fmt.Errorf("the length must not be negative, it is %d", size)
		}
		s = s[:size]
	}
	s = strings.ReplaceAll(s, ".", "-")
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	s = strings.Trim(s, "-")
	if size <= 0 || !smart || len(s) <= size {
		return s, nil
	}
	if i := strings.LastIndexByte(s[:size+1], '-'); i >= 0 {
		return s[:i], nil
	}
	return s[:size], nil
}

func toYAML(v any) (string, error) {
	data, err := manifest.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}

func fromYAML(s string) (map[string]any, error) {
	m := map[string]any{}
	err := manifest.Unmarshal([]byte(s), &m)
	return m, err
}

func fromYAMLArray(s string) ([]any, error) {
	a := []any{}
	err := manifest.Unmarshal([]byte(s), &a)
	return a, err
}

func sortedKeys(dicts ...map[string]any) []string {
	keys := []string{}
	for _, d := range dicts {
		start := len(keys)
		for k := range d {
			keys = append(keys, k)
		}
		slices.Sort(keys[start:])
	}
	return keys
}

func sortedValues(d map[string]any) []any {
	values := []any{}
	for _, k := range sortedKeys(d) {
		values = append(values, d[k])
	}
	return values
}
