package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/transfer"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
)

type s3PushOptions struct {
	option.Transfer
	push    transfer.Push
	timeout time.Duration
}

func newS3PushCommand(std stdio) *cobra.Command {
	var opts s3PushOptions
	opts.Output = cli.OneOf("text", "json")
	cmd := &cobra.Command{
		Use:   "push DIR s3://BUCKET/PATH",
		Short: "Publish a directory, so that readers see the old state or the new one",
		Long: `Publish a directory in a bucket. Only files that changed are uploaded, and what was uploaded is verified. An
index of all files and their digests, ` + bucket.IndexName + `, switches readers: they see the old state or the new one and nothing
between, even if the push is interrupted.

Standard output is the digest of the content, to pin it in a trigger file (digest:). Files of the bucket that are not in the
directory are not read any more; --prune deletes them.

With --archive the directory becomes one object, PATH, whose name says how it is packed: .tar.gz, .tgz, .tar.zst or .tar. Equal
directories make equal archives.`,
		Example: `  # in CI, after the build
  argosy s3 push out/ s3://artifacts/apps/demo/v1.4.0

  # one object
  argosy s3 push --archive out/ s3://artifacts/apps/demo-v1.4.0.tar.gz`,
		Args: cli.Exactly(2, "DIR and s3://BUCKET/PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runS3Push(cmd.Context(), std, opts, args[0], args[1])
		},
	}
	opts.Register(cmd.Flags(), false)
	cmd.Flags().BoolVar(&opts.push.Prune, "prune", false, "delete files of the bucket that are not in the directory")
	cmd.Flags().BoolVar(&opts.push.DryRun, "dry-run", false, "say what would be done, and do nothing")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", 10*time.Minute, "give up after this time")
	cmd.Flags().BoolVar(&opts.push.Archive, "archive", false, "pack the directory into one object")
	cmd.Flags().VarP(&opts.Output, "output", "o", "output format, "+opts.Output.Usage()+"; text is the digest")
	return cmd
}

func runS3Push(ctx context.Context, std stdio, opts s3PushOptions, dir, target string) error {
	user, err := opts.User(std, &buckets.Pool{Now: std.Now})
	if err != nil {
		return err
	}
	ctx, cancel, err := cli.Deadline(ctx, opts.timeout)
	if err != nil {
		return err
	}
	defer cancel()
	return user.Push(ctx, opts.push, dir, target)
}
