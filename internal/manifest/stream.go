package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Stream decodes as Argo CD and kubectl do (YAMLOrJSONDecoder of k8s.io/apimachinery): a line that begins with "---" separates documents
// and has nothing else on it but a comment, only the first document between two such lines counts, and of two equal keys the last one.
// Lists stay as they are. Of an input with an error it returns the documents in front of the error, too. Warnings name what is probably a
// mistake.
func Stream(file string, data []byte) (docs []Document, warnings []error, err error) {
	return Position{File: file}.Stream(data)
}

// Stream is Stream for what is made of the file of p. The rest of p is ignored.
func (p Position) Stream(data []byte) (docs []Document, warnings []error, err error) {
	if err := Check(data); err != nil {
		return nil, nil, p.at(0, 0).Errorf("%w", err)
	}
	s := stream{file: p, line: 1}
	err = s.decode(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	return s.docs, s.warnings, err
}

// DecodeLoose is Decode by the rules of Stream.
func DecodeLoose(file string, data []byte) (docs []Document, warnings []error, err error) {
	docs, warnings, err = Stream(file, data)
	if err != nil {
		return nil, warnings, err
	}
	docs, err = expand(docs)
	return docs, warnings, err
}

type stream struct {
	file     Position
	line     int // of the next document
	number   int
	docs     []Document
	warnings []error
}

func (s *stream) decode(data []byte) error {
	if first := bytes.TrimLeftFunc(data, unicode.IsSpace); len(first) > 0 && first[0] == '{' {
		rest, err := s.json(data)
		if err != nil || rest == nil {
			return err
		}
		data = s.skipLine(rest)
	}
	for len(data) > 0 {
		part, rest, err := s.cut(data)
		if err != nil {
			return err
		}
		if err := s.yaml(part); err != nil {
			return err
		}
		s.line += bytes.Count(data[:len(data)-len(rest)], []byte("\n"))
		data = rest
	}
	return nil
}

// json decodes concatenated JSON values. It returns the rest of what turns out to be YAML; after two values nothing does.
func (s *stream) json(data []byte) (rest []byte, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	consumed := 0
	for count := 0; ; count++ {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil && count > 1:
			return nil, syntaxError(s.file, err, s.line, s.number+1)
		case err != nil:
			return data[consumed:], nil
		}
		end := int(dec.InputOffset())
		start := end - len(raw)
		s.line += bytes.Count(data[consumed:start], []byte("\n"))
		v, err := decodeOneJSON(raw)
		if err == nil {
			_, twice := decodeYAML(raw)
			err = s.add(v, raw, twice)
		}
		if err != nil {
			return nil, err
		}
		s.line += bytes.Count(data[start:end], []byte("\n"))
		consumed = end
	}
}

// skipLine skips white space up to the end of the line.
func (s *stream) skipLine(data []byte) []byte {
	for i, r := range string(data) {
		switch {
		case r == '\n':
			s.line++
			return data[i+1:]
		case !unicode.IsSpace(r):
			return data[i:]
		}
	}
	return nil
}

// cut returns the lines up to the next separator. A separator in front of everything belongs to the lines.
func (s *stream) cut(data []byte) (part, rest []byte, err error) {
	at, line := 0, s.line
	for text := range bytes.Lines(data) {
		if after, ok := bytes.CutPrefix(text, []byte("---")); ok {
			if after = bytes.TrimSpace(after); len(after) > 0 && after[0] != '#' {
				return nil, nil, s.file.at(line, 0).Errorf("invalid document separator: %s", firstRunes(after))
			}
			if at > 0 {
				return data[:at], data[at:], nil
			}
		}
		at += len(text)
		line++
	}
	return data, nil, nil
}

func firstRunes(text []byte) string {
	if r := []rune(string(text)); len(r) > 40 {
		return string(r[:40]) + " …"
	}
	return string(text)
}

// yaml decodes the first document of some lines.
func (s *stream) yaml(part []byte) error {
	v, strictErr := decodeYAML(part)
	err := strictErr
	if isTwice(err) {
		v, err = decodeLooseYAML(part)
	}
	if err != nil {
		return syntaxError(s.file, err, s.line, s.number+1)
	}
	if line := behindEnd(part); line > 0 {
		at := s.file.at(s.line+line-1, 0)
		s.warn(at.Errorf("a document behind \"...\" is not read; separate documents by \"---\""))
	}
	return s.add(v, part, strictErr)
}

func (s *stream) warn(err error) {
	if len(s.warnings) < maxErrors {
		s.warnings = append(s.warnings, err)
	}
}

// LastCounts adds to an error about a duplicate key that the last one counts.
func LastCounts(err error) error {
	if p, ok := PositionOf(err); ok {
		return p.Errorf("%w; the last one counts", errors.Unwrap(err))
	}
	return fmt.Errorf("%w; the last one counts", err)
}

// isTwice reports whether an error is about a key that is there twice.
func isTwice(err error) bool {
	return err != nil && strings.Contains(err.Error(), "already set in map")
}

// add adds a document. twice is the error of strict decoding.
func (s *stream) add(v any, text []byte, twice error) error {
	if v == nil {
		return nil
	}
	s.number++
	first := 0
	if bytes.HasPrefix(text, []byte("---")) {
		first = min(1, bytes.Count(text, []byte("\n")))
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	pos := s.file.at(s.line+first+leading(text), s.number)
	if isTwice(twice) {
		s.warn(LastCounts(syntaxError(s.file, twice, s.line, s.number)))
	}
	o, ok := v.(map[string]any)
	if !ok {
		return pos.Errorf("the document must be an object, it is %s", TypeName(v))
	}
	s.docs = append(s.docs, Document{Object: o, Position: pos})
	return nil
}

// behindEnd returns the first line with content behind the end of the first document, "...", zero if there is none.
func behindEnd(part []byte) int {
	line, ended := 0, false
	for text := range bytes.Lines(part) {
		line++
		switch text := bytes.TrimRight(text, " \t\r\n"); {
		case !ended:
			ended = bytes.Equal(text, []byte("..."))
		case len(text) > 0 && text[0] != '#' && text[0] != '%' && !bytes.Equal(text, []byte("...")):
			return line
		}
	}
	return 0
}
