package preview

import (
	"context"
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/edit"
	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/lint/format"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// mostLines is how many fixes are printed one by one.
const mostLines = 100

// mostRounds is how often files are fixed. A set that can be rendered again may have Applications with more to fix.
const mostRounds = 5

// cure fixes findings until no fixable one is left, and returns the plan and the report of the rest.
func (v Lint) cure(ctx context.Context, o *lint.Options, p *plan.Plan, r *lint.Report) (*plan.Plan, *lint.Report, error) {
	for round := 1; ; round++ {
		fixed, left, err := v.fix(ctx, r)
		if err != nil {
			return nil, nil, err
		}
		if !fixed || round == mostRounds {
			if err := v.lines(left); err != nil || !fixed {
				return p, r, err
			}
		}
		v.Planner.Again()
		if p, r, err = v.lint(ctx, o); err != nil || round == mostRounds {
			return p, r, err
		}
	}
}

// fix cures findings in their files: in all files, or in none and an error. It prints the fixed findings, reports whether there are any,
// and returns lines about the others.
func (v Lint) fix(ctx context.Context, r *lint.Report) (fixed bool, left []string, err error) {
	if slices.Contains(v.Roots, "-") {
		return false, nil, fmt.Errorf("standard input cannot be fixed; name the file of the root")
	}
	local, err := v.Planner.Repositories.Local(ctx)
	if err != nil {
		return false, nil, err
	}
	fixes := r.Fixes()
	var files []edit.File
	for _, f := range fixes {
		if len(f.Fixed) > 0 {
			files = append(files, edit.File{Name: f.File, Before: f.Before, After: f.After})
		}
	}
	outside, err := edit.Files(local, files)
	if err != nil {
		return false, nil, err
	}
	var done []string
	for _, f := range fixes {
		for _, one := range f.Fixed {
			if slices.Contains(outside, f.File) {
				left = append(left, "not fixed: "+format.Line(one)+": the file is not in a work tree")
			} else {
				done = append(done, "fixed "+format.Line(one))
			}
		}
		for _, one := range f.Left {
			left = append(left, fmt.Sprintf("not fixed: %s: %s", format.Line(one.Finding), one.Reason))
		}
	}
	return len(files) > len(outside), left, v.lines(done)
}

// lines prints lines, and of many the first.
func (v Lint) lines(lines []string) error {
	for i, line := range lines {
		if i == mostLines && len(lines) > mostLines+1 {
			return words.Line(v.Err, "and %d more", len(lines)-i)
		}
		if err := words.Line(v.Err, "%s", words.Harmless(line)); err != nil {
			return err
		}
	}
	return nil
}
