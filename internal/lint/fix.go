package lint

import (
	"fmt"

	"github.com/argosy-cd/argosy/internal/amend"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// fixer returns the changes that cure a finding in the object of its file; none if the user must choose. The finding has the complete path
// of its field in that object.
type fixer func(f Finding, o manifest.Object) []amend.Change

// Fixable reports whether --fix cures findings of the rule, at least those with an obvious cure.
func (r Rule) Fixable() bool { return r.fix != nil }

// Fixable reports whether --fix tries to cure the finding.
func (f Finding) Fixable() bool { return len(f.cure()) > 0 }

// cure are the changes that cure a finding, none if there is no obvious cure.
func (f Finding) cure() []amend.Change {
	if f.Rule.fix == nil || f.spot.file == nil || f.spot.path == nil {
		return nil
	}
	changes := f.Rule.fix(f, f.spot.file.object(f.spot.at))
	for i := range changes {
		changes[i].At = f.spot.at
	}
	return changes
}

// Fix is a file in which findings are cured.
type Fix struct {
	File          string
	Before, After []byte
	// Fixed are the findings that are cured, Left those that cannot be, with the reason.
	Fixed []Finding
	Left  []Left
}

// Left is a finding that is not fixed.
type Left struct {
	Finding
	Reason error
}

// Fixes cures the findings of a report that have an obvious cure, in the texts of their files. Files that stay as they are have no fixed
// findings. The order is that of the report.
func (r *Report) Fixes() []Fix {
	var order []*file
	changes := map[*file][]amend.Change{}
	findings := map[*file][]Finding{}
	seen := map[string]bool{}
	for _, f := range r.Findings {
		for _, c := range f.cure() {
			id := fmt.Sprintf("%s\x00%d\x00%s\x00%q\x00%d", f.spot.file.name, c.At.Number, c.At.Item, c.Path, c.Kind)
			if seen[id] {
				continue
			}
			seen[id] = true
			if changes[f.spot.file] == nil {
				order = append(order, f.spot.file)
			}
			changes[f.spot.file] = append(changes[f.spot.file], c)
			findings[f.spot.file] = append(findings[f.spot.file], f)
		}
	}
	var out []Fix
	for _, file := range order {
		fix := Fix{File: file.name, Before: file.data}
		after, refused := amend.Apply(file.data, changes[file])
		fix.After = after
		for i, f := range findings[file] {
			if refused[i] != nil {
				fix.Left = append(fix.Left, Left{f, refused[i]})
				continue
			}
			fix.Fixed = append(fix.Fixed, f)
		}
		out = append(out, fix)
	}
	return out
}
