package amend

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// quotes is how a scalar is written.
type quotes int

const (
	plain  quotes = iota // without quotes, if it is a string then
	single               // in single quotes, if it needs no escapes
	double               // as JSON has it
)

// quotesOf returns the quotes of a scalar by its first byte.
func quotesOf(first byte) quotes {
	switch first {
	case '"':
		return double
	case '\'':
		return single
	}
	return plain
}

// simple are the texts that mean themselves in block and flow style, unless they are numbers and the like.
var simple = regexp.MustCompile(`^[\w./][\w./;*@+=-]*$`)

// scalar writes a string.
func scalar(s string, q quotes) string {
	switch {
	case q == plain && simple.MatchString(s):
		if v, err := manifest.Value([]byte(s)); err == nil && v == s {
			return s
		}
	case q == single && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '\'' }):
		return "'" + s + "'"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string is always valid
	return strings.TrimSuffix(b.String(), "\n")
}

// entry is a key and its value.
type entry struct{ key, value string }

// text writes an entry. In double quotes it is also JSON.
func (e entry) text(q quotes) string { return scalar(e.key, q) + ": " + scalar(e.value, q) }
