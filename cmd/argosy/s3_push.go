package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/s3"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

type s3PushOptions struct {
	accessOptions
	prune, dryRun, archive bool
	timeout                time.Duration
	output                 formatFlag
}

func newS3PushCommand(std stdio) *cobra.Command {
	opts := s3PushOptions{output: formatFlag{value: "text", allowed: []string{"text", "json"}}}
	cmd := &cobra.Command{
		Use:   "push DIR s3://BUCKET/PATH",
		Short: "Publish a directory, so that readers see the old state or the new one",
		Long: `Publish a directory in a bucket. Only files that changed are uploaded, and what was uploaded is verified. An index of all
files and their digests, ` + bucket.IndexName + `, is written last: readers see the old state or the new one and nothing
between, even if the push is interrupted.

Standard output is the digest of the content, to pin it in a trigger file (digest:). Files of the bucket that are not in the
directory are not read any more; --prune deletes them.

With --archive the directory becomes one object, PATH, whose name says how it is packed: .tar.gz, .tgz, .tar.zst or .tar. Equal
directories make equal archives.`,
		Example: `  # in CI, after the build
  argosy s3 push out/ s3://artifacts/apps/demo/v1.4.0

  # one object
  argosy s3 push --archive out/ s3://artifacts/apps/demo-v1.4.0.tar.gz`,
		Args: exactly(2, "DIR and s3://BUCKET/PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runS3Push(cmd.Context(), std, opts, args[0], args[1])
		},
	}
	opts.register(cmd.Flags(), false)
	cmd.Flags().BoolVar(&opts.prune, "prune", false, "delete files of the bucket that are not in the directory")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "say what would be done, and do nothing")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", 10*time.Minute, "give up after this time")
	cmd.Flags().BoolVar(&opts.archive, "archive", false, "pack the directory into one object")
	cmd.Flags().VarP(&opts.output, "output", "o", "output format, "+opts.output.usage()+"; text is the digest")
	return cmd
}

func runS3Push(ctx context.Context, std stdio, opts s3PushOptions, dir, target string) error {
	url, err := parseURL(target)
	if err != nil {
		return err
	}
	if err := opts.check(); err != nil {
		return err
	}
	packed := archive.Suffix(url.Path) != ""
	switch {
	case opts.archive && (!packed || archive.Suffix(url.Path) == ".zip"):
		return usagef("with --archive, PATH must end in .tar.gz, .tgz, .tar.zst or .tar")
	case !opts.archive && packed:
		return usagef("PATH ends as the name of an archive does; --archive makes one")
	case opts.archive && opts.prune:
		return usagef("--prune does not go with --archive, which is one object")
	}
	files, err := readDir(std, dir)
	if err != nil {
		return err
	}
	ctx, cancel, err := deadline(ctx, opts.timeout)
	if err != nil {
		return err
	}
	defer cancel()
	store, err := openStore(ctx, opts.access(url.Bucket), std.now)
	if err != nil {
		return err
	}
	var result *bucket.Published
	if opts.archive {
		result, err = pushArchive(ctx, store, opts.dryRun, url, files)
	} else {
		result, err = pushFiles(ctx, std, store, opts, url, files)
	}
	if err != nil {
		return err
	}
	return reportPush(std, opts, url, result)
}

func pushFiles(ctx context.Context, std stdio, store *s3.Store, opts s3PushOptions, url bucket.URL, files []tree.File) (*bucket.Published, error) {
	bar := newProgress(std, "uploading")
	defer bar.end()
	return bucket.Publication{
		Store: store, Bucket: url.Bucket, Path: url.Path, Files: files,
		Prune: opts.prune, DryRun: opts.dryRun, Limits: bucket.DefaultLimits, Progress: bar.report,
	}.Run(ctx)
}

