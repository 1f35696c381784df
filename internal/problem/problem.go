// Package problem handles errors that are lists of problems. All problems of one input are reported together, each in one line that names
// its own position; so code that wraps a list must wrap each of its members.
package problem

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
)

// All takes a list of errors.Join apart into its problems. An error of fmt.Errorf that wraps several is one problem: its members lack its
// words.
func All(err error) []error {
	if err == nil {
		return nil
	}
	list, ok := err.(interface{ Unwrap() []error })
	if !ok || reflect.TypeOf(err) != reflect.TypeOf(errors.Join(errors.ErrUnsupported)) {
		return []error{err}
	}
	var out []error
	for _, e := range list.Unwrap() {
		out = append(out, All(e)...)
	}
	return out
}

// Wrap applies wrap to each problem of err; nil stays nil.
func Wrap(err error, wrap func(error) error) error {
	var out []error
	for _, e := range All(err) {
		out = append(out, wrap(e))
	}
	return errors.Join(out...)
}

// UsageError is a problem of how a command was called, such as an invalid flag.
type UsageError struct{ error }

// Usage makes a UsageError of an error.
func Usage(err error) error { return UsageError{err} }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// ErrFound ends a command that has found problems and has printed them: the exit code is 3, and nothing more is printed.
var ErrFound = errors.New("found")

// Path puts the file in front of an error about one, where the eye looks for it.
func Path(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}

// Innermost returns the cause of an error, without its wrapping.
func Innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
