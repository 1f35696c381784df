package preview

import (
	"context"
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/edit"
	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/lint/format"
	"github.com/argosy-cd/argosy/internal/words"
)

// mostLines is how many fixes are printed one by one.
const mostLines = 100

// fix cures findings in their files: in all files, or in none and an error. It says which, and reports whether there are any.
func (v Lint) fix(ctx context.Context, r *lint.Report) (bool, error) {
	if slices.Contains(v.Roots, "-") {
		return false, fmt.Errorf("standard input cannot be fixed; name the file of the root")
	}
	local, err := v.Planner.Repositories.Local(ctx)
	if err != nil {
		return false, err
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
		return false, err
	}
	var lines []string
	for _, f := range fixes {
		there := !slices.Contains(outside, f.File)
		for _, one := range f.Fixed {
			if there {
				lines = append(lines, "fixed "+format.Line(one))
			} else {
				lines = append(lines, "not fixed: "+format.Line(one)+": the file is not in a work tree")
			}
		}
		for _, one := range f.Left {
			lines = append(lines, fmt.Sprintf("not fixed: %s: %s", format.Line(one.Finding), one.Reason))
		}
	}
	for i, line := range lines {
		if i == mostLines && len(lines) > mostLines+1 {
			line = fmt.Sprintf("and %d more", len(lines)-i)
		}
		if err := words.Line(v.Err, "%s", words.Harmless(line)); err != nil {
			return false, err
		}
		if i == mostLines {
			break
		}
	}
	return len(files) > len(outside), nil
}
