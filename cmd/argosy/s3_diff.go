package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/transfer"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
	"github.com/argosy-cd/argosy/internal/textdiff"
	"github.com/argosy-cd/argosy/internal/tree"
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
		Args: exactly(2, "s3://BUCKET/PATH and a directory or another s3://BUCKET/PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fromEnvironment(std, cmd.Flags()); err != nil {
				return err
			}
			return runS3Diff(cmd.Context(), std, opts, args[0], args[1])
		},
	}
	opts.accessOptions.register(cmd.Flags(), true)
	opts.cacheOptions.register(cmd.Flags())
	cmd.Flags().VarP(&opts.output, "output", "o", "output format, "+opts.output.usage())
	return cmd
}

func runS3Diff(ctx context.Context, std stdio, opts s3DiffOptions, old, other string) error {
	if _, err := parseURL(old); err != nil {
		return err
	}
	if err := opts.check(); err != nil {
		return err
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
	pool := &buckets.Pool{Cache: cache, Now: std.now}
	read := func(arg string) ([]tree.File, error) {
		if !strings.HasPrefix(arg, "s3://") {
			return transfer.ReadDir(arg, std.note)
		}
		url, err := parseURL(arg)
		if err != nil {
			return nil, err
		}
		s, err := readBucket(ctx, pool, &opts.accessOptions, url, "")
		if err != nil {
			return nil, err
		}
		return s.Files, nil
	}
	from, err := read(old)
	var empty *bucket.EmptyError
	if err != nil && !errors.As(err, &empty) { // before the first push, everything is new
		return err
	}
	to, err := read(other)
	if err != nil {
		return err
	}
	d := transfer.Differences{Old: old, New: other, Changes: transfer.Compare(from, to), Unified: textdiff.Unified}
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
