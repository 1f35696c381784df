// Package preview is argosy plan, app render, simulate and lint: from the roots that a user names to a report of what will happen, and a
// verdict on it. Data goes to one writer, everything else to another.
//
// The error is problem.ErrFound if the report is complete and its verdict is bad: something is broken, unknown or does not end.
package preview

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/edit"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// Preview is about the plan of some roots. All fields are needed, unless their zero value is described.
type Preview struct {
	Planner *workspace.Planner
	// Roots are files and directories. None are searched for.
	Roots   []string
	Verdict report.Verdict
	Format  report.Format
	// Out is for data, Err for everything else.
	Out, Err io.Writer
}

// Plan prints the plan, with all objects or only with Applications and ApplicationSets.
func (v Preview) Plan(ctx context.Context, resources bool) error {
	return v.planned(ctx, func(p *plan.Plan) error { return report.Plan(v.Out, v.Format, p, resources) })
}

// Inputs prints the files that each Application is rendered from.
func (v Preview) Inputs(ctx context.Context) error {
	return v.planned(ctx, func(p *plan.Plan) error { return report.Inputs(v.Out, v.Format, p) })
}

func (v Preview) planned(ctx context.Context, print func(*plan.Plan) error) error {
	_, p, err := v.plan(ctx)
	if err != nil {
		return err
	}
	if err := print(p); err != nil {
		return err
	}
	return Judge(v.Err, v.Verdict, p)
}

func (v Preview) plan(ctx context.Context) (*workspace.Roots, *plan.Plan, error) {
	roots, err := v.Planner.Roots(ctx, v.Roots)
	if err != nil {
		return nil, nil, err
	}
	p, err := v.Planner.Plan(ctx, roots)
	if err == nil {
		err = v.Verdict.Fits(p)
	}
	return roots, p, err
}

// both plans the roots at a revision and in the work tree.
func (v Preview) both(ctx context.Context, revision string) (before, after *plan.Plan, err error) {
	before, after, err = v.Planner.Both(ctx, revision, v.Roots)
	if err == nil {
		err = v.Verdict.Fits(before, after)
	}
	return before, after, err
}

// Judge prints why a verdict refuses a plan. The error is problem.ErrFound then.
func Judge(w io.Writer, v report.Verdict, p *plan.Plan) error {
	refused := v.Refused(p)
	if len(refused) == 0 {
		return nil
	}
	fmt.Fprintln(w, words.Harmless(strings.Join(refused, "; ")))
	return problem.ErrFound
}

// AssignWaves writes sync waves into the files of Applications that need others (argo.DependsAnnotation).
func (v Preview) AssignWaves(ctx context.Context) error {
	_, local, p, err := v.edited(ctx)
	if err != nil {
		return err
	}
	return edit.Waves(v.Out, local, p)
}

// WritePaths writes the paths that each Application is rendered from into its file.
func (v Preview) WritePaths(ctx context.Context) error {
	repos, local, p, err := v.edited(ctx)
	if err != nil {
		return err
	}
	return edit.Paths{Plan: p, Local: local, Open: repos.Loader().Open, Unknown: report.Unknown}.Write(ctx, v.Out, v.Err)
}

// edited are the plan, and the local repositories that it is read from.
func (v Preview) edited(ctx context.Context) (*workspace.Repositories, []gitsource.Local, *plan.Plan, error) {
	roots, p, err := v.plan(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	local, err := roots.Repositories.Local(ctx)
	return roots.Repositories, local, p, err
}

// Difference configures a comparison with a revision.
type Difference struct {
	Revision string
	// Manifests prints how the objects of each Application change.
	Manifests bool
	// MaxDeletions is how many Applications may be deleted. Nil is any number.
	MaxDeletions *int
	// Command prints a whole comparison.
	Command string
}

// Difference prints the changes from a revision to the work tree.
func (v Preview) Difference(ctx context.Context, d Difference) error {
	before, after, err := v.both(ctx, d.Revision)
	if err != nil {
		return err
	}
	r := report.NewDifference(d.Revision, before, after, v.Verdict)
	r.Manifests, r.Command = d.Manifests, d.Command
	if err := r.Write(v.Out, v.Format); err != nil {
		return err
	}
	deleted := r.Deletions()
	tooMany := d.MaxDeletions != nil && len(deleted) > *d.MaxDeletions
	if tooMany {
		fmt.Fprintf(v.Err, "%s will be deleted, and --max-deletions allows %d: %s\n", words.Count(len(deleted), "Application"),
			*d.MaxDeletions, words.Harmless(words.Some(deleted)))
	}
	if tooMany || r.Worse() {
		return problem.ErrFound
	}
	return nil
}

// Names returns the names of the known Applications that the roots deploy.
func (v Preview) Names(ctx context.Context) []string {
	_, p, err := v.plan(ctx)
	if err != nil {
		return nil
	}
	var names []string
	for _, app := range p.Applications {
		if !app.Applied {
			names = append(names, app.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
