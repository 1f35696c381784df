package textdiff_test

import (
	"fmt"
	"testing"

	"github.com/argosy-cd/argosy/internal/textdiff"
)

func ExampleUnified() {
	fmt.Print(string(textdiff.Unified("old", []byte("a\nb\n"), "new", []byte("a\nc\n"))))
	// Output:
	// diff old new
	// --- old
	// +++ new
	// @@ -1,2 +1,2 @@
	//  a
	// -b
	// +c
}

func TestEqual(t *testing.T) {
	if got := textdiff.Unified("old", []byte("a\n"), "new", []byte("a\n")); got != nil {
		t.Errorf("%q", got)
	}
}
