package main

import (
	"context"

	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// runPlanDiff says what changes from a revision to the plan of the work tree.
func runPlanDiff(ctx context.Context, std stdio, opts planOptions, planner *workspace.Planner, args []string) error {
	before, after, err := planner.Both(ctx, opts.diff, args)
	if err != nil {
		return err
	}
	r := report.NewDifference(opts.diff, before, after, opts.verdict.rules())
	r.Manifests, r.Command = opts.manifests, opts.commandLine(args)
	if err := r.Write(std.out, opts.output.format()); err != nil {
		return err
	}
	if r.Worse() {
		return errFound
	}
	return nil
}
