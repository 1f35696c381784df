package preview

import (
	"cmp"
	"context"

	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

// Checked is a plan, what lint finds in it, and the objects that it begins with.
type Checked struct {
	Plan   *plan.Plan
	Report *lint.Report
	Roots  []manifest.Document
	// FailOn is the lowest severity that is bad.
	FailOn string
}

// Check plans the roots, and runs all rules over the plan. Exists says which things that a plan requires are in the cluster; with them, the
// plan is made again.
func (v Lint) Check(ctx context.Context, exists func(*plan.Plan) []plan.Thing) (*Checked, error) {
	o, err := v.options()
	if err != nil {
		return nil, err
	}
	roots, p, err := v.plan(ctx)
	if err != nil {
		return nil, err
	}
	if things := exists(p); len(things) > 0 {
		v.Planner.Config.Exists = append(v.Planner.Config.Exists, things...)
		if p, err = v.Planner.Plan(ctx, roots); err != nil {
			return nil, err
		}
	}
	o.Files = func(name string) (string, []byte, bool) { return v.Planner.Repositories.Read(ctx, name) }
	return &Checked{
		Plan: p, Report: lint.New(p, o), Roots: roots.Documents, FailOn: cmp.Or(v.FailOn, o.Config.FailOn, string(plan.Error)),
	}, nil
}
