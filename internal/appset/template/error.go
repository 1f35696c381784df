package template

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Error is an error of a template with a cause that callers tell apart, with errors.As.
type Error struct {
	Cause Cause
	// Path is where the template is, as it was given to Compile; "" is not known.
	Path string
	// Parameter is the name of a missing parameter at the top; "" is not known.
	Parameter string

	text string
}

// Cause is the cause of an Error.
type Cause int

// Causes of errors.
const (
	Missing   Cause = iota // a parameter is not there, or what is in front of it is no object
	NoValue                // something is missing or null
	Different              // a function answers differently each time
	Undefined              // a function is not there
)

func (e *Error) Error() string { return e.text }

// isMissing reports whether an error is about a parameter that is not there.
func isMissing(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Cause == Missing
}

// pathError puts the path of a template in front of an error about it.
func pathError(path string, err error) error {
	if path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", path, placed(path, err))
}

// placed adds the path of a template to an error about it, not to its text.
func placed(path string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.Path = path
	}
	return err
}

// noEntry matches an error of text/template about a parameter at the top.
var noEntry = regexp.MustCompile(`<\.([^>.]+)>: map has no entry for key "([^"]+)"$`)

// caused gives an error of text/template its cause: by what it wraps, or else by the text of text/template, which has no types. msg is the
// text for users.
func caused(err error, text, msg string) error {
	var known *Error
	switch {
	case errors.As(err, &known):
		return &Error{Cause: known.Cause, text: msg}
	// These are the words by which Argo CD tells that a parameter is missing.
	case strings.Contains(text, "map has no entry for key") || strings.Contains(text, "can't evaluate field"):
		e := &Error{Cause: Missing, text: msg}
		if m := noEntry.FindStringSubmatch(msg); m != nil && m[1] == m[2] {
			e.Parameter = m[1]
		}
		return e
	case strings.Contains(msg, nothing) || strings.Contains(msg, "untyped nil"):
		return &Error{Cause: NoValue, text: msg}
	}
	return errors.New(msg)
}
