package generator

import (
	"errors"
	"fmt"

	"github.com/argosy-cd/argosy/internal/problem"
)

// collector collects the parameter sets of a generator that asks an API, with the values of the set added to each, within the limits.
type collector struct {
	run    *run
	path   string // of the generator
	values *values
	sets   []Set
	errs   []error
}

// full reports whether there are so many errors that no more are looked for.
func (c *collector) full() bool { return len(c.errs) >= maxErrors }

// add adds the parameters of one thing. An error is one about limits, and ends the generator.
func (c *collector) add(what string, params Params) error {
	if err := c.run.keep(c.path, len(params)); err != nil {
		return err
	}
	if err := c.values.addTo(params); err != nil {
		c.errs = append(c.errs, problem.Wrap(err, func(e error) error { return fmt.Errorf("%s: %s: %w", c.path, what, e) }))
	}
	if c.sets = append(c.sets, Set{params, Origin{What: what}}); len(c.sets) > c.run.MaxSets {
		return c.run.tooMany(c.path)
	}
	return nil
}

// all returns the sets, and what is wrong with the values of some.
func (c *collector) all() ([]Set, error) { return c.sets, errors.Join(c.errs...) }
