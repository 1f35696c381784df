package gitsource

import (
	"context"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// resolveRemote turns a revision into something that can be fetched: a constraint such as "v1.*" becomes the highest
// tag that satisfies it, as in Argo CD; everything else is itself.
func (g git) resolveRemote(ctx context.Context, url, revision string) (string, error) {
	if !isConstraint(revision) {
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
	tag, err := highest(revision, tags)
	if err != nil {
		return "", err
	}
	return "refs/tags/" + tag, nil
}

// resolve does the same for a local repository.
func (r *repository) resolve(ctx context.Context, revision string) (string, error) {
	if !isConstraint(revision) {
		return revision, nil
	}
	out, err := r.run(ctx, "tag", "--list")
	if err != nil {
		return "", err
	}
	return highest(revision, strings.Fields(out))
}

func isConstraint(revision string) bool {
	if _, err := semver.NewVersion(revision); err == nil {
		return false
	}
	_, err := semver.NewConstraint(revision)
	return err == nil
}

func isVersion(revision string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(revision, "v"))
	return err == nil
}

func highest(constraint string, tags []string) (string, error) {
	c, err := semver.NewConstraint(constraint)
	if err != nil {
		return "", err
	}
	var best *semver.Version
	for _, tag := range tags {
		v, err := semver.NewVersion(tag)
		if err == nil && c.Check(v) && (best == nil || v.GreaterThan(best)) {
			best = v
		}
	}
	if best == nil {
		return "", fmt.Errorf("none of %d tags satisfies %q", len(tags), constraint)
	}
	return best.Original(), nil
}
