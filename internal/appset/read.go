package appset

import (
	"context"
	"slices"

	"github.com/argosy-cd/argosy/internal/appset/generator"
)

// Read is a repository that a Git generator has read.
type Read struct {
	// URL and Revision are as the generator names them.
	URL, Revision string
	// Commit is the commit of the revision; "" if it is unknown, as for a work tree.
	Commit string
}

// reader notes what the generators of a set read.
type reader struct {
	generator.Repositories
	reads []Read
}

// Tree implements generator.Repositories.
func (r *reader) Tree(ctx context.Context, url, revision string) (generator.Tree, error) {
	t, err := r.Repositories.Tree(ctx, url, revision)
	if err != nil {
		return nil, err
	}
	read := Read{URL: url, Revision: revision}
	if c, ok := t.(generator.Committed); ok {
		read.Commit = c.Commit()
	}
	if !slices.Contains(r.reads, read) {
		r.reads = append(r.reads, read)
	}
	return t, nil
}
