package main

import (
	"bytes"
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/report"
)

// names are those of the Applications that roots deploy, planned with what is here: nothing is fetched, printed or read from standard
// input. What is not known has no names.
func (o *planInput) names(ctx context.Context, std stdio, roots []string) []string {
	std.in, std.err = bytes.NewReader(nil), io.Discard
	offline := *o
	offline.offline, offline.verdict = true, report.Verdict{}
	v, err := offline.preview(std, roots, formatFlag{})
	if err != nil {
		return nil
	}
	defer v.Planner.Close() //nolint:errcheck // only read from
	return v.Names(ctx)
}

// completeNames completes names of Applications in flags, each with something behind it. Roots are those of the arguments, or of a flag.
func (o *planInput) completeNames(std stdio, cmd *cobra.Command, roots func(args []string) []string, flags map[string]string) {
	cli.CompleteNames(cmd, flags, func(ctx context.Context, args []string) []string { return o.names(ctx, std, roots(args)) })
}

// arguments are the roots of a command whose arguments they are.
func arguments(args []string) []string { return args }
