// Package transfer moves files between directories and buckets: it pushes, pulls and compares.
//
// A push is atomic for everybody who reads with argosy. A pull is one state of the bucket, is written into the directory and nowhere else,
// and leaves files alone that are the same already.
package transfer

import (
	"context"
	"fmt"
	"io"
	"path"

	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// Push publishes files in a bucket.
type Push struct {
	URL bucket.URL
	// Archive packs the files into one object, named and packed as the URL says.
	Archive bool
	// Prune deletes files of the bucket that are not among Files.
	Prune bool
	// DryRun changes nothing, and returns what would be done.
	DryRun bool

	Store bucket.Writer
	Files []tree.File
	// Progress is called before and during uploads; nil: not.
	Progress func(done, total int)
}

// Check refuses options that exclude each other. It does not need Store and Files.
func (p Push) Check() error {
	packed := archive.Suffix(p.URL.Path) != ""
	switch {
	case p.Archive && (!packed || archive.Suffix(p.URL.Path) == ".zip"):
		return problem.Usagef("with --archive, PATH must end in .tar.gz, .tgz, .tar.zst or .tar")
	case !p.Archive && packed:
		return problem.Usagef("PATH ends as the name of an archive does; --archive makes one")
	case p.Archive && p.Prune:
		return problem.Usagef("--prune and --archive exclude each other: an archive is one object")
	}
	return nil
}

// Run publishes the files.
func (p Push) Run(ctx context.Context) (*bucket.Published, error) {
	if p.Archive {
		return p.archive(ctx)
	}
	return bucket.Publication{
		Store: p.Store, Bucket: p.URL.Bucket, Path: p.URL.Path, Files: p.Files,
		Prune: p.Prune, DryRun: p.DryRun, Limits: bucket.DefaultLimits, Progress: p.Progress,
	}.Run(ctx)
}

// archive writes one object, which is a change in one moment by itself.
func (p Push) archive(ctx context.Context) (*bucket.Published, error) {
	data, err := archive.Pack(p.URL.Path, p.Files)
	if err != nil {
		return nil, err
	}
	if most := bucket.DefaultLimits.ObjectBytes; int64(len(data)) > most {
		return nil, fmt.Errorf("the archive has %d bytes, which is over the limit of %d for one object", len(data), most)
	}
	result := &bucket.Published{Digest: "sha256:" + bucket.Sum(data), Unchanged: 1}
	sum, err := p.Store.Sum(ctx, p.URL.Path)
	if err != nil || sum == bucket.Sum(data) {
		return result, err
	}
	result.Uploaded, result.Unchanged = []string{path.Base(p.URL.Path)}, 0
	if p.DryRun {
		return result, nil
	}
	o, err := p.Store.Put(ctx, p.URL.Path, data, bucket.Condition{})
	if err != nil {
		return nil, err
	}
	stored, err := p.Store.Get(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("verifying: %w", err)
	}
	if bucket.Sum(stored) != bucket.Sum(data) {
		return nil, fmt.Errorf("verifying %s: the stored object differs from the upload; push again", p.URL)
	}
	return result, nil
}

// Object is the result for programs.
func (p Push) Object(r *bucket.Published) map[string]any {
	return map[string]any{
		"url": p.URL.String(), "digest": r.Digest, "dryRun": p.DryRun, "uploaded": report.Texts(r.Uploaded),
		"unchanged": int64(r.Unchanged), "deleted": report.Texts(r.Deleted), "left": report.Texts(r.Left),
	}
}

// Report prints the digest as data and the rest as talk.
func (p Push) Report(out, talk io.Writer, r *bucket.Published) error {
	verb, deleted := "uploaded", "deleted"
	if p.DryRun {
		verb, deleted = "would be uploaded", "would be deleted"
		for _, name := range r.Uploaded {
			fmt.Fprintln(talk, "upload", words.Printable(name))
		}
		for _, name := range r.Deleted {
			fmt.Fprintln(talk, "delete", words.Printable(name))
		}
	}
	fmt.Fprintf(talk, "%s: %s %s, %d unchanged, %d %s\n", p.URL, words.Count(len(r.Uploaded), "file"), verb, r.Unchanged, len(r.Deleted),
		deleted)
	if len(r.Left) > 0 {
		fmt.Fprintf(talk, "note: %s in the bucket but not in the directory, such as %s; readers do not see them, --prune deletes them\n",
			words.Count(len(r.Left), "file"), words.Printable(r.Left[0]))
	}
	return words.Line(out, "%s", r.Digest)
}
