package hostile

import (
	"os"
	"strings"
	"testing"
)

// TestMake: what the race detector leaves out is run by the target that is named when it is.
func TestMake(t *testing.T) {
	data, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if want := "-run '" + named + "' $(UNRACED)"; !strings.Contains(string(data), want) {
		t.Errorf("the Makefile has no %q", want)
	}
}
