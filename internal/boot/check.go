package boot

import (
	"context"
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/lint/format"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// Verdict is the result of a check.
type Verdict string

// Verdicts.
const (
	OK      Verdict = "ok"
	Failed  Verdict = "failed"
	Unknown Verdict = "unknown"
)

// Check is something that must be so before a boot.
type Check struct {
	Name    string
	Verdict Verdict
	// Text is the result in one sentence.
	Text string
	// Fix is the cure, "" if nothing is wrong.
	Fix string

	mend func(context.Context) error // nil if there is no safe repair
}

// bad reports whether a check ends the boot. An unknown result ends it only if strict is set.
func (c Check) bad(strict bool) bool { return c.Verdict == Failed || strict && c.Verdict == Unknown }

// refused reports whether a check ends the boot.
func (b *boot) refused() bool {
	return slices.ContainsFunc(b.checks, func(c Check) bool { return c.bad(b.Lint.Verdict.Strict) })
}

// preflight checks whether the cluster is ready, repairs findings if Fix is set, and prints the results.
func (b *boot) preflight(ctx context.Context) error {
	b.checkArgoCD()
	if !b.facts.served {
		b.checked()
		return b.absent()
	}
	b.checkHealth(ctx)
	b.checkPlugins(ctx)
	b.checkTriggers(ctx)
	b.checkThings()
	b.checkProjects(ctx)
	b.checkRights(ctx)
	if b.Fix {
		if err := b.mend(ctx); err != nil {
			return err
		}
	}
	b.checked()
	if b.refused() && !b.Force {
		return b.stop("nothing was applied")
	}
	return nil
}

// mend repairs failed checks that have a repair.
func (b *boot) mend(ctx context.Context) error {
	for i, c := range b.checks {
		if c.Verdict != Failed || c.mend == nil {
			continue
		}
		if err := c.mend(ctx); err != nil {
			return fmt.Errorf("fixing check %s: %w", c.Name, err)
		}
		b.checks[i] = Check{Name: c.Name, Verdict: OK, Text: "fixed: " + c.Text}
	}
	return nil
}

// Names of the checks of a plan.
const (
	planCheck = "plan"
	lintCheck = "lint"
)

// checkPlan adds the checks of the plan and of lint.
func (b *boot) checkPlan() {
	p := b.found.Plan
	s := p.Summary()
	c := Check{Name: planCheck, Verdict: OK}
	c.Text = fmt.Sprintf("%s and %s are planned, for Argo CD %s", words.Count(s.Applications, "Application"), words.Count(s.Sets, "set"),
		p.Version)
	if refused := b.Lint.Verdict.Unknown(p); len(refused) > 0 {
		c.Verdict, c.Text = Unknown, refused[0]
		c.Fix = "argosy plan says why; --allow-unknown accepts it"
	}
	if len(s.Broken) > 0 {
		c.Verdict, c.Text = Failed, fmt.Sprintf("Argo CD cannot render %s", words.Some(s.Broken))
		c.Fix = "argosy plan says why"
	}
	b.check(c)
	var errs []lint.Finding
	for _, f := range b.found.Report.Findings {
		if f.Fails(b.found.FailOn) && !needs(f.Rule.Rule) && f.Rule.Kind != plan.Broken {
			errs = append(errs, f)
		}
	}
	c = Check{Name: lintCheck, Verdict: OK}
	c.Text = fmt.Sprintf("no finding is an error (%s)", words.Count(len(b.found.Report.Findings), "finding"))
	if len(errs) > 0 {
		c.Verdict, c.Fix = Failed, "argosy lint shows all of them"
		c.Text = format.Line(errs[0])
		if more := len(errs) - 1; more > 0 {
			c.Text += fmt.Sprintf("; and %d more", more)
		}
	}
	b.check(c)
}

// needs reports whether a rule is about missing prerequisites, which have their own checks.
func needs(r plan.Rule) bool {
	return slices.ContainsFunc([]plan.Rule{plan.RuleKindMissing, plan.RuleNamespaceMissing, plan.RuleProjectMissing},
		func(other plan.Rule) bool { return other.Name == r.Name })
}
