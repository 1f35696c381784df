// Package textdiff compares texts, as diff -u does.
package textdiff

import "github.com/rogpeppe/go-internal/diff"

// Unified is the unified diff of two texts, with a header of three lines: "diff FROM TO", "--- FROM" and "+++ TO". Nil says that they are
// equal.
func Unified(from string, old []byte, to string, now []byte) []byte {
	return diff.Diff(from, old, to, now)
}
