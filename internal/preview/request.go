package preview

import (
	"context"

	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
)

// Request is a request of argosy plan. With only the fields of Preview set, it prints the plan.
type Request struct {
	Preview
	// Resources prints all objects, not only Applications and ApplicationSets.
	Resources bool
	// Since compares with a revision, unless that is "".
	Since Difference
	// AssignWaves and WritePaths write into the files of Applications. Inputs prints the files that each is rendered from.
	AssignWaves, WritePaths, Inputs bool
}

// Check refuses flags that exclude each other. It needs the format and the verdict, but no planner.
func (r Request) Check() error {
	diff, writes := r.Since.Revision != "", r.AssignWaves || r.WritePaths
	ways := 0
	for _, on := range []bool{r.AssignWaves, r.Inputs, r.WritePaths, diff} {
		if on {
			ways++
		}
	}
	table, json := r.Format == report.Table, r.Format == report.JSON
	picture := r.Format == report.Mermaid || r.Format == report.DOT || r.Format == report.SVG
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{ways > 1, "--diff, --assign-waves, --inputs and --write-paths exclude each other"},
		{r.Resources && picture, "--resources requires -o table, json or yaml"},
		{r.Format == report.Markdown && !diff, "-o markdown requires --diff"},
		{diff && (picture || r.Format == report.YAML), "--diff requires -o table, json or markdown"},
		{
			writes && (r.Verdict.Strict || len(r.Verdict.Allow) > 0),
			"--assign-waves and --write-paths exclude --strict and --allow-unknown",
		},
		{writes && (!table || r.Resources), "--assign-waves and --write-paths exclude --resources and -o"},
		{r.Inputs && (!table && !json || r.Resources), "--inputs requires -o table or json, and excludes --resources"},
		{diff && r.Resources, "--diff is about Applications, without --resources"},
		{r.Since.Manifests && !diff, "--manifests requires --diff"},
		{r.Since.MaxDeletions != nil && *r.Since.MaxDeletions < 0, "--max-deletions must not be negative"},
		{r.Since.MaxDeletions != nil && !diff, "--max-deletions requires --diff"},
	} {
		if rule.broken {
			return problem.Usagef("%s", rule.text)
		}
	}
	return nil
}

// Run runs the request.
func (r Request) Run(ctx context.Context) error {
	switch {
	case r.Since.Revision != "":
		return r.Difference(ctx, r.Since)
	case r.AssignWaves:
		return r.Preview.AssignWaves(ctx)
	case r.WritePaths:
		return r.Preview.WritePaths(ctx)
	case r.Inputs:
		return r.Preview.Inputs(ctx)
	}
	return r.Plan(ctx, r.Resources)
}
