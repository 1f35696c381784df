package gittree

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// commitPattern matches revisions that may be commits, long and short.
var commitPattern = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// MayBeCommit reports whether a revision looks like a commit, long or short.
func MayBeCommit(revision string) bool { return commitPattern.MatchString(revision) }

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

// HighestTag is Highest, except that it is an error if no tag satisfies the constraint.
func HighestTag(constraint string, tags []string) (string, error) {
	best, err := Highest(constraint, tags)
	if err == nil && best == "" {
		err = fmt.Errorf("none of %d tags satisfies %q", len(tags), constraint)
	}
	return best, err
}
