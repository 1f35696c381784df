package transfer

import (
	"context"
	"errors"
	"strings"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/textdiff"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Open opens a bucket that a user names.
type Open func(ctx context.Context, name string) (*bucket.Reader, error)

// ParseURL reads a URL that a user names.
func ParseURL(arg string) (bucket.URL, error) {
	u, err := bucket.ParseURL(arg)
	if err != nil {
		return u, problem.Usage(err)
	}
	return u, nil
}

// Comparison compares a path in a bucket with a directory or with another path.
type Comparison struct {
	Old, New string // URLs, or for New a directory
	Open     Open
	// Note is called with notes about files of the directory that are left out.
	Note func(line string)
}

// Run reads both sides. An empty path is no error on the old side: before the first push, everything is new.
func (c Comparison) Run(ctx context.Context) (Differences, error) {
	d := Differences{Old: c.Old, New: c.New, Unified: textdiff.Unified}
	from, err := c.read(ctx, c.Old)
	var empty *bucket.EmptyError
	if err != nil && !errors.As(err, &empty) {
		return d, err
	}
	to, err := c.read(ctx, c.New)
	d.Changes = Compare(from, to)
	return d, err
}

func (c Comparison) read(ctx context.Context, side string) ([]tree.File, error) {
	if !strings.HasPrefix(side, "s3://") {
		return ReadDir(side, c.Note)
	}
	url, err := ParseURL(side)
	if err != nil {
		return nil, err
	}
	reader, err := c.Open(ctx, url.Bucket)
	if err != nil {
		return nil, err
	}
	s, err := Read(ctx, reader, url, "")
	if err != nil {
		return nil, err
	}
	return s.Files, nil
}
