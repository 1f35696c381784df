package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// WriteYAML writes objects as a YAML stream, each behind a document marker.
func WriteYAML(w io.Writer, objects ...Object) error {
	var buf []byte
	for _, o := range objects {
		buf = append(buf[:0], "---\n"...)
		buf = AppendYAML(buf, o)
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes v as indented JSON with keys in order.
func WriteJSON(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encoding JSON: %w", err)
	}
	_, err := w.Write(buf.Bytes())
	return err
}

// AppendYAML appends v as a block of YAML that any YAML 1.1 or 1.2 parser reads back as v. Keys are sorted, so equal
// values give equal bytes.
func AppendYAML(dst []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 {
			return appendMap(dst, v, 0)
		}
	case []any:
		if len(v) > 0 {
			return appendList(dst, v, 0)
		}
	}
	return append(appendScalar(dst, v, 0), '\n')
}

func appendMap(dst []byte, m map[string]any, indent int) []byte {
	var stack [16]string
	keys := stack[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		if i > 0 {
			dst = appendIndent(dst, indent)
		}
		// YAML reads a key on the line of its value only up to 1,024 characters, quotes included.
		if start := len(dst); len(k) > 128 {
			dst = appendString(append(dst, "? "...), k, -1)
			if len(dst)-start > 1024 {
				dst = appendIndent(append(dst, '\n'), indent)
			} else {
				dst = append(dst[:start], dst[start+2:]...)
			}
		} else {
			dst = appendString(dst, k, -1)
		}
		dst = append(dst, ':')
		dst = appendValue(dst, m[k], indent, false)
	}
	return dst
}

func appendList(dst []byte, list []any, indent int) []byte {
	for i, e := range list {
		if i > 0 {
			dst = appendIndent(dst, indent)
		}
		dst = append(dst, '-')
		dst = appendValue(dst, e, indent, true)
	}
	return dst
}

// appendValue writes a value behind a key's colon or an item's dash: a scalar on the same line, or a nested block.
func appendValue(dst []byte, v any, indent int, inList bool) []byte {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			break
		}
		if inList {
			return appendMap(append(dst, ' '), v, indent+2)
		}
		dst = appendIndent(append(dst, '\n'), indent+2)
		return appendMap(dst, v, indent+2)
	case []any:
		if len(v) == 0 {
			break
		}
		if inList {
			return appendList(append(dst, ' '), v, indent+2)
		}
		// A list inside a map sits at the map's own indentation, as kubectl prints it.
		dst = appendIndent(append(dst, '\n'), indent)
		return appendList(dst, v, indent)
	}
	dst = append(dst, ' ')
	return append(appendScalar(dst, v, indent+2), '\n')
}

func appendScalar(dst []byte, v any, indent int) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case string:
		return appendString(dst, v, indent)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return appendFloat(dst, v)
	case map[string]any:
		return append(dst, "{}"...)
	case []any:
		return append(dst, "[]"...)
	default:
		return appendOther(dst, v)
	}
}

// appendFloat writes f as encoding/json does, so that an integral value stays a number without a fraction.
func appendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	j, err := json.Marshal(f)
	if err != nil {
		return append(dst, "null"...)
	}
	// YAML 1.1 wants a dot in a float with an exponent.
	if i := bytes.IndexByte(j, 'e'); i >= 0 && bytes.IndexByte(j, '.') < 0 {
		dst = append(append(dst, j[:i]...), ".0"...)
		return append(dst, j[i:]...)
	}
	return append(dst, j...)
}

// appendOther writes a Go value that did not come from Decode, as JSON, which is YAML.
func appendOther(dst []byte, v any) []byte {
	j, err := json.Marshal(v)
	if err != nil {
		return append(dst, "null"...)
	}
	return append(dst, j...)
}

func appendIndent(dst []byte, n int) []byte {
	const spaces = "                                "
	for n > len(spaces) {
		dst = append(dst, spaces...)
		n -= len(spaces)
	}
	return append(dst, spaces[:n]...)
}

// appendString writes s plain where no parser can take it for anything else, as a block where it has several lines
// (indent >= 0), and quoted otherwise.
func appendString(dst []byte, s string, indent int) []byte {
	if isPlain(s) {
		return append(dst, s...)
	}
	if indent >= 0 && isBlock(s) {
		return appendBlock(dst, s, indent)
	}
	return appendQuoted(dst, s)
}

// Properties of a byte for isPlain: where it may be, and whether a number may have it.
const (
	plainFirst = 1 << iota
	plainLater
	plainNumber
	plainAlone // not at the end, and not before a space
)

var plain = func() (table [256]uint8) {
	for _, class := range []struct {
		bytes string
		is    uint8
	}{
		{"0123456789abcdefABCDEFxXoOpPtTzZ_", plainFirst | plainLater | plainNumber},
		{"ghijklmnqrsuvwyGHIJKLMNQRSUVWY/$(", plainFirst | plainLater},
		{".+-", plainLater | plainNumber},
		{"@=*);", plainLater},
		{": ", plainLater | plainNumber | plainAlone},
	} {
		for _, c := range []byte(class.bytes) {
			table[c] = class.is
		}
	}
	return table
}()

// isPlain is conservative: any other text is quoted, which is always right.
func isPlain(s string) bool {
	if s == "" || len(s) > 200 || plain[s[0]]&plainFirst == 0 {
		return false
	}
	numeric := true
	for i := 0; i < len(s); i++ {
		is := plain[s[i]]
		if is&plainLater == 0 {
			return false
		}
		numeric = numeric && is&plainNumber != 0
		if is&plainAlone != 0 && (i == len(s)-1 || s[i+1] == ' ' || s[i] == ' ' && s[i+1] == '#') {
			return false
		}
	}
	if numeric && s[0] >= '0' && s[0] <= '9' {
		return false
	}
	return !isWord(s)
}

// isWord reports whether YAML 1.1 reads s as something other than a string.
func isWord(s string) bool {
	if len(s) > 5 {
		return false
	}
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return true
	}
	return false
}

// isBlock reports whether a literal block shows s as it is.
func isBlock(s string) bool {
	if strings.IndexByte(s, '\n') < 0 || !utf8.ValidString(s) {
		return false
	}
	// The indentation of a block is that of its first line, so that line must have text and no space in front.
	if s[0] == '\n' || s[0] == ' ' || s[0] == '\t' {
		return false
	}
	for i, r := range s {
		switch {
		case r == '\n':
			if i > 0 && (s[i-1] == ' ' || s[i-1] == '\t') {
				return false
			}
		case r == '\t':
			// A tab in the indentation of a later line confuses some parsers.
			if s[i-1] == '\n' {
				return false
			}
		case needsEscape(r):
			return false
		}
	}
	last := s[len(s)-1]
	return last != ' ' && last != '\t'
}

func appendBlock(dst []byte, s string, indent int) []byte {
	body := strings.TrimRight(s, "\n")
	switch len(s) - len(body) {
	case 0:
		dst = append(dst, "|-"...)
	case 1:
		dst = append(dst, '|')
	default:
		dst = append(dst, "|+"...)
		body = s[:len(s)-1]
	}
	for line := range strings.SplitSeq(body, "\n") {
		dst = append(dst, '\n')
		if line != "" {
			dst = appendIndent(dst, indent)
			dst = append(dst, line...)
		}
	}
	return dst
}

// needsEscape reports whether YAML does not allow, or some parsers break at, r.
func needsEscape(r rune) bool {
	return r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == 0x2028 || r == 0x2029 || r == 0xfeff ||
		r == 0xfffe || r == 0xffff || r == utf8.RuneError
}

func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case needsEscape(r):
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
