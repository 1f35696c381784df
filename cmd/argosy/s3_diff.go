package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/textdiff"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
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
		Long: `Compare what a path in a bucket has with a directory or with another path: what a push of the second to the first would
change. Archives are looked into.

The exit code is 0 when there is no difference, 3 when there is one, 1 when it failed and 2 when it was called wrongly.`,
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
	b := &buckets{cache: cache, now: std.now}
	read := func(arg string) ([]tree.File, error) {
		if !strings.HasPrefix(arg, "s3://") {
			return readDir(std, arg)
		}
		url, err := parseURL(arg)
		if err != nil {
			return nil, err
		}
		s, err := readBucket(ctx, b, &opts.accessOptions, url, "")
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
	changes := compare(from, to)
	if err := writeChanges(std, opts.output.value, old, other, changes); err != nil {
		return err
	}
	if len(changes) > 0 {
		return errFound
	}
	return nil
}

// change is a file that is not the same in two directories.
type change struct {
	name     string
	old, new []byte
	kind     byte // A, M or D
}

// compare merges two lists in the order of names.
func compare(from, to []tree.File) []change {
	var out []change
	for len(from)+len(to) > 0 {
		switch {
		case len(to) == 0 || len(from) > 0 && from[0].Name < to[0].Name:
			out = append(out, change{name: from[0].Name, old: from[0].Data, kind: 'D'})
			from = from[1:]
		case len(from) == 0 || to[0].Name < from[0].Name:
			out = append(out, change{name: to[0].Name, new: to[0].Data, kind: 'A'})
			to = to[1:]
		default:
			if !bytes.Equal(from[0].Data, to[0].Data) {
				out = append(out, change{from[0].Name, from[0].Data, to[0].Data, 'M'})
			}
			from, to = from[1:], to[1:]
		}
	}
	return out
}

func writeChanges(std stdio, format, old, other string, changes []change) error {
	if format == "json" {
		list := make([]any, 0, len(changes))
		for _, c := range changes {
			list = append(list, map[string]any{"path": c.name, "change": map[byte]string{'A': "added", 'M': "modified", 'D': "deleted"}[c.kind]})
		}
		return writeJSON(std.out, map[string]any{"changes": list})
	}
	for _, c := range changes {
		var err error
		switch {
		case format == "name":
			_, err = fmt.Fprintf(std.out, "%c %s\n", c.kind, words.Printable(c.name))
		case !utf8.Valid(c.old) || !utf8.Valid(c.new):
			_, err = fmt.Fprintf(std.out, "binary file %s differs\n", words.Printable(c.name))
		default:
			_, err = std.out.Write(textdiff.Unified(old+"/"+c.name, c.old, strings.TrimSuffix(other, "/")+"/"+c.name, c.new))
		}
		if err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	return nil
}