// pushArchive writes one object, which is a change in one moment by itself.
func pushArchive(ctx context.Context, store *s3.Store, dryRun bool, url bucket.URL, files []tree.File) (*bucket.Published, error) {
	data, err := archive.Pack(url.Path, files)
	if err != nil {
		return nil, err
	}
	if most := bucket.DefaultLimits.ObjectBytes; int64(len(data)) > most {
		return nil, fmt.Errorf("the archive has %d bytes, which is over the limit of %d for one object", len(data), most)
	}
	result := &bucket.Published{Digest: "sha256:" + bucket.Sum(data), Unchanged: 1}
	sum, err := store.Sum(ctx, url.Path)
	if err != nil || sum == bucket.Sum(data) {
		return result, err
	}
	result.Uploaded, result.Unchanged = []string{path.Base(url.Path)}, 0
	if dryRun {
		return result, nil
	}
	o, err := store.Put(ctx, url.Path, data, bucket.Condition{})
	if err != nil {
		return nil, err
	}
	stored, err := store.Get(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("verifying: %w", err)
	}
	if bucket.Sum(stored) != bucket.Sum(data) {
		return nil, fmt.Errorf("verifying %s: it is not what was written", url)
	}
	return result, nil
}

// reportPush prints the digest as data and the rest as talk.
func reportPush(std stdio, opts s3PushOptions, url bucket.URL, r *bucket.Published) error {
	if opts.output.value == "json" {
		return writeJSON(std.out, map[string]any{
			"url": url.String(), "digest": r.Digest, "dryRun": opts.dryRun, "uploaded": texts(r.Uploaded), "unchanged": int64(r.Unchanged), "deleted": texts(r.Deleted), "left": texts(r.Left),
		})
	}
	verb, deleted := "uploaded", "deleted"
	if opts.dryRun {
		verb, deleted = "would be uploaded", "would be deleted"
		for _, name := range r.Uploaded {
			fmt.Fprintln(std.err, "upload", words.Printable(name))
		}
		for _, name := range r.Deleted {
			fmt.Fprintln(std.err, "delete", words.Printable(name))
		}
	}
	fmt.Fprintf(std.err, "%s: %s %s, %d unchanged, %d %s\n", url, words.Count(len(r.Uploaded), "file"), verb, r.Unchanged, len(r.Deleted), deleted)
	if len(r.Left) > 0 {
		fmt.Fprintf(std.err, "note: %s in the bucket but not in the directory, such as %s; readers do not see them, --prune deletes them\n", words.Count(len(r.Left), "file"), words.Printable(r.Left[0]))
	}
	return words.Line(std.out, "%s", r.Digest)
}

// readDir reads the files of a directory. Hidden directories are left out, and named; links are an error.
func readDir(std stdio, dir string) ([]tree.File, error) {
	root, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var files []tree.File
	var total int64
	limits := bucket.DefaultLimits
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return pathError(err)
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			fmt.Fprintf(std.err, "note: %s is left out, as all hidden directories are\n", words.Printable(name))
			return fs.SkipDir
		case d.IsDir() || name == bucket.IndexName:
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s: only files and directories are read, no links and no devices", words.Printable(path.Join(dir, name)))
		case len(files) == limits.Objects:
			return fmt.Errorf("%s: more than %d files", dir, limits.Objects)
		}
		data, err := readBounded(root, name, limits.ObjectBytes)
		if err != nil {
			return fmt.Errorf("%s: %w", words.Printable(path.Join(dir, name)), err)
		}
		if total += int64(len(data)); total > limits.Bytes {
			err = fmt.Errorf("%s: its files have more than %d MiB, which is the limit", dir, limits.Bytes>>20)
		}
		files = append(files, tree.File{Name: name, Data: data})
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, errNoFiles)
	}
	tree.Sort(files)
	return files, nil
}

func readBounded(root *os.Root, name string, most int64) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, innermost(err)
	}
	if info.Size() > most {
		return nil, fmt.Errorf("over the limit of %d MiB for one file", most>>20)
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return nil, innermost(err)
	}
	return data, nil
}
