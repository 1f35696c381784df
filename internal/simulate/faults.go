package simulate

import (
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/problem"
)

// Faults are what goes wrong, as a user says it: names of Applications, and NAME@FROM..TO for Degrade.
type Faults struct{ Fail, Never, Degrade []string }

// Parse reads them.
func (w Faults) Parse() ([]Fault, error) {
	var out []Fault
	for _, name := range w.Fail {
		out = append(out, Fault{App: name, Kind: Fail})
	}
	for _, name := range w.Never {
		out = append(out, Fault{App: name, Kind: Never})
	}
	for _, text := range w.Degrade {
		name, window, ok := strings.Cut(text, "@")
		from, to, bounded := strings.Cut(window, "..")
		f := Fault{App: name, Kind: Degrade}
		var err, toErr error
		f.From, err = time.ParseDuration(from)
		if bounded {
			f.To, toErr = time.ParseDuration(to)
		}
		if !ok || name == "" || err != nil || toErr != nil || f.From < 0 || bounded && f.To <= f.From {
			return nil, problem.Usagef("--degrade must be NAME@FROM..TO, such as x@30s..2m; it is %q", text)
		}
		out = append(out, f)
	}
	seen := map[string]bool{}
	for _, f := range out {
		if seen[f.App] {
			return nil, problem.Usagef("%q is in --fail, --never and --degrade more than once", f.App)
		}
		seen[f.App] = true
	}
	return out, nil
}
