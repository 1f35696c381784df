package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/tree"
)

type s3PullOptions struct {
	accessOptions
	cacheOptions
	prune, dryRun bool
	digest        string
}

func newS3PullCommand(std stdio) *cobra.Command {
	var opts s3PullOptions
	cmd := &cobra.Command{
		Use:   "pull s3://BUCKET/PATH DIR",
		Short: "Copy what a path in a bucket has to a directory",
		Long: `Copy a snapshot of what is under a path to a directory, as a plugin would read it: one state, verified where there is an
index, unchanged objects from the cache. Files that are the same already are not touched; an archive is unpacked.`,
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
	cmd.Flags().BoolVar(&opts.prune, "prune", false, "delete files of the directory that are not in the bucket")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "say what would be done, and do nothing")
	cmd.Flags().StringVar(&opts.digest, "digest", "", "refuse other content than this, sha256:…")
	return cmd
}

func runS3Pull(ctx context.Context, std stdio, opts s3PullOptions, from, dir string) error {
	url, err := parseURL(from)
	if err != nil {
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
	snapshot, err := readBucket(ctx, &buckets{cache: cache, now: std.now}, &opts.accessOptions, url, opts.digest)
	if err != nil {
		return err
	}
	for _, f := range snapshot.Files {
		if !tree.Safe(f.Name) {
			return fmt.Errorf("%s: this key cannot be the name of a file", url.Join(f.Name))
		}
	}
	if !opts.dryRun {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return pathError(err)
		}
	}
	p := &pull{std: std, dryRun: opts.dryRun}
	if p.root, err = os.OpenRoot(dir); err != nil && (!opts.dryRun || !errors.Is(err, fs.ErrNotExist)) {
		return pathError(err)
	}
	if p.root != nil {
		defer p.root.Close()
	}
	if err := p.write(snapshot.Files); err != nil {
		return err
	}
	if opts.prune {
		if err := p.prune(snapshot.Files); err != nil {
			return err
		}
	}
	fmt.Fprintf(std.err, "%s: %d written, %d unchanged, %d deleted; %d downloaded, %d from the cache\n",
		url, p.written, p.unchanged, p.deleted, snapshot.Stats.Gets, snapshot.Stats.Cached)
	fmt.Fprintln(std.out, snapshot.Digest)
	return nil
}

// readBucket reads all files under a path, or those in an archive.
func readBucket(ctx context.Context, b *buckets, access *accessOptions, url bucket.URL, digest string) (*bucket.Snapshot, error) {
	reader, err := b.reader(ctx, access.access(url.Bucket))
	if err != nil {
		return nil, err
	}
	packed := archive.Suffix(url.Path) != ""
	s, err := reader.Read(ctx, bucket.Request{Path: url.Path, File: packed || tree.IsManifest(url.Path), Digest: digest})
	if err != nil {
		return nil, err
	}
	if s.Single && packed {
		if s.Files, err = archive.Extract(url.Path, s.Files[0].Data, archive.DefaultLimits); err != nil {
			return nil, fmt.Errorf("%s: %w", url, err)
		}
	}
	return s, nil
}

// pull writes files to a directory that nothing can lead out of.
type pull struct {
	std                         stdio
	root                        *os.Root // nil: there is no directory yet
	dryRun                      bool
	written, unchanged, deleted int
}

func (p *pull) write(files []tree.File) error {
	for _, f := range files {
		if p.root != nil {
			if old, err := p.root.ReadFile(f.Name); err == nil && bytes.Equal(old, f.Data) {
				p.unchanged++
				continue
			}
		}
		p.written++
		if p.dryRun {
			fmt.Fprintln(p.std.err, "write", printable(f.Name))
			continue
		}
		if err := p.replace(f); err != nil {
			return fmt.Errorf("%s: %w", printable(f.Name), innermost(err))
		}
	}
	return nil
}

// replace writes a file beside the old one and then takes its place.
func (p *pull) replace(f tree.File) error {
	if err := p.root.MkdirAll(path.Dir(f.Name), 0o755); err != nil {
		return err
	}
	temp := path.Join(path.Dir(f.Name), ".argosy-new")
	if err := p.root.WriteFile(temp, f.Data, 0o644); err != nil {
		return err
	}
	if err := p.root.Rename(temp, f.Name); err != nil {
		_ = p.root.Remove(temp)
		return err
	}
	return nil
}

// prune deletes files that were not read. Hidden directories, such as that of Git, are not touched.
func (p *pull) prune(files []tree.File) error {
	if p.root == nil {
		return nil
	}
	keep := map[string]bool{}
	for _, f := range files {
		keep[f.Name] = true
	}
	return fs.WalkDir(p.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return pathError(err)
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || keep[name]:
			return nil
		}
		p.deleted++
		if p.dryRun {
			fmt.Fprintln(p.std.err, "delete", printable(name))
			return nil
		}
		return p.root.Remove(name)
	})
}

func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
