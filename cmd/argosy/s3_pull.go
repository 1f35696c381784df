package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

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
	snapshot, err := readBucket(ctx, &buckets{cache: cache, now: std.now}, &opts.accessOptions, url, opts.digest)
	if err != nil {
		return err
	}
	for _, f := range snapshot.Files {
		if !tree.Safe(f.Name) {
			return fmt.Errorf("%q: this key cannot be the name of a file", url.Join(f.Name))
		}
		if slices.Contains(strings.Split(f.Name, "/"), ".git") {
			return fmt.Errorf("%s: what is in a .git directory can make Git run programs; it is not written", url.Join(f.Name))
		}
	}
	if opts.prune && snapshot.Single && archive.Suffix(url.Path) == "" {
		return usagef("--prune would delete everything but one file; %s is an object", url)
	}
	return writePull(std, opts, url, dir, snapshot)
}

func writePull(std stdio, opts s3PullOptions, url bucket.URL, dir string, snapshot *bucket.Snapshot) error {
	if !opts.dryRun {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return pathError(err)
		}
	}
	p := &pull{std: std, dryRun: opts.dryRun}
	var err error
	if p.root, err = os.OpenRoot(dir); err != nil && (!opts.dryRun || !errors.Is(err, fs.ErrNotExist)) {
		return pathError(err)
	}
	if p.root != nil {
		defer p.root.Close()
	}
	// Before files are written: one of them may be where a directory was.
	if opts.prune && p.root != nil {
		if err := p.prune(snapshot.Files); err != nil {
			return err
		}
	}
	if err := p.write(snapshot.Files); err != nil {
		return err
	}
	would := ""
	if opts.dryRun {
		would = "would be "
	}
	fmt.Fprintf(std.err, "%s: %d %swritten, %d unchanged, %d %sdeleted; %d downloaded, %d from the cache\n",
		url, p.written, would, p.unchanged, p.deleted, would, snapshot.Stats.Gets, snapshot.Stats.Cached)
	return words.Line(std.out, "%s", snapshot.Digest)
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
		s.Files = tree.Top(s.Files)
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
			fmt.Fprintln(p.std.err, "write", words.Printable(f.Name))
			continue
		}
		if err := p.replace(f); err != nil {
			return fmt.Errorf("%s: %w", words.Printable(f.Name), innermost(err))
		}
	}
	return nil
}

// replace writes a file beside the old one and then takes its place. It does not write through links.
func (p *pull) replace(f tree.File) error {
	dir := path.Dir(f.Name)
	for i := range len(f.Name) {
		if f.Name[i] != '/' {
			continue
		}
		if info, err := p.root.Lstat(f.Name[:i]); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link", words.Printable(f.Name[:i]))
		}
	}
	if err := p.root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	temp := path.Join(dir, ".argosy-"+rand.Text())
	out, err := p.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Data)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = p.root.Rename(temp, f.Name)
	}
	if err != nil {
		_ = p.root.Remove(temp)
	}
	return err
}

// prune deletes files that were not read, and directories that are empty then. Hidden ones, such as those of Git, are not
// touched.
func (p *pull) prune(files []tree.File) error {
	keep := map[string]bool{".": true}
	for _, f := range files {
		keep[f.Name] = true
		for d := path.Dir(f.Name); d != "."; d = path.Dir(d) {
			keep[d+"/"] = true
		}
	}
	var dirs []string
	err := fs.WalkDir(p.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return pathError(err)
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			if name != "." && !keep[name+"/"] {
				dirs = append(dirs, name)
			}
			return nil
		case keep[name]:
			return nil
		}
		p.deleted++
		if p.dryRun {
			fmt.Fprintln(p.std.err, "delete", words.Printable(name))
			return nil
		}
		return p.root.Remove(name)
	})
	for _, dir := range slices.Backward(dirs) {
		if !p.dryRun {
			_ = p.root.Remove(dir) // with something hidden in it, it stays
		}
	}
	return err
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
