// Package versions holds what differs between the versions of Argo CD that we know: each difference has a name and the version that it begins with.
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

// Has reports whether a version has a difference.
func (v Version) Has(d Difference) bool { return v == 0 || v >= d.Since }

var pattern = regexp.MustCompile(`^v?3\.(\d{1,3})(\.\d+)?([-+].*)?$`)

// Parse reads a version that is known: 3.4, v3.4.2.
func Parse(text string) (Version, error) {
	m := pattern.FindStringSubmatch(text)
	if m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && Version(n) >= Oldest && Version(n) <= Newest {
			return Version(n), nil
		}
	}
	return 0, fmt.Errorf("%q is not a version of Argo CD that is known here: %s to %s", text, Oldest, Newest)
}

// Difference is something that is not the same in all versions.
type Difference struct {
	Name  string
	Since Version
	// Means says what is so since then, Before what was so.
	Means, Before string
}
