// Package report prints results of other packages: plans and their differences, simulated boots, and objects. Tables, trees and pictures
// are for people, JSON and YAML for programs.
//
// Names and messages are from files of users. A report for people has no control characters, and nothing that Markdown or SVG would
// interpret; URLs have no passwords. The same input makes the same report, byte for byte.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// Format is how a report is written. Each report has some of them, and refuses others.
type Format string

// The formats.
const (
	Table    Format = "table"
	Text     Format = "text" // for people, on one screen
	JSON     Format = "json"
	YAML     Format = "yaml"
	Name     Format = "name" // objects as kubectl names them, a line for each
	SVG      Format = "svg"
	Mermaid  Format = "mermaid"
	DOT      Format = "dot"
	Markdown Format = "markdown" // for a comment on a pull request
)

// refused is the error for a format that a report does not have.
func (f Format) refused(what string) error {
	return fmt.Errorf("%s: there is no format %q", what, string(f))
}

// Object prints one object for programs, as JSON.
func Object(w io.Writer, v map[string]any) error {
	var b bytes.Buffer
	err := manifest.WriteJSON(&b, v)
	if err == nil {
		_, err = w.Write(words.SafeJSON(b.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// ObjectLine prints one object for programs on one line, as JSON.
func ObjectLine(w io.Writer, v map[string]any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(append(words.SafeJSON(line), '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// Texts is a list of strings as an object has it.
func Texts(list []string) []any {
	out := make([]any, 0, len(list))
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

func flush(w *bufio.Writer) error {
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}
