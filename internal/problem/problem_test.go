package problem

import (
	"errors"
	"fmt"
	"testing"
)

func TestWrap(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	err := Wrap(errors.Join(a, errors.Join(b, fmt.Errorf("deep: %w", c))), func(e error) error { return fmt.Errorf("file: %w", e) })
	if got, want := err.Error(), "file: a\nfile: b\nfile: deep: c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, c) {
		t.Error("the cause is lost")
	}
	if Wrap(nil, func(e error) error { return e }) != nil || All(nil) != nil {
		t.Error("nil does not stay nil")
	}
}
