package preview

import (
	"context"
	"fmt"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/simulate"
)

// Compare prints two boots: with sets rendered by the controller, and by the plugin.
func (v Simulation) Compare(ctx context.Context) error {
	var c report.Comparison
	err := v.renderers(ctx, &c, func(i int, model simulate.Model) error {
		faults, err := v.faults(c.Plans[i])
		if err != nil {
			return err
		}
		if c.Boots[i], err = simulate.Simulate(c.Plans[i], model, faults...); err != nil {
			return problem.Usage(err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.Write(v.Out, v.Format); err != nil {
		return err
	}
	if !c.Boots[1].Done() {
		return problem.ErrFound
	}
	return Judge(v.Err, v.Verdict, c.Plans[1])
}

// CompareBlast prints what each Application blocks, with sets rendered by the controller, and by the plugin.
func (v Simulation) CompareBlast(ctx context.Context) error {
	var c report.Comparison
	err := v.renderers(ctx, &c, func(i int, model simulate.Model) (err error) {
		if c.Radii[i], err = simulate.Blast(c.Plans[i], model); err != nil {
			return fmt.Errorf("with the %s: %w", report.Renderers()[i], err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.WriteBlast(v.Out, v.Format); err != nil {
		return err
	}
	return Judge(v.Err, v.Verdict, c.Plans[1])
}

// renderers plans with either renderer of sets, and runs f for each plan. The model is that of the first.
func (v Simulation) renderers(ctx context.Context, c *report.Comparison, f func(i int, model simulate.Model) error) error {
	var model simulate.Model
	roots, err := v.Planner.Roots(ctx, v.Roots)
	if err != nil {
		return err
	}
	for i, sets := range []plan.Renderer{plan.SetsByController, plan.SetsByPlugin} {
		v.Planner.Config.Sets = sets
		if c.Plans[i], err = v.Planner.Plan(ctx, roots); err != nil {
			return err
		}
		if err := v.Verdict.Fits(c.Plans[i]); err != nil {
			return err
		}
		if i == 0 {
			if model, err = v.Times.Load(c.Plans[i]); err != nil {
				return err
			}
		}
		if err := f(i, model); err != nil {
			return err
		}
	}
	return nil
}
