package cli

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is a flag that has one of some values, and refuses others when it is set. An empty Value is none of them.
type Choice struct {
	Value   string
	Allowed []string
}

// OneOf is a choice, by default the first.
func OneOf(values ...string) Choice { return Choice{Value: values[0], Allowed: values} }

// String is the value, for pflag.
func (c *Choice) String() string { return c.Value }

// Type is for pflag.
func (c *Choice) Type() string { return "FORMAT" }

// Values are for completion.
func (c *Choice) Values() []string { return c.Allowed }

// Usage lists the values.
func (c *Choice) Usage() string { return strings.Join(c.Allowed, "|") }

// Set is for pflag.
func (c *Choice) Set(s string) error {
	if !slices.Contains(c.Allowed, s) {
		return fmt.Errorf("must be one of %s", c.Usage())
	}
	c.Value = s
	return nil
}
