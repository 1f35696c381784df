package convert

import (
	"bytes"
	"errors"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/strict"
)

// errText says that a document cannot be edited in its text. It is written anew then.
var errText = errors.New("its text cannot be edited")

// splice is text that comes in the place of other text.
type splice struct {
	from, to int
	text     string
}

// apply makes replacements that do not overlap, the first one last.
func apply(data []byte, list []splice) []byte {
	newline := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		newline = "\r\n"
	}
	for len(list) > 0 {
		last := 0
		for i, s := range list {
			if s.from > list[last].from {
				last = i
			}
		}
		s := list[last]
		text := strings.ReplaceAll(s.text, "\n", newline)
		data = append(append(append([]byte{}, data[:s.from]...), text...), data[s.to:]...)
		list = append(list[:last:last], list[last+1:]...)
	}
	return data
}

// indent puts space in front of every line that is not empty.
func indent(text, space string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, "\r\n") != "" {
			b.WriteString(space)
		}
		b.WriteString(line)
	}
	return b.String()
}

// dedent takes n spaces from the front of every line, or as many as it has.
func dedent(text string, n int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		cut := 0
		for cut < n && cut < len(line) && line[cut] == ' ' {
			cut++
		}
		b.WriteString(line[cut:])
	}
	return b.String()
}

// lineOf returns the offsets of the line that an offset is on: its first byte, and the one behind its end.
func lineOf(data []byte, at int) (start, end int) {
	start = 1 + bytes.LastIndexByte(data[:at], '\n')
	if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
		return start, at + i + 1
	}
	return start, len(data)
}

// column returns how many spaces are in front of an offset on its line. It reports false if there is anything else.
func column(data []byte, at int) (int, bool) {
	start, _ := lineOf(data, at)
	front := bytes.TrimPrefix(data[start:at], []byte("\uFEFF"))
	return len(front), len(bytes.Trim(front, " ")) == 0
}

// block is the text of a field whose value is on the lines below its key.
type block struct {
	key      int // offset of the line of the key
	from, to int // the lines below it
	column   int // of the key
	inner    int // of the value
}

// blockOf finds the lines of a field. Blank lines and comments behind them that are not indented further than the key are not of it.
func blockOf(data []byte, f strict.NodeField) (b block, ok bool) {
	if f.Value.Flow || f.Value.Marked || f.Key.End == 0 || len(f.Value.Fields)+len(f.Value.Items) == 0 {
		return b, false
	}
	if b.column, ok = column(data, f.Key.Start); !ok {
		return b, false
	}
	b.key, b.from = lineOf(data, f.Key.Start)
	rest := strings.TrimLeft(string(data[f.Key.End:b.from]), " ")
	if value, found := strings.CutPrefix(rest, ":"); !found || !isBlank(value) {
		return b, false
	}
	b.inner, ok = column(data, f.Value.Start)
	b.to = b.from
	isList := f.Value.Kind == strict.ListNode
	for at := b.from; at < len(data); {
		start, end := lineOf(data, at)
		line := strings.TrimRight(string(data[start:end]), "\r\n")
		text := strings.TrimLeft(line, " ")
		deeper := len(line)-len(text) > b.column || isList && len(line)-len(text) == b.column && strings.HasPrefix(text, "-") &&
			!strings.HasPrefix(line, "---")
		switch {
		case text == "": // of it if something of it follows
		case deeper:
			b.to = end
		case !strings.HasPrefix(text, "#"):
			return b, ok
		}
		at = end
	}
	return b, ok
}

// isBlank reports whether a rest of a line has no value.
func isBlank(rest string) bool {
	text := strings.TrimSpace(rest)
	return text == "" || strings.HasPrefix(text, "#") && strings.HasPrefix(strings.TrimLeft(rest, " "), "#") && rest[0] == ' '
}

// value returns the text of the value, without its indentation.
func (b block) value(data []byte) string {
	text := dedent(strings.ReplaceAll(string(data[b.from:b.to]), "\r\n", "\n"), b.inner)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// scalar replaces a scalar on one line by a word.
func scalar(data []byte, n *strict.Node, word string) (splice, error) {
	if n.Kind != strict.ScalarNode || n.Marked || n.End == 0 {
		return splice{}, errText
	}
	if q := data[n.Start]; q == '"' || q == '\'' {
		word = string(q) + word + string(q)
	}
	return splice{n.Start, n.End, word}, nil
}

// finalizers replaces the finalizers in metadata.
func finalizers(data []byte, meta strict.NodeField, list []any) (splice, error) {
	if meta.Value.Kind != strict.ObjectNode {
		return splice{}, errText
	}
	lines := string(manifest.AppendYAML(nil, map[string]any{"finalizers": list}))
	if f, ok := meta.Value.Field("finalizers"); ok {
		b, ok := blockOf(data, f)
		if !ok {
			return splice{}, errText
		}
		if len(list) == 0 {
			lines = ""
		}
		return splice{b.key, b.to, indent(lines, strings.Repeat(" ", b.column))}, nil
	}
	for _, name := range []string{"namespace", "name"} {
		f, ok := meta.Value.Field(name)
		if !ok || f.Value.Kind != strict.ScalarNode || f.Value.End == 0 {
			continue
		}
		if meta.Value.Flow {
			items := strings.ReplaceAll(strings.TrimPrefix(lines, "finalizers:\n- "), "\n- ", ", ")
			return splice{f.Value.End, f.Value.End, ", finalizers: [" + strings.TrimSuffix(items, "\n") + "]"}, nil
		}
		if n, ok := column(data, f.Key.Start); ok {
			_, end := lineOf(data, f.Value.Start)
			if end == len(data) && data[end-1] != '\n' {
				return splice{}, errText
			}
			return splice{end, end, indent(lines, strings.Repeat(" ", n))}, nil
		}
	}
	return splice{}, errText
}

// specOrder is the order in which the fields of an Application are written.
var specOrder = []string{"project", "source", "destination", "syncPolicy", "ignoreDifferences"}

// specLines writes the spec of an Application, with the parameter as a block of text.
func specLines(spec map[string]any) string {
	var b strings.Builder
	for _, k := range specOrder {
		if k != "source" {
			if spec[k] != nil {
				b.Write(manifest.AppendYAML(nil, map[string]any{k: spec[k]}))
			}
			continue
		}
		source := manifest.Map(spec, "source")
		b.WriteString("source:\n")
		for _, k := range []string{"repoURL", "targetRevision", "path"} {
			b.WriteString(indent(string(manifest.AppendYAML(nil, map[string]any{k: source[k]})), "  "))
		}
		text := specOf(source)
		b.WriteString("  plugin:\n    name: appset\n    parameters:\n    - name: spec\n      string: " + header(text) + "\n" +
			indent(text, "        "))
	}
	return b.String()
}

// header begins a block of text. One whose first line has space in front needs its indentation.
func header(text string) string {
	if strings.HasPrefix(strings.TrimLeft(text, "\n"), " ") {
		return "|2"
	}
	return "|"
}
