package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
)

type s3DiffOptions struct {
	option.Transfer
	option.Cache
}

func newS3DiffCommand(std stdio) *cobra.Command {
	var opts s3DiffOptions
	opts.Output = cli.OneOf("text", "name", "json")
	cmd := &cobra.Command{
		Use:   "diff s3://BUCKET/PATH DIR|s3://BUCKET/PATH",
		Short: "Compare a path in a bucket with a directory or another path",
		Long: `Compare a path in a bucket with a directory or with another path: what a push of the second to the first would
change. Archives are unpacked and compared file by file.

Exit codes: 0 no difference, 3 a difference, 1 failed, 2 wrong usage.`,
		Example: `  argosy s3 diff s3://artifacts/apps/demo out/
  argosy s3 diff s3://artifacts/apps/demo/v1.3.0 s3://artifacts/apps/demo/v1.4.0`,
		Args:    cli.Exactly(2, "s3://BUCKET/PATH and a directory or another s3://BUCKET/PATH"),
		PreRunE: option.PreRun(std),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runS3Diff(cmd.Context(), std, opts, args[0], args[1])
		},
	}
	opts.Transfer.Register(cmd.Flags(), true)
	opts.Cache.Register(cmd.Flags())
	cmd.Flags().Lookup("timeout").Usage = "give up after this time ($ARGOSY_TIMEOUT)"
	cmd.Flags().VarP(&opts.Output, "output", "o", "output format, "+opts.Output.Usage())
	return cmd
}

func runS3Diff(ctx context.Context, std stdio, opts s3DiffOptions, old, other string) error {
	ctx, cancel, pool, err := opts.Pool(ctx, std)
	if err != nil {
		return err
	}
	defer cancel()
	user, err := opts.User(std, pool)
	if err != nil {
		return err
	}
	return user.Diff(ctx, old, other, opts.Output.Value == "name")
}
