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
	if !IsConstraint(revision) {
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
	if !IsConstraint(revision) {
		return revision, nil
	}
	out, err := r.run(ctx, "tag", "--list")
	if err != nil {
		return "", err
	}
	return highest(revision, strings.Fields(out))
}

// IsConstraint reports whether a revision is a semver constraint such as "v1.*", and not itself a version.
func IsConstraint(revision string) bool {
	if _, err := semver.NewVersion(revision); err == nil {
		return false
	}
	_, err := semver.NewConstraint(revision)
	return err == nil
}

// IsVersion reports whether a revision is a full version, with or without a "v" in front.
func IsVersion(revision string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(revision, "v"))
	return err == nil
}

// Highest returns the highest of versions that satisfies a constraint, as Argo CD chooses it; "" if none does. Those that
// are not versions are skipped.
func Highest(constraint string, versions []string) (string, error) {
	c, err := semver.NewConstraint(constraint)
	if err != nil {
		return "", err
	}
	var best *semver.Version
	for _, version := range versions {
		v, err := semver.NewVersion(version)
		if err == nil && c.Check(v) && (best == nil || v.GreaterThan(best)) {
			best = v
		}
	}
	if best == nil {
		return "", nil
	}
	return best.Original(), nil
}

func highest(constraint string, tags []string) (string, error) {
	best, err := Highest(constraint, tags)
	if err == nil && best == "" {
		err = fmt.Errorf("none of %d tags satisfies %q", len(tags), constraint)
	}
	return best, err
}
