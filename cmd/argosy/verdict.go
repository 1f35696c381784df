package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/report"
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

// given reports whether a flag is set.
func (o *verdictOptions) given() bool { return o.strict || len(o.allow) > 0 }

// check refuses patterns that are none.
func (o *verdictOptions) check() error {
	for _, pattern := range o.allow {
		if _, err := path.Match(pattern, ""); err != nil {
			return usagef("--allow-unknown: %q is not a pattern", pattern)
		}
	}
	return nil
}

// rules are what the flags say, for reports.
func (o *verdictOptions) rules() report.Verdict {
	return report.Verdict{Strict: o.strict, Allow: o.allow}
}

// exit says why a plan is refused, and ends with 3 then.
func (o *verdictOptions) exit(std stdio, p *plan.Plan) error {
	refused := o.rules().Refused(p)
	if len(refused) == 0 {
		return nil
	}
	fmt.Fprintln(std.err, words.Harmless(strings.Join(refused, "; ")))
	return errFound
}
