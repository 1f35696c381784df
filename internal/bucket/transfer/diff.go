package transfer

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// Change is a file that is not the same in two directories.
type Change struct {
	Name     string
	Old, New []byte
	Kind     byte // A, M or D
}

// Compare compares two lists of files in the order of names.
func Compare(from, to []tree.File) []Change {
	var out []Change
	for len(from)+len(to) > 0 {
		switch {
		case len(to) == 0 || len(from) > 0 && from[0].Name < to[0].Name:
			out = append(out, Change{Name: from[0].Name, Old: from[0].Data, Kind: 'D'})
			from = from[1:]
		case len(from) == 0 || to[0].Name < from[0].Name:
			out = append(out, Change{Name: to[0].Name, New: to[0].Data, Kind: 'A'})
			to = to[1:]
		default:
			if !bytes.Equal(from[0].Data, to[0].Data) {
				out = append(out, Change{from[0].Name, from[0].Data, to[0].Data, 'M'})
			}
			from, to = from[1:], to[1:]
		}
	}
	return out
}

// Differences are how one directory or path differs from another.
type Differences struct {
	Old, New string // what they are called
	Changes  []Change
	// Unified is the unified diff of two texts with their names.
	Unified func(oldName string, old []byte, newName string, new []byte) []byte
}

// Object is for programs.
func (d Differences) Object() map[string]any {
	list := make([]any, 0, len(d.Changes))
	for _, c := range d.Changes {
		list = append(list, map[string]any{"path": c.Name, "change": map[byte]string{
			'A': "added", 'M': "modified",
			'D': "deleted",
		}[c.Kind]})
	}
	return map[string]any{"changes": list}
}

// Write prints the changes as a diff, or only their names.
func (d Differences) Write(out io.Writer, names bool) error {
	for _, c := range d.Changes {
		var err error
		switch {
		case names:
			_, err = fmt.Fprintf(out, "%c %s\n", c.Kind, words.Printable(c.Name))
		case !utf8.Valid(c.Old) || !utf8.Valid(c.New):
			_, err = fmt.Fprintf(out, "binary file %s differs\n", words.Printable(c.Name))
		default:
			_, err = out.Write(d.Unified(d.Old+"/"+c.Name, c.Old, strings.TrimSuffix(d.New, "/")+"/"+c.Name, c.New))
		}
		if err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	return nil
}
