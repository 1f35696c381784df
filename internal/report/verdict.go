package report

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
)

// Verdict decides whether a plan counts as complete and correct. Broken parts never do, and unknown ones that may hide Applications do only
// if they are allowed.
type Verdict struct {
	// Strict refuses everything unknown that is not allowed.
	Strict bool
	// Allow are patterns for the names of Applications and sets that may be unknown, as path.Match has them.
	Allow []string
}

// Check refuses patterns that are not valid.
func (v Verdict) Check() error {
	for _, pattern := range v.Allow {
		if _, err := path.Match(pattern, ""); err != nil {
			return problem.Usagef("--allow-unknown: %q is not a pattern", pattern)
		}
	}
	return nil
}

// Allowed reports whether something may be unknown.
func (v Verdict) Allowed(name string) bool {
	for _, pattern := range v.Allow {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}

// Fits refuses names that are in none of the plans. Patterns may match nothing, and a missing name may be in a part that is allowed to be
// unknown.
func (v Verdict) Fits(plans ...*plan.Plan) error {
	names, unknown := map[string]bool{}, map[string]bool{}
	for _, p := range plans {
		for _, app := range p.Applications {
			names[app.Name] = true
			for _, item := range app.Items {
				if item.Children != nil {
					names[item.Name] = true
				}
			}
		}
		for _, g := range p.Gaps() {
			if g.Hides && v.Allowed(g.Name) {
				return nil
			}
			names[g.Name], unknown[g.Name] = true, g.State != source.Broken.String()
		}
	}
	maps.DeleteFunc(unknown, func(_ string, is bool) bool { return !is })
	for _, name := range v.Allow {
		if names[name] || strings.ContainsAny(name, `*?[\`) {
			continue
		}
		text := "nothing is unknown"
		if len(unknown) > 0 {
			text = "these are unknown: " + words.Some(slices.Sorted(maps.Keys(unknown)))
		}
		return problem.Usagef("--allow-unknown: there is no Application and no set %q; %s", name, text)
	}
	return nil
}

// Refused is why a plan does not count as complete and correct, in one line for each reason, nil if it does.
func (v Verdict) Refused(p *plan.Plan) []string {
	if broken := p.Summary().Broken; len(broken) > 0 {
		return append([]string{fmt.Sprintf("%s broken: %s", thingsAre(len(broken)), words.Some(broken))}, v.Unknown(p)...)
	}
	return v.Unknown(p)
}

// Unknown is why a plan does not count as complete, in one line for each reason, nil if it does.
func (v Verdict) Unknown(p *plan.Plan) []string {
	s := p.Summary()
	var out, hidden, unknown []string
	for _, name := range s.Hiding {
		if !v.Allowed(name) {
			hidden = append(hidden, name)
		}
	}
	for _, name := range s.Unknown {
		if !v.Allowed(name) {
			unknown = append(unknown, name)
		}
	}
	if len(hidden) > 0 {
		out = append(out, fmt.Sprintf("the plan is incomplete: unknown parts of %s may hide Applications", words.Some(hidden)))
	}
	if v.Strict && len(unknown) > 0 {
		out = append(out, fmt.Sprintf("%s not known completely: %s", thingsAre(len(unknown)), words.Some(unknown)))
	}
	return out
}

func thingsAre(n int) string {
	if n == 1 {
		return "1 Application or set is"
	}
	return fmt.Sprintf("%d Applications and sets are", n)
}

// Gaps returns the parts of a plan that the verdict refuses.
func (v Verdict) Gaps(p *plan.Plan) []plan.Gap {
	if len(v.Refused(p)) == 0 {
		return nil
	}
	var out []plan.Gap
	for _, g := range p.Gaps() {
		if g.State == source.Broken.String() || (g.Hides || v.Strict) && !v.Allowed(g.Name) {
			out = append(out, g)
		}
	}
	return out
}

// GapText describes a gap and its reason in one line.
func GapText(g plan.Gap) string {
	kind := map[string]string{argo.KindApplication: "the Application ", argo.KindApplicationSet: "the set "}[g.Kind]
	return words.Harmless(fmt.Sprintf("%s%s is %s: %s", kind, g.Name, g.State, words.Shorten(g.Reason, 500)))
}
