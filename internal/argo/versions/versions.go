// Package versions holds what differs between the versions of Argo CD that we know: each difference has a name and the version that it
// begins with.
package versions

import (
	"fmt"
	"regexp"
	"strconv"
)

// Version is a minor version of Argo CD 3: 2 is 3.2. Zero is the newest.
type Version int

// The versions that are known.
const (
	Oldest Version = 2
	Newest Version = 5
)

// All returns the versions that are known, the oldest first.
func All() []Version {
	var out []Version
	for v := Oldest; v <= Newest; v++ {
		out = append(out, v)
	}
	return out
}

func (v Version) String() string {
	if v == 0 {
		v = Newest
	}
	return fmt.Sprintf("3.%d", int(v))
}

// Has reports whether a version has a difference: it is the one that the difference begins with, or later.
func (v Version) Has(d Difference) bool { return v == 0 || v >= d.Since }

// Between reports whether a version is since, or later, and before until. Zero for until is no end.
func (v Version) Between(since, until Version) bool {
	return v.Has(Difference{Since: since}) && (until == 0 || !v.Has(Difference{Since: until}))
}

var pattern = regexp.MustCompile(`^v?(\d{1,3})\.(\d{1,3})(\.\d+)?([-+].*)?$`)

// Parse reads a version that is known: 3.4, v3.4.2.
func Parse(text string) (Version, error) {
	if v, exact, ok := Nearest(text); ok && exact {
		return v, nil
	}
	return 0, fmt.Errorf("%q is not a version of Argo CD that is known here: %s", text, Range())
}

// Nearest returns the known version that is nearest to a version of Argo CD, and whether it is that version. It reports false for a text
// that is no version.
func Nearest(text string) (v Version, exact, ok bool) {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return 0, false, false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	switch {
	case major < 3 || major == 3 && minor < int(Oldest):
		return Oldest, false, true
	case major > 3 || minor > int(Newest):
		return Newest, false, true
	}
	return Version(minor), true, true
}

// Difference is something that is not the same in all versions.
type Difference struct {
	Name  string
	Since Version
	// Area is the part of Argo CD that it belongs to.
	Area string
	// Means describes the behaviour from that version on, Before the earlier one.
	Means, Before string
}
