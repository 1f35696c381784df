package cli

import (
	"errors"
	"strconv"
)

// Number is a flag with a whole number, and without one if the flag is not given.
type Number struct{ given **int }

// OptionalNumber is a flag that sets a pointer.
func OptionalNumber(given **int) *Number { return &Number{given} }

// String is the number, "" if there is none, for pflag.
func (n *Number) String() string {
	if n.given == nil || *n.given == nil {
		return ""
	}
	return strconv.Itoa(**n.given)
}

// Type is for pflag.
func (n *Number) Type() string { return "N" }

// Set is for pflag.
func (n *Number) Set(text string) error {
	value, err := strconv.Atoi(text)
	if err != nil {
		return errors.New("must be a whole number")
	}
	*n.given = &value
	return nil
}
