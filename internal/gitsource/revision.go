package gitsource

import (
	"context"
	"fmt"
	"strings"

	"github.com/argosy-cd/argosy/internal/gittree"
)

// resolveRemote turns a revision into something that can be fetched: a constraint such as "v1.*" becomes the highest
// tag that satisfies it, as in Argo CD; everything else is itself.
func (g git) resolveRemote(ctx context.Context, url, revision string) (string, error) {
	if !gittree.IsConstraint(revision) {
		return revision, nil
	}
	out, err := g.run(ctx, "ls-remote", "--refs", "--tags", "--", url)
	if err != nil {
		return "", fmt.Errorf("listing tags: %w", err)
	}
	var tags []string
	for line := range strings.Lines(out) {
		if _, tag, ok := strings.Cut(strings.TrimSpace(line), "refs/tags/"); ok {
			tags = append(tags, tag)
		}
	}
	tag, err := gittree.HighestTag(revision, tags)
	if err != nil {
		return "", err
	}
	return "refs/tags/" + tag, nil
}

// resolve does the same for a local repository.
func (r *repository) resolve(ctx context.Context, revision string) (string, error) {
	if !gittree.IsConstraint(revision) {
		return revision, nil
	}
	out, err := r.run(ctx, "tag", "--list")
	if err != nil {
		return "", err
	}
	return gittree.HighestTag(revision, strings.Fields(out))
}
