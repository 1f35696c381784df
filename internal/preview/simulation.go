package preview

import (
	"context"
	"fmt"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// Simulation is a request of argosy simulate. With only the fields of Preview and Times set, it simulates the boot of the plan.
type Simulation struct {
	Preview
	Times  simulate.Times
	Faults simulate.Faults
	// Each ranks Applications by the Applications that they block, instead of a boot.
	Each bool
	// Against compares with another renderer of sets; only "stock" is supported, "" does not compare.
	Against string
	// Since is an update of a cluster that has booted from a revision, instead of a boot; "" is none.
	Since string
}

// Check refuses flags that exclude each other. It needs the format, but no planner.
func (v Simulation) Check() error {
	switch {
	case !(v.Times.Jitter >= 0 && v.Times.Jitter <= 10): // also not a number
		return problem.Usagef("--jitter must be 0 to 10, it is %g", v.Times.Jitter)
	case v.Against != "" && v.Against != "stock":
		return problem.Usagef("--compare must be stock, it is %q", v.Against)
	case v.Since != "" && (v.Each || v.Against != ""):
		return problem.Usagef("--update excludes --each and --compare")
	case v.Each && v.Format == report.SVG:
		return problem.Usagef("--each requires -o table or json")
	case v.Each && len(v.Faults.Fail)+len(v.Faults.Never)+len(v.Faults.Degrade) > 0:
		return problem.Usagef("--each excludes --fail, --never and --degrade")
	}
	_, err := v.Faults.Parse()
	return err
}

// Run runs the request.
func (v Simulation) Run(ctx context.Context) error {
	switch {
	case v.Since != "":
		return v.Update(ctx, v.Since)
	case v.Against != "" && v.Each:
		return v.CompareBlast(ctx)
	case v.Against != "":
		return v.Compare(ctx)
	case v.Each:
		return v.Blast(ctx)
	}
	return v.Boot(ctx)
}

// faults returns the faults for a plan, with patterns replaced by its Applications.
func (v Simulation) faults(p *plan.Plan) ([]simulate.Fault, error) {
	faults, err := v.Faults.Parse()
	if err != nil {
		return nil, err
	}
	return simulate.Match(p, faults)
}

// loaded are the model for a plan, and its faults.
func (v Simulation) loaded(p *plan.Plan) (model simulate.Model, faults []simulate.Fault, err error) {
	if faults, err = v.faults(p); err != nil {
		return model, nil, err
	}
	model, err = v.Times.Load(p)
	return model, faults, err
}

// Boot prints the boot.
func (v Simulation) Boot(ctx context.Context) error {
	_, p, err := v.plan(ctx)
	if err != nil {
		return err
	}
	model, faults, err := v.loaded(p)
	if err != nil {
		return err
	}
	boot, err := simulate.Simulate(p, model, faults...)
	if err != nil {
		return problem.Usage(err)
	}
	return v.print(p, boot)
}

func (v Simulation) print(p *plan.Plan, boot *simulate.Boot) error {
	err := report.Boot(v.Out, v.Format, p, boot)
	if err == nil && !boot.Done() {
		err = problem.ErrFound
	}
	if err == nil {
		err = Judge(v.Err, v.Verdict, p)
	}
	return err
}

// Blast prints the Applications that each Application blocks if it never becomes healthy.
func (v Simulation) Blast(ctx context.Context) error {
	_, p, err := v.plan(ctx)
	if err != nil {
		return err
	}
	model, err := v.Times.Load(p)
	if err != nil {
		return err
	}
	radii, err := simulate.Blast(p, model)
	if err != nil {
		return err
	}
	if err := report.Blast(v.Out, v.Format, p, radii); err != nil {
		return err
	}
	return Judge(v.Err, v.Verdict, p)
}

// Update prints the effects of the work tree on a cluster that has booted from a revision.
func (v Simulation) Update(ctx context.Context, revision string) error {
	before, after, err := v.both(ctx, revision)
	switch {
	case err != nil:
		return err
	case before.Root == nil:
		return fmt.Errorf("the root does not exist at %s, so there is nothing to update from; if it was renamed, leave out ROOT",
			words.Printable(revision))
	case after.Root == nil:
		return fmt.Errorf("there is no root now, only at %s", words.Printable(revision))
	}
	model, faults, err := v.loaded(after)
	if err != nil {
		return err
	}
	boot, err := simulate.Update(before, after, model, faults...)
	if err != nil {
		return problem.Usage(err)
	}
	for _, f := range faults {
		if r := boot.Find(f.App); !r.Touched && r.Created < 0 {
			fmt.Fprintf(v.Err, "note: the update does not change %s, so it cannot fail\n", words.Printable(f.App))
		}
	}
	if names := notCompared(before, after); len(names) > 0 {
		fmt.Fprintf(v.Err, "note: parts of %s are not known, so the update may change more of them than is shown: %s\n",
			words.Count(len(names), "Application"), words.Harmless(words.Some(names)))
	}
	err = v.print(after, boot)
	// A cluster that runs a broken revision is not healthy.
	for i, g := range v.Verdict.Gaps(before) {
		if i < 5 {
			fmt.Fprintf(v.Err, "at %s, %s; the simulation assumes that it is healthy\n", words.Printable(revision), report.GapText(g))
		}
		if err == nil {
			err = problem.ErrFound
		}
	}
	return err
}

// notCompared returns the Applications that are incomplete on one side.
func notCompared(before, after *plan.Plan) []string {
	var names []string
	for _, ref := range plan.Diff(before, after).NotCompared {
		names = append(names, ref.Name)
	}
	return names
}
