package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Decode reads every document of a YAML stream or of concatenated JSON values. Empty documents are skipped and List
// kinds are replaced by their items. file is used in positions and errors only.
func Decode(file string, data []byte) ([]Document, error) { return Position{File: file}.Decode(data) }

// Decode is Decode for what is made of the file of p. The rest of p is ignored.
func (p Position) Decode(data []byte) ([]Document, error) {
	if err := Check(data); err != nil {
		return nil, p.at(0, 0).Errorf("%w", err)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if docs, ok := decodeJSON(p, data); ok {
		return expand(docs)
	}
	var docs []Document
	var errs []error
	number := 0
	for _, part := range split(data) {
		if len(errs) == maxErrors {
			break
		}
		v, err := decodeYAML(part.data)
		if v == nil && err == nil {
			continue
		}
		number++
		if err != nil {
			errs = append(errs, syntaxError(p, err, part.line, number))
			continue
		}
		pos := p.at(part.line+leading(part.data), number)
		if o, ok := v.(map[string]any); ok {
			docs = append(docs, Document{Object: o, Position: pos})
		} else {
			errs = append(errs, pos.Errorf("the document must be an object, it is %s", TypeName(v)))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return expand(docs)
}

// at is a position in the file of p.
func (p Position) at(line, number int) Position {
	return Position{File: p.File, Made: p.Made, Line: line, Number: number}
}

// Value decodes one YAML or JSON value of any type.
func Value(data []byte) (any, error) {
	if err := Check(data); err != nil {
		return nil, err
	}
	return decodeYAML(data)
}

// JSON decodes one JSON value, with integers as int64.
func JSON(data []byte) (any, error) {
	if err := Check(data); err != nil {
		return nil, err
	}
	return decodeOneJSON(data)
}

// decodeOneJSON is JSON for a text that was checked.
func decodeOneJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more data after the value")
	}
	m := measure{replace: true}
	v = m.value(v, 0)
	if err := m.err(); err != nil {
		return nil, err
	}
	return v, nil
}

func decodeYAML(data []byte) (any, error) {
	j, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, plainError(err)
	}
	return decodeOneJSON(j)
}

// decodeLooseYAML takes the last of two equal keys.
func decodeLooseYAML(data []byte) (any, error) {
	j, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, plainError(err)
	}
	return decodeOneJSON(j)
}

// decodeJSON reads concatenated JSON values, which YAML cannot. It reports false for anything that is not JSON, and
// for duplicate keys, which the YAML decoder names.
func decodeJSON(p Position, data []byte) ([]Document, bool) {
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	var docs []Document
	line, counted := 1, int64(0)
	for {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return docs, true
		}
		if err != nil {
			return nil, false
		}
		v, err := decodeYAML(raw)
		if err != nil {
			return nil, false
		}
		o, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		start := dec.InputOffset() - int64(len(raw))
		line += bytes.Count(data[counted:start], []byte("\n"))
		counted = start
		docs = append(docs, Document{Object: o, Position: p.at(line, len(docs)+1)})
	}
}

// number replaces json.Number: whole numbers that fit become int64 and fractions float64. Whole numbers that do not
// fit stay as they are, to the digit.
func number(v any) any {
	n, ok := v.(json.Number)
	if !ok {
		return v
	}
	if i, err := n.Int64(); err == nil {
		return i
	}
	if !strings.ContainsAny(n.String(), ".eE") {
		return n
	}
	f, err := n.Float64()
	if err != nil {
		return n.String()
	}
	return f
}

type part struct {
	data []byte
	line int
}

// split cuts a YAML stream at its document markers. A line that starts with "---" ends a document even inside a
// block scalar (YAML 1.1, section 4.3.1), so no deeper look is needed.
func split(data []byte) []part {
	var parts []part
	start, startLine, line := 0, 1, 0
	for pos := 0; pos < len(data); {
		line++
		end := len(data)
		if i := bytes.IndexByte(data[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		if isMarker(data[pos:end], "---") || isMarker(data[pos:end], "...") {
			parts = append(parts, part{data[start:pos], startLine})
			// Text behind the marker on its line belongs to the next document.
			start, startLine = pos+3, line
		} else if pos == start && data[pos] == '%' {
			start, startLine = end, line+1
		}
		pos = end
	}
	return append(parts, part{data[start:], startLine})
}

// leading counts the lines in front of the first that is neither blank nor a comment.
func leading(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '#' {
			return n
		}
		n++
	}
	return 0
}

func isMarker(line []byte, marker string) bool {
	if !bytes.HasPrefix(line, []byte(marker)) {
		return false
	}
	return len(line) == 3 || strings.IndexByte(" \t\r\n", line[3]) >= 0
}

var lineNumber = regexp.MustCompile(`^line (\d+): `)

// syntaxError turns the decoder's line, which counts from the start of the document, into one of the file.
func syntaxError(p Position, err error, first, number int) error {
	msg, line := err.Error(), first
	if m := lineNumber.FindStringSubmatch(msg); m != nil {
		if n, convErr := strconv.Atoi(m[1]); convErr == nil {
			msg, line = msg[len(m[0]):], max(1, first)+n-1
		}
	}
	return p.at(line, number).Errorf("%s", msg)
}

// Located puts the file, and the line if the error of a decoder begins with one, in front of the error.
func Located(file string, err error) error { return syntaxError(Position{File: file}, err, 0, 1) }

// expand replaces List kinds by their items.
func expand(docs []Document) ([]Document, error) {
	var out []Document
	for _, d := range docs {
		items, ok := d.Object["items"].([]any)
		if !ok || !strings.HasSuffix(String(d.Object, "kind"), "List") {
			out = append(out, d)
			continue
		}
		for i, item := range items {
			pos := d.Position
			pos.Item = strings.TrimSpace(fmt.Sprintf("%s items[%d]", pos.Item, i))
			o, ok := item.(map[string]any)
			if !ok {
				pos.Number = 0 // the item is named, and its line
				return nil, pos.Errorf("must be an object, it is %s", TypeName(item))
			}
			nested, err := expand([]Document{{Object: o, Position: pos}})
			if err != nil {
				return nil, err
			}
			out = append(out, nested...)
		}
	}
	return out, nil
}
