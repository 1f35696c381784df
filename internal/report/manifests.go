package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// Manifests prints how the manifests of one Application change since a revision, as a unified diff.
func Manifests(out io.Writer, d *plan.Difference, app argo.Ref, revision string) error {
	w := bufio.NewWriter(out)
	for _, m := range d.Manifests {
		if m.Ref != app || m.Set {
			continue
		}
		for _, c := range m.Objects {
			old := c.ID
			old.Name = cmp.Or(c.Renamed, old.Name)
			from, to := IDName(old)+" at "+revision, IDName(c.ID)
			if c.Old == nil {
				from = "/dev/null"
			}
			if c.New == nil {
				to = "/dev/null"
			}
			fmt.Fprintln(w, strings.Join(Unified(c, from, to), "\n"))
		}
	}
	return flush(w)
}

// Judgement prints the problems of an Application's manifests, with the side of a comparison in front.
func Judgement(w io.Writer, side string, p *plan.Plan, app *plan.Application) {
	about := []plan.Rule{
		plan.RuleSourceBroken, plan.RuleApplicationInvalid, plan.RuleNameTwice, plan.RuleSourceUnknown, plan.RuleSourcePartly,
		plan.RuleFieldIgnored, plan.RuleTooLarge,
	}
	for _, f := range p.Findings {
		if f.Subject == app.Name && slices.ContainsFunc(about, func(r plan.Rule) bool { return r.Name == f.Rule.Name }) {
			fmt.Fprintf(w, "%s%s: %s: %s [%s]\n", side, f.Rule.Kind, words.Printable(f.Subject), words.Harmless(Located(f)), f.Rule.Name)
		}
	}
}
