package transfer

import (
	"context"
	"io"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/progress"
	"github.com/argosy-cd/argosy/internal/report"
)

// User runs transfers for a command. All fields must be set.
type User struct {
	// Out is for data, Err for everything else.
	Out, Err io.Writer
	// JSON prints data for programs.
	JSON bool
	// Note is called with notes for the user.
	Note func(line string)
	// Bar shows how far uploads are.
	Bar progress.Config
	// Reader and Writer open buckets.
	Reader Open
	Writer func(ctx context.Context, name string) (bucket.Writer, error)
}

// Push publishes a directory at a URL.
func (u User) Push(ctx context.Context, p Push, dir, target string) (err error) {
	if p.URL, err = ParseURL(target); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		return err
	}
	if p.Files, err = ReadDir(dir, u.Note); err != nil {
		return err
	}
	if p.Store, err = u.Writer(ctx, p.URL.Bucket); err != nil {
		return err
	}
	bar := progress.New(u.Bar, "uploading")
	p.Progress = bar.Report
	result, err := p.Run(ctx)
	bar.End()
	if err != nil {
		return err
	}
	if u.JSON {
		return report.Object(u.Out, p.Object(result))
	}
	return p.Report(u.Out, u.Err, result)
}

// Pull copies what a URL has to a directory.
func (u User) Pull(ctx context.Context, p Pull, from, dir string) (err error) {
	p.Dir = dir
	if p.URL, err = ParseURL(from); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		return err
	}
	snapshot, err := p.Read(ctx, u.Reader)
	if err != nil {
		return err
	}
	return p.Write(u.Out, u.Err, snapshot)
}

// Diff prints how a directory or a URL differs from a URL, or only the names of files. The error is problem.ErrFound if it does.
func (u User) Diff(ctx context.Context, old, other string, names bool) error {
	if _, err := ParseURL(old); err != nil {
		return err
	}
	d, err := Comparison{Old: old, New: other, Open: u.Reader, Note: u.Note}.Run(ctx)
	if err != nil {
		return err
	}
	if u.JSON {
		err = report.Object(u.Out, d.Object())
	} else {
		err = d.Write(u.Out, names)
	}
	if err == nil && len(d.Changes) > 0 {
		err = problem.ErrFound
	}
	return err
}
