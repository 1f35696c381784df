package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/bucket/transfer"
	"github.com/argosy-cd/argosy/internal/report"
)

type s3DiffOptions struct {
	accessOptions
	cacheOptions
	output formatFlag
}

func newS3DiffCommand(std stdio) *cobra.Command {
	opts := s3DiffOptions{output: formatFlag{value: "text", allowed: []string{"text", "name", "json"}}}
	cmd := &cobra.Command{
		Use:   "diff s3://BUCKET/PATH DIR|s3://BUCKET/PATH",
		Short: "Compare what a path in a bucket has with a directory or another path",
		Long: `Compare what a path in a bucket has with a directory or with another path: what a push of the second to the
first would change. Archives are looked into.

The exit code is 0 when there is no difference, 3 when there is one, 1 when it failed and 2 when it was called
wrongly.`,
		Example: `  argosy s3 diff s3://artifacts/apps/demo out/
  argosy s3 diff s3://artifacts/apps/demo/v1.3.0 s3://artifacts/apps/demo/v1.4.0`,
		Args:    exactly(2, "s3://BUCKET/PATH and a directory or another s3://BUCKET/PATH"),
		PreRunE: preRun(std),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runS3Diff(cmd.Context(), std, opts, args[0], args[1])
		},
	}
	opts.accessOptions.register(cmd.Flags(), true)
	opts.cacheOptions.register(cmd.Flags())
	cmd.Flags().VarP(&opts.output, "output", "o", "output format, "+opts.output.usage())
	return cmd
}

func runS3Diff(ctx context.Context, std stdio, opts s3DiffOptions, old, other string) error {
	if _, err := transfer.ParseURL(old); err != nil {
		return err
	}
	if err := opts.check(); err != nil {
		return err
	}
	ctx, cancel, pool, err := opts.pool(ctx, std)
	if err != nil {
		return err
	}
	defer cancel()
	d, err := transfer.Comparison{Old: old, New: other, Open: opts.reader(pool), Note: std.note}.Run(ctx)
	if err != nil {
		return err
	}
	if opts.output.value == "json" {
		err = report.Object(std.out, d.Object())
	} else {
		err = d.Write(std.out, opts.output.value == "name")
	}
	if err == nil && len(d.Changes) > 0 {
		err = errFound
	}
	return err
}
