package manifest

import (
	"bytes"
	"fmt"
	"strings"

	goyaml "sigs.k8s.io/yaml/goyaml.v2"
)

// Limits of one input. Every decoder of untrusted YAML or JSON calls Check first.
const (
	// MaxBytes bounds the text. The largest object a Kubernetes API server accepts is 3 MiB; this leaves room for a rendered repository in
	// one file.
	MaxBytes = 16 << 20
	// maxNodes bounds the values: the parser takes some 300 bytes for each, and two bytes of text are enough for one.
	maxNodes = 2_000_000
	// maxExpanded bounds the text with aliases replaced, in bytes.
	maxExpanded = 2 * MaxBytes
	// maxDepth bounds nesting. The schemas of the largest CustomResourceDefinitions nest some 60 deep. Indentation grows with it.
	maxDepth = 200
	// maxWritten bounds the YAML of one input, indentation included: brackets cost one byte, and a line of a block up to 2*maxDepth.
	maxWritten = 4 * MaxBytes
	// maxErrors bounds the errors and the warnings about one input: each document can have one.
	maxErrors = 100
	// maxMessage bounds the parser's message, which can have a line for each line of the input.
	maxMessage = 600
)

// nodeBytes is the size of a value besides its text.
const nodeBytes = 16

// Check refuses YAML or JSON that takes far more memory than its text suggests: too many values, or aliases that stand for too much. It
// decides before anything is decoded. Other problems are left to the decoder.
func Check(data []byte) error {
	if len(data) > MaxBytes {
		return fmt.Errorf("%d bytes is over the limit of %d", len(data), MaxBytes)
	}
	if Nodes(data) > maxNodes {
		return fmt.Errorf("it has more than %d values", maxNodes)
	}
	if !hasAliases(data) {
		return nil
	}
	parts := split(data)
	if isUTF16(data) {
		parts = []part{{data: data}}
	}
	for _, p := range parts {
		if !hasAliases(p.data) {
			continue
		}
		// This parser decodes the text, before the step that expands each alias. It refuses aliases that multiply; it shares strings.
		var v any
		if err := goyaml.Unmarshal(p.data, &v); err != nil {
			continue
		}
		if expanded(v, maxExpanded) > maxExpanded {
			return fmt.Errorf("with its aliases replaced it is over the limit of %d bytes", maxExpanded)
		}
	}
	return nil
}

// Nodes is an upper bound of the number of values in a YAML or JSON text. Every value has an indicator of its own in front of it; what
// looks like one in a string counts, too.
func Nodes(data []byte) int {
	n := 1
	data = narrow(data)
	for i, c := range data {
		switch c {
		case ',', '{':
			n += 2 // a key and its value
		case '[':
			n++
		case '-', '?', ':':
			next := byte('\n')
			if i+1 < len(data) {
				next = data[i+1]
			}
			switch {
			case c == '-' && isBlank(next):
				n++
			case c != '-' && (isBlank(next) || strings.IndexByte(",[]{}", next) >= 0):
				n += 2
			}
		}
	}
	return n
}

// isBlank reports whether c is, or begins or ends, white space; YAML 1.1 has three line breaks that are not ASCII.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c >= 0x80 }

// isUTF16 reports whether the parser reads a text as UTF-16.
func isUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
}

// narrow returns UTF-16 with ASCII characters of one byte each, and any other text unchanged.
func narrow(data []byte) []byte {
	if !isUTF16(data) {
		return data
	}
	return bytes.ReplaceAll(data, []byte{0}, nil)
}

// hasAliases reports whether a text may have an anchor and an alias of it.
func hasAliases(data []byte) bool {
	anchor, alias := false, false
	data = narrow(data)
	for i, c := range data {
		if c != '&' && c != '*' || i+1 == len(data) || !isName(data[i+1]) || i > 0 && !isBlank(data[i-1]) &&
			strings.IndexByte("[{,:-?", data[i-1]) < 0 {
			continue
		}
		anchor, alias = anchor || c == '&', alias || c == '*'
		if anchor && alias {
			return true
		}
	}
	return false
}

// isName reports whether an anchor may begin with c, for any parser.
func isName(c byte) bool {
	return (c >= 0x80 || !isBlank(c)) && strings.IndexByte("&*,[]{}\"'", c) < 0
}

// expanded is the size of a value in bytes, with every part counted as often as it is there. It stops above limit.
func expanded(v any, limit int) int {
	switch v := v.(type) {
	case string:
		return nodeBytes + len(v)
	case []any:
		n := nodeBytes
		for i := 0; i < len(v) && n <= limit; i++ {
			n += expanded(v[i], limit-n)
		}
		return n
	case map[any]any:
		n := nodeBytes
		for k, e := range v {
			if n > limit {
				break
			}
			n += expanded(k, limit-n)
			n += expanded(e, limit-n)
		}
		return n
	default:
		return nodeBytes
	}
}

// Size is about the length of a decoded value as YAML, indentation included.
func Size(v any) int {
	m := measure{}
	m.value(v, 0)
	return m.size
}

// measure measures a decoded value while its numbers are replaced.
type measure struct {
	size, depth int
	replace     bool
}

func (m *measure) err() error {
	switch {
	case m.depth > maxDepth:
		return fmt.Errorf("values are nested deeper than %d", maxDepth)
	case m.size > maxWritten:
		return fmt.Errorf("as YAML it is over the limit of %d bytes", maxWritten)
	}
	return nil
}

// value returns v. With replace, numbers in it are those that a decoded value has.
func (m *measure) value(v any, depth int) any {
	m.size += 2*depth + 4
	switch t := v.(type) {
	case string:
		m.size += len(t)
		return v
	case map[string]any:
		m.depth = max(m.depth, depth+1)
		for k, e := range t {
			m.size += len(k)
			if changed := m.value(e, depth+1); m.replace {
				t[k] = changed
			}
		}
	case []any:
		m.depth = max(m.depth, depth+1)
		for i, e := range t {
			if changed := m.value(e, depth+1); m.replace {
				t[i] = changed
			}
		}
	default:
		m.size += 8
		if m.replace {
			return number(v)
		}
	}
	return v
}
