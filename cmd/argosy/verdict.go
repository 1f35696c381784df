package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// verdictOptions say what is refused of a plan.
type verdictOptions struct {
	strict bool
	allow  []string
	// always says that everything unknown is refused anyway, so --strict is no flag.
	always bool
}

func (o *verdictOptions) register(flags *pflag.FlagSet) {
	if !o.always {
		flags.BoolVar(&o.strict, "strict", false, "exit with 3 if anything is unknown")
	}
	flags.StringSliceVar(&o.allow, "allow-unknown", nil, "`NAMES` of Applications and sets that may be unknown, with * for any characters")
}

// check refuses patterns that are none.
func (o *verdictOptions) check() error {
	for _, pattern := range o.allow {
		if _, err := path.Match(pattern, ""); err != nil {
			return usagef("--allow-unknown: %q is not a pattern", pattern)
		}
	}
	return nil
}

// allowed reports whether something may be unknown.
func (o *verdictOptions) allowed(name string) bool {
	for _, pattern := range o.allow {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}

// refused is why a plan does not count as complete and correct, in one line for each reason, nil if it does.
func (o *verdictOptions) refused(p *plan.Plan) []string {
	s := p.Summary()
	var out []string
	if len(s.Broken) > 0 {
		out = append(out, fmt.Sprintf("%s broken: %s", isOrAre(len(s.Broken), "is", "are"), words.Some(s.Broken)))
	}
	var hidden, unknown []string
	for _, name := range s.Hiding {
		if !o.allowed(name) {
			hidden = append(hidden, name)
		}
	}
	for _, name := range s.Unknown {
		if !o.allowed(name) {
			unknown = append(unknown, name)
		}
	}
	if len(hidden) > 0 {
		out = append(out, fmt.Sprintf("the plan is incomplete: what is unknown about %s may hide Applications", words.Some(hidden)))
	}
	if o.strict && len(unknown) > 0 {
		out = append(out, fmt.Sprintf("%s not known completely: %s", isOrAre(len(unknown), "is", "are"), words.Some(unknown)))
	}
	return out
}

func isOrAre(n int, one, many string) string {
	if n == 1 {
		return "1 Application or set " + one
	}
	return fmt.Sprintf("%d Applications and sets %s", n, many)
}

// exit says why a plan is refused, and ends with 3 then.
func (o *verdictOptions) exit(std stdio, p *plan.Plan) error {
	refused := o.refused(p)
	if len(refused) == 0 {
		return nil
	}
	fmt.Fprintln(std.err, words.Harmless(strings.Join(refused, "; ")))
	return errFound
}
