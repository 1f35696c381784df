package live

import (
	"errors"
	"fmt"
	"regexp"
)

// Right is something that a user may do, or not.
type Right struct {
	Verb     string `json:"verb"`
	Group    string `json:"group,omitempty"`
	Resource string `json:"resource"`
	// Namespace is where. Empty is all namespaces.
	Namespace string `json:"namespace,omitempty"`
	// Name is the one object. Empty is all.
	Name string `json:"name,omitempty"`
}

// Anywhere is the right without its namespace.
func (r Right) Anywhere() string {
	out := r.Verb + " " + r.Resource
	if r.Group != "" {
		out += "." + r.Group
	}
	if r.Name != "" {
		out += " " + r.Name
	}
	return out
}

func (r Right) String() string {
	if r.Namespace == "" {
		return r.Anywhere() + " in all namespaces"
	}
	return fmt.Sprintf("%s in namespace %s", r.Anywhere(), r.Namespace)
}

// NoRight begins the reason why something could not be read if it is a right that is missing.
const NoRight = "no right to "

// NoRightError says in short that a right is missing.
type NoRightError struct{ Right Right }

func (e *NoRightError) Error() string { return NoRight + e.Right.String() }

// refusal is what a server said, and the missing right that it means.
type refusal struct {
	said  string
	lacks *NoRightError
}

func (r *refusal) Error() string { return r.said }
func (r *refusal) Unwrap() error { return r.lacks }

// Refusal is the error of a server that said something. It is a NoRightError, too, if a right is missing; nil is none.
func Refusal(said string, lacks *Right) error {
	if lacks == nil {
		return errors.New(said)
	}
	return &refusal{said, &NoRightError{*lacks}}
}

// Brief is why something could not be read: in short, if it is a right that is missing.
func Brief(err error) string {
	if lacks := (*NoRightError)(nil); errors.As(err, &lacks) {
		return lacks.Error()
	}
	return err.Error()
}

var forbidden = regexp.MustCompile(`cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?`)

// Lacking reads what an API server says about a request that it refused: the right that is missing, nil if it names none.
func Lacking(said string) *Right {
	m := forbidden.FindStringSubmatch(said)
	if m == nil {
		return nil
	}
	return &Right{Verb: m[1], Group: m[3], Resource: m[2], Namespace: m[4]}
}
