package main

import (
	"context"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/transfer"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
)

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

type s3PullOptions struct {
	accessOptions
	cacheOptions
	pull   transfer.Pull
	digest string
}

func newS3PullCommand(std stdio) *cobra.Command {
	var opts s3PullOptions
	cmd := &cobra.Command{
		Use:   "pull s3://BUCKET/PATH DIR",
		Short: "Copy what a path in a bucket has to a directory",
		Long: `Copy a snapshot of what is under a path to a directory, as a plugin would read it: one state, verified where
there is an index, unchanged objects from the cache. Files that are the same already are not touched; an
archive is unpacked.`,
		Args: exactly(2, "s3://BUCKET/PATH and DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(std, cmd.Flags()); err != nil {
				return err
			}
			return runS3Pull(cmd.Context(), std, opts, args[0], args[1])
		},
	}
	opts.accessOptions.register(cmd.Flags(), true)
	opts.cacheOptions.register(cmd.Flags())
	cmd.Flags().BoolVar(&opts.pull.Prune, "prune", false, "delete files of the directory that are not in the bucket")
	cmd.Flags().BoolVar(&opts.pull.DryRun, "dry-run", false, "say what would be done, and do nothing")
	cmd.Flags().StringVar(&opts.digest, "digest", "", "refuse other content than this, sha256:…")
	return cmd
}

func runS3Pull(ctx context.Context, std stdio, opts s3PullOptions, from, dir string) error {
	pull := opts.pull
	pull.Dir = dir
	var err error
	if pull.URL, err = parseURL(from); err != nil {
		return err
	}
	if err := opts.check(); err != nil {
		return err
	}
	if opts.digest != "" && !digestPattern.MatchString(opts.digest) {
		return usagef("--digest must be sha256: and 64 hexadecimal digits, it is %q", opts.digest)
	}
	ctx, cancel, err := opts.deadline(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	cache, err := opts.open(std)
	if err != nil {
		return err
	}
	snapshot, err := readBucket(ctx, &buckets.Pool{Cache: cache, Now: std.now}, &opts.accessOptions, pull.URL, opts.digest)
	if err != nil {
		return err
	}
	return pull.Write(std.out, std.err, snapshot)
}

// readBucket reads all files under a path, or those in an archive.
func readBucket(ctx context.Context, pool *buckets.Pool, access *accessOptions, url bucket.URL, digest string) (*bucket.Snapshot, error) {
	reader, err := pool.Reader(ctx, access.access(url.Bucket))
	if err != nil {
		return nil, err
	}
	return transfer.Read(ctx, reader, url, digest)
}
