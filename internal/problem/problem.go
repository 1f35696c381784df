// Package problem handles errors that are lists of problems. All problems of one input are reported together, each in
// one line that says on its own where it is; so what wraps a list must wrap each of its members.
package problem

import (
	"errors"
	"fmt"
)

// All takes an error apart into its problems.
func All(err error) []error {
	if err == nil {
		return nil
	}
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
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

// UsageError is a problem of how a command was called, such as a flag that means nothing.
type UsageError struct{ error }

// Usage makes a UsageError of an error.
func Usage(err error) error { return UsageError{err} }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// ErrFound ends a command that has found what it looks for, and has said so: the exit code is 3, and nothing more is printed.
var ErrFound = errors.New("found")
