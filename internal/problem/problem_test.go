package problem

import (
	"errors"
	"fmt"
	"io/fs"
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

// TestOneSentence: an error that wraps two in one sentence keeps its words.
func TestOneSentence(t *testing.T) {
	kind, cause := errors.New("forbidden"), errors.New("no right to get secrets")
	said := fmt.Errorf("reading secret %q: %w: %w", "token", kind, cause)
	err := Wrap(errors.Join(said, errors.New("other")), func(e error) error { return fmt.Errorf("file: %w", e) })
	if got, want := err.Error(), "file: reading secret \"token\": forbidden: no right to get secrets\nfile: other"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(err, kind) || !errors.Is(err, cause) {
		t.Error("a cause is lost")
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "open", Path: "a/b", Err: fs.ErrNotExist}, "a/b: file does not exist"},
		{fmt.Errorf("deep: %w", &fs.PathError{Op: "open", Path: "a/b", Err: fs.ErrPermission}), "a/b: permission denied"},
		{errors.New("no file"), "no file"},
	} {
		if got := Path(c.err); got.Error() != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if !errors.Is(Path(&fs.PathError{Err: fs.ErrNotExist}), fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
}

func TestInnermost(t *testing.T) {
	cause := errors.New("cause")
	for _, err := range []error{cause, fmt.Errorf("a: %w", cause), fmt.Errorf("a: %w", fmt.Errorf("b: %w", cause))} {
		if got := Innermost(err); got.Error() != "cause" {
			t.Errorf("%v: got %v", err, got)
		}
	}
}
