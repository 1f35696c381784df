package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// Difference is a comparison of two plans that is to be printed.
type Difference struct {
	// Revision is the revision of the plan before.
	Revision string
	Diff     *plan.Difference
	// Before and After are the parts of each plan that the verdict refuses. With any, the report says that the comparison is incomplete.
	Before, After []plan.Gap
	// Manifests says that the report has how each object changes.
	Manifests bool
	// Command is the command line that prints a whole comparison, for Markdown that leaves something out.
	Command string
}

// NewDifference compares two plans.
func NewDifference(revision string, before, after *plan.Plan, v Verdict) *Difference {
	return &Difference{Revision: revision, Diff: plan.Diff(before, after), Before: v.Gaps(before), After: v.Gaps(after)}
}

// Write prints a comparison, as a table, JSON or Markdown.
func (d *Difference) Write(w io.Writer, f Format) error {
	switch f {
	case Table:
		return d.text(w)
	case JSON:
		return d.json(w)
	case Markdown:
		return d.markdown(w)
	}
	return f.refused("comparison")
}

// Worse reports whether a change needs a review: a wave stops waiting, or may do so, there is a new finding, or the comparison is
// incomplete.
func (d *Difference) Worse() bool {
	bad := func(c plan.Change) bool {
		return c.Kind == plan.Stops || c.Kind == plan.Doubted || c.Kind == plan.Found
	}
	return !d.complete() || slices.ContainsFunc(d.Diff.Changes, bad)
}

// Deletions are the names of the Applications that will be deleted. A set counts as one if its Applications are not known.
func (d *Difference) Deletions() []string {
	var names []string
	for _, c := range d.Diff.Changes {
		if c.Kind == plan.Removed {
			names = append(names, c.Subject)
		}
	}
	return names
}

func (d *Difference) complete() bool { return len(d.Before)+len(d.After) == 0 }

// headline is the first line. It says that two boots are the same only if both are known.
func (d *Difference) headline() string {
	if !d.complete() {
		return "The comparison is incomplete: " + d.incomplete()
	}
	switch {
	case len(d.Diff.Changes) > 0 || len(d.Diff.Manifests) > 0:
		return ""
	case len(d.Diff.NotCompared) > 0:
		return fmt.Sprintf("Nothing that is known changes since %s.", words.Printable(d.Revision))
	}
	return fmt.Sprintf("The boot is the same as at %s.", words.Printable(d.Revision))
}

// incomplete names the unknown parts, and their side.
func (d *Difference) incomplete() string {
	var both, then, now []string
	for _, g := range d.Before {
		if slices.Contains(d.After, g) {
			both = append(both, GapText(g))
		} else {
			then = append(then, GapText(g))
		}
	}
	for _, g := range d.After {
		if !slices.Contains(d.Before, g) {
			now = append(now, GapText(g))
		}
	}
	var parts []string
	for _, side := range []struct {
		where string
		list  []string
	}{{"at " + words.Printable(d.Revision) + ", ", then}, {"now, ", now}, {"at " + words.Printable(d.Revision) + " and now, ", both}} {
		if n := len(side.list); n > 0 {
			const most = 5
			text := side.where + strings.Join(side.list[:min(n, most)], "; ")
			if n > most {
				text += fmt.Sprintf("; and %d more", n-most)
			}
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

// section is a part of a report: changes of one kind, or a line with names.
type section struct {
	title, sign string
	rows        [][2]string
	names       []string
}

// sections are the parts of a report, in order.
func (d *Difference) sections() []section {
	var out []section
	add := func(kind plan.ChangeKind, title, sign string) {
		s := section{title: title, sign: sign}
		for _, c := range d.Diff.Changes {
			if c.Kind == kind {
				s.rows = append(s.rows, [2]string{c.Subject, changeText(c)})
			}
		}
		if len(s.rows) > 0 {
			out = append(out, s)
		}
	}
	names := func(title string, list []string) {
		if len(list) > 0 {
			out = append(out, section{title: title, names: list})
		}
	}
	add(plan.Removed, "Applications that will be deleted", "-")
	add(plan.Left, "Applications that stay, because nobody prunes them", "!")
	add(plan.Stops, "Waves that the next one does not wait for", "!")
	add(plan.Doubted, "Waves that the next one may or may not wait for", "?")
	add(plan.Waits, "Waves that the next one waits for now", "+")
	add(plan.Added, "New Applications", "+")
	add(plan.Moved, "Applications that move", "~")
	add(plan.Sourced, "Applications with another source", "~")
	add(plan.Aimed, "Applications with another destination", "!")
	add(plan.Owned, "Applications of another project", "!")
	applications, sets, applied := d.changed()
	names("Objects that are applied by hand change", applied)
	names("Manifests of "+words.Count(len(applications), "Application")+" change", applications)
	names("Applications of "+words.Count(len(sets), "ApplicationSet")+" change", sets)
	add(plan.Found, "New findings", "!")
	var gone []string
	findings := 0
	for _, c := range d.Diff.Changes {
		if c.Kind == plan.Gone {
			findings++
			if !slices.Contains(gone, c.Subject) {
				gone = append(gone, c.Subject)
			}
		}
	}
	if findings > 0 {
		names("Findings that are gone: "+strconv.Itoa(findings)+", about", []string{words.Some(gone)})
	}
	return out
}

// changed names the Applications and sets of both plans whose manifests change, and changed objects that are applied by hand.
func (d *Difference) changed() (applications, sets, applied []string) {
	for _, m := range d.Diff.Manifests {
		switch {
		case m.Kind != "" || m.Told():
		case m.Name == plan.ApplyName:
			for _, c := range m.Objects {
				applied = append(applied, IDName(c.ID))
			}
		case m.Set:
			sets = append(sets, m.Name)
		default:
			applications = append(applications, m.Name)
		}
	}
	return applications, sets, applied
}

// notCompared is the last line, and the Applications that it is about.
func (d *Difference) notCompared() (string, []string) {
	var names []string
	for _, ref := range d.Diff.NotCompared {
		names = append(names, ref.Name)
	}
	return words.Count(len(names), "Application") + " could not be compared completely, because parts are unknown or broken", names
}

func changeText(c plan.Change) string {
	switch {
	case c.Old != "" && c.New != "":
		return c.Old + " → " + c.New
	case c.Kind == plan.Waits:
		return "before: " + c.Old
	default:
		return c.Old + c.New
	}
}
