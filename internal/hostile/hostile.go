// Package hostile runs hostile inputs in tests: each in a process of its own, with the memory of a deployed sidecar, so that one that kills
// the process fails its test and nothing else.
package hostile

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// memory is the memory of a deployed sidecar.
const memory = 1 << 30

// patience bounds one input. It only ends tests that hang.
const patience = 10 * time.Minute

const variable = "ARGOSY_HOSTILE_TEST"

// Refused runs f in a child process, and demands one short line that contains want as its error. It must be the last call of a test.
func Refused(t *testing.T, want string, f func() error) {
	t.Helper()
	child(t, func() {
		t.Helper()
		err := f()
		switch {
		case err == nil:
			t.Errorf("got no error, want one with %q", want)
		case !strings.Contains(err.Error(), want):
			t.Errorf("got %.600q, want it to contain %q", err, want)
		case len(err.Error()) > 2000 || strings.Contains(err.Error(), "\n"):
			t.Errorf("got an error of %d bytes and %d lines: %.600q", len(err.Error()), 1+strings.Count(err.Error(), "\n"), err)
		}
	})
}

// Survived runs f in a child process, and demands no more than that it ends.
func Survived(t *testing.T, f func()) {
	t.Helper()
	child(t, f)
}

// Unraced leaves a test out with the race detector, which takes many times the memory and the time. "make hostile" runs it without: the
// name of the test has Hostile, Large, Docs or Conformance in it.
func Unraced(t *testing.T) {
	t.Helper()
	if raced {
		t.Skip("the race detector takes many times the memory and the time; 'make hostile' runs this without")
	}
	if ok, _ := regexp.MatchString(named, t.Name()); !ok {
		t.Fatalf("'make hostile' runs tests that match %s: give it such a name", named)
	}
}

// named are the tests that "make hostile" runs.
const named = "Hostile|Large|Docs|Conformance"

func child(t *testing.T, f func()) {
	t.Helper()
	Unraced(t)
	if os.Getenv(variable) == t.Name() { //nolint:forbidigo // it is how a test tells its child what to run
		limit(t)
		f()
		return
	}
	var parts []string
	for part := range strings.SplitSeq(t.Name(), "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run="+strings.Join(parts, "/"), "-test.count=1")
	cmd.Env = append(os.Environ(), variable+"="+t.Name(), "GOTRACEBACK=single") //nolint:forbidigo // likewise
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		t.Errorf("it ran for %s", patience)
	case err != nil:
		t.Errorf("the child process: %v\n%.3000s", err, out)
	}
}
