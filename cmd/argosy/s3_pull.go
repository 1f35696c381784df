package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/bucket/transfer"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
)

type s3PullOptions struct {
	option.Transfer
	option.Cache
	pull transfer.Pull
}

func newS3PullCommand(std stdio) *cobra.Command {
	var opts s3PullOptions
	cmd := &cobra.Command{
		Use:   "pull s3://BUCKET/PATH DIR",
		Short: "Copy what a path in a bucket has to a directory",
		Long: `Copy a snapshot of what is under a path to a directory, as a plugin would read it: one state, verified where
there is an index, unchanged objects from the cache. Files that are the same already are not touched; an
archive is unpacked.`,
		Args:    cli.Exactly(2, "s3://BUCKET/PATH and DIR"),
		PreRunE: option.PreRun(std),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runS3Pull(cmd.Context(), std, opts, args[0], args[1])
		},
	}
	opts.Transfer.Register(cmd.Flags(), true)
	opts.Cache.Register(cmd.Flags())
	cmd.Flags().Lookup("timeout").Usage = "give up after this time ($ARGOSY_TIMEOUT)"
	cmd.Flags().BoolVar(&opts.pull.Prune, "prune", false, "delete files of the directory that are not in the bucket")
	cmd.Flags().BoolVar(&opts.pull.DryRun, "dry-run", false, "say what would be done, and do nothing")
	cmd.Flags().StringVar(&opts.pull.Digest, "digest", "", "fail if the content has another digest than this, sha256:…")
	return cmd
}

func runS3Pull(ctx context.Context, std stdio, opts s3PullOptions, from, dir string) error {
	ctx, cancel, pool, err := opts.Pool(ctx, std)
	if err != nil {
		return err
	}
	defer cancel()
	user, err := opts.User(std, pool)
	if err != nil {
		return err
	}
	return user.Pull(ctx, opts.pull, from, dir)
}
