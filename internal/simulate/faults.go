package simulate

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// Faults are the faults as the user writes them: names of Applications, and NAME@FROM..TO for Degrade. Names may be patterns, as in
// path.Match.
type Faults struct{ Fail, Never, Degrade []string }

// Parse reads them. Names stay as they are; Match finds the Applications.
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
	for _, f := range out {
		if _, err := path.Match(f.App, ""); err != nil {
			return nil, problem.Usagef("--%s: %q is not a pattern", f.Kind, f.App)
		}
	}
	return out, once(out)
}

// once refuses two faults of one Application.
func once(faults []Fault) error {
	seen := map[string]bool{}
	for _, f := range faults {
		if seen[f.App] {
			return problem.Usagef("%q is in --fail, --never and --degrade more than once", f.App)
		}
		seen[f.App] = true
	}
	return nil
}

// Match replaces patterns by the Applications of a plan, in the order of the plan. A name that is no pattern, or that an Application has,
// stays. The Application of Applications that stands for several roots has no workloads, and no pattern matches it.
func Match(p *plan.Plan, faults []Fault) ([]Fault, error) {
	var out []Fault
	names := Names(p)
	for _, f := range faults {
		n := len(out)
		for _, a := range p.Applications {
			short, _ := path.Match(f.App, a.Name) // Parse has seen that it is a pattern
			full, _ := path.Match(f.App, names[a])
			if exact := names[a] == f.App; exact || (short || full) && !a.Applied && strings.ContainsAny(f.App, `*?[\`) {
				matched := f
				matched.App = names[a]
				out = append(out, matched)
			}
		}
		if len(out) == n {
			var similar []string
			if !strings.ContainsAny(f.App, `*?[\`) {
				similar = words.Similar(f.App, slices.Collect(maps.Values(names)))
			}
			return nil, problem.Usagef("there is no Application %q in the plan%s", f.App, words.DidYouMean(similar...))
		}
	}
	return out, once(out)
}
