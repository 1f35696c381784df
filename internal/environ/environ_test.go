package environ_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/environ"
)

func TestGet(t *testing.T) {
	given := []string{"A=1", "AB=2", "A=3", "EMPTY=", "EQUALS=x=y", "B"}
	e := environ.New(given...)
	for name, want := range map[string]string{"A": "3", "AB": "2", "EMPTY": "", "EQUALS": "x=y", "B": "", "NONE": "", "": ""} {
		if got := e.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if got := (environ.Environ{}).Get(name); got != "" {
			t.Errorf("%s of nothing: %q", name, got)
		}
	}
	if diff := cmp.Diff(given, e.List()); diff != "" {
		t.Error(diff)
	}
	if environ.New() != (environ.Environ{}) || environ.New().List() != nil {
		t.Error("nothing is not the zero value")
	}
}
