package preview

import (
	"cmp"
	"context"

	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// Checked is a plan with its lint report and its roots.
type Checked struct {
	Plan   *plan.Plan
	Report *lint.Report
	Roots  []manifest.Document
	// FailOn is the lowest severity that is bad.
	FailOn string

	from *workspace.Roots
}

// Check plans the roots, and runs all rules over the plan. Exists says which things that a plan requires are in the cluster; with them, the
// plan is made again.
func (v Lint) Check(ctx context.Context, exists func(*plan.Plan) []plan.Thing) (*Checked, error) {
	roots, err := v.Planner.Roots(ctx, v.Roots)
	if err != nil {
		return nil, err
	}
	return v.check(ctx, roots, exists)
}

// Again is Check of the same roots, which are not read again, after the planner or the cluster has changed.
func (v Lint) Again(ctx context.Context, before *Checked, exists func(*plan.Plan) []plan.Thing) (*Checked, error) {
	return v.check(ctx, before.from, exists)
}

func (v Lint) check(ctx context.Context, roots *workspace.Roots, exists func(*plan.Plan) []plan.Thing) (*Checked, error) {
	o, err := v.options()
	if err != nil {
		return nil, err
	}
	p, err := v.Planner.Plan(ctx, roots)
	if err == nil {
		err = v.Verdict.Fits(p)
	}
	if err != nil {
		return nil, err
	}
	if things := exists(p); len(things) > 0 {
		v.Planner.Config.Exists = append(v.Planner.Config.Exists, things...)
		if p, err = v.Planner.Plan(ctx, roots); err != nil {
			return nil, err
		}
	}
	o.Files = func(url, name string) (string, []byte, bool) { return v.Planner.Repositories.Read(ctx, url, name) }
	return &Checked{
		from: roots, Plan: p, Report: lint.New(p, o), Roots: roots.Documents, FailOn: cmp.Or(v.FailOn, o.Config.FailOn, string(plan.Error)),
	}, nil
}
