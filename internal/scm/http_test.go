package scm

import (
	"slices"
	"testing"
)

// TestWarnings: what was handed out does not change the notes, and is not changed by them.
func TestWarnings(t *testing.T) {
	var n notes
	for _, line := range []string{"b", "a", "b", "a"} {
		n.note(line)
	}
	first := n.warnings()
	n.note("c")
	if second := n.warnings(); !slices.Equal(first, []string{"a", "b"}) || !slices.Equal(second, []string{"a", "b", "c"}) {
		t.Errorf("%q, then %q", first, second)
	}
}
