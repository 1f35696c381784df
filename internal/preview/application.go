package preview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
)

// Application is one Application of the plan.
type Application struct {
	Preview
	// Name is the name of the Application, or of a file with the only root, an Application.
	Name string
}

// IsFile reports whether an argument is a file, and not the name of an Application.
func IsFile(arg string) bool {
	info, err := os.Stat(arg)
	return arg == "-" || err == nil && info.Mode().IsRegular() || input.IsManifest(filepath.Base(arg))
}

// Render prints the manifests of the Application, in the order of deployment. It prints none if the Application is broken.
func (v Application) Render(ctx context.Context) error {
	_, p, err := v.plan(ctx)
	if err != nil {
		return err
	}
	app, err := v.find(p)
	if err != nil {
		return err
	}
	if app.Verdict() != source.Broken {
		if err := report.Objects(v.Out, v.Format, app.Objects()); err != nil {
			return err
		}
	}
	return v.judge("", p, app)
}

// find returns the Application from plans. The first plan that has it wins.
func (v Application) find(plans ...*plan.Plan) (*plan.Application, error) {
	for _, p := range plans {
		app, err := p.Find(v.Name)
		if IsFile(v.Name) {
			app, err = p.Only(v.Name)
		}
		if app != nil || err != nil {
			return app, err
		}
	}
	if IsFile(v.Name) {
		return nil, fmt.Errorf("%s: there is no Application in it", v.Name)
	}
	return nil, plan.NotFound{Plans: plans, Allowed: v.Verdict.Allowed}.Err(v.Name)
}

// judge prints the problems of an Application, with the side of a comparison in front. The error is problem.ErrFound if the manifests are
// incomplete.
func (v Application) judge(side string, p *plan.Plan, app *plan.Application) error {
	report.Judgement(v.Err, side, p, app)
	if verdict := app.Verdict(); verdict == source.Broken || verdict != source.Known && !v.Verdict.Allowed(app.Name) {
		return problem.ErrFound
	}
	return nil
}

// Compare prints how the manifests change since a revision.
func (v Application) Compare(ctx context.Context, revision string) error {
	before, after, err := v.both(ctx, revision)
	if err != nil {
		return err
	}
	app, err := v.find(after, before)
	if err != nil {
		return err
	}
	d := plan.Diff(before, after)
	if err := report.Manifests(v.Out, d, app.Ref, revision); err != nil {
		return err
	}
	var errs []error
	for _, side := range []struct {
		name string
		plan *plan.Plan
	}{{"at " + words.Printable(revision) + ": ", before}, {"", after}} {
		if i := slices.IndexFunc(side.plan.Applications, func(a *plan.Application) bool { return a.Ref == app.Ref }); i >= 0 {
			errs = append(errs, v.judge(side.name, side.plan, side.plan.Applications[i]))
		}
	}
	if slices.Contains(d.NotCompared, app.Ref) && len(errs) == 1 {
		fmt.Fprintf(v.Err, "unknown: %s: it is in one of the two plans; unknown parts of the other may have it, too\n",
			words.Printable(app.Name))
		errs = append(errs, problem.ErrFound)
	}
	return errors.Join(errs...)
}
