package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// runPlanDiff says what changes from a revision to the plan of the work tree.
func runPlanDiff(ctx context.Context, std stdio, opts planOptions, planner *workspace.Planner, args []string) error {
	before, after, err := planner.Both(ctx, opts.diff, args)
	if err != nil {
		return err
	}
	r := newDiffReport(opts, before, after)
	switch opts.output.value {
	case "json":
		err = r.json(std.out)
	case "markdown":
		err = r.markdown(std.out, opts.commandLine(args))
	default:
		err = r.text(std.out)
	}
	if err != nil {
		return err
	}
	bad := func(c plan.Change) bool { return c.Kind == plan.Stops || c.Kind == plan.Found }
	if len(r.gaps) > 0 || slices.ContainsFunc(r.diff.Changes, bad) {
		return errFound
	}
	return nil
}

// sideGap is a gap of one of the two plans.
type sideGap struct {
	plan.Gap
	after bool
}

// gaps are what the verdict refuses of a plan.
func (o *verdictOptions) gaps(p *plan.Plan, after bool) []sideGap {
	if len(o.refused(p)) == 0 {
		return nil
	}
	var out []sideGap
	for _, g := range p.Gaps() {
		if g.State == source.Broken.String() || (g.Hides || o.strict) && !o.allowed(g.Name) {
			out = append(out, sideGap{g, after})
		}
	}
	return out
}

// diffReport is a comparison that is to be printed.
type diffReport struct {
	revision string
	gaps     []sideGap
	diff     *plan.Difference
	objects  bool // also how each of them changes
}

func newDiffReport(opts planOptions, before, after *plan.Plan) *diffReport {
	return &diffReport{
		revision: opts.diff, diff: plan.Diff(before, after), objects: opts.manifests,
		gaps: append(opts.verdict.gaps(before, false), opts.verdict.gaps(after, true)...),
	}
}

// headline is the first line. It says that two boots are the same only if both are known.
func (r *diffReport) headline() string {
	if len(r.gaps) > 0 {
		return "The comparison is incomplete: " + r.incomplete()
	}
	if len(r.diff.Changes) == 0 && len(r.diff.Manifests) == 0 {
		return fmt.Sprintf("The boot is the same as at %s.", words.Printable(r.revision))
	}
	return ""
}

// incomplete says what is not known, and on which side.
func (r *diffReport) incomplete() string {
	var both, then, now []string
	for _, g := range r.gaps {
		text := g.text()
		switch twice := slices.Contains(r.gaps, sideGap{g.Gap, !g.after}); {
		case twice && !g.after:
			both = append(both, text)
		case twice:
		case g.after:
			now = append(now, text)
		default:
			then = append(then, text)
		}
	}
	var parts []string
	for _, side := range []struct {
		where string
		list  []string
	}{{"at " + words.Printable(r.revision) + ", ", then}, {"now, ", now}, {"at " + words.Printable(r.revision) + " and now, ", both}} {
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

func (g sideGap) text() string {
	kind := map[string]string{argo.KindApplication: "the Application ", argo.KindApplicationSet: "the set "}[g.Kind]
	return words.Harmless(fmt.Sprintf("%s%s is %s: %s", kind, g.Name, g.State, words.Shorten(g.Reason, 500)))
}

// section is a part of a report: changes of one kind, or a line with names.
type section struct {
	title, sign string
	rows        [][2]string
	names       []string
}

// sections are the parts of a report, in order.
func (r *diffReport) sections() []section {
	var out []section
	add := func(kind, title, sign string) {
		s := section{title: title, sign: sign}
		for _, c := range r.diff.Changes {
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
	add(plan.Stops, "Waves that the next one does not wait for", "!")
	add(plan.Waits, "Waves that the next one waits for now", "+")
	add(plan.Added, "New Applications", "+")
	add(plan.Moved, "Applications that move", "~")
	add(plan.Sourced, "Applications with another source", "~")
	applications, sets, applied := r.changed()
	names("Objects that are applied by hand change", applied)
	names("Manifests of "+words.Count(len(applications), "Application")+" change", applications)
	names("Applications of "+words.Count(len(sets), "ApplicationSet")+" change", sets)
	add(plan.Found, "New findings", "!")
	var gone []string
	findings := 0
	for _, c := range r.diff.Changes {
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

// changed names the Applications and sets whose manifests change and that are in both plans, and the objects that somebody applies.
func (r *diffReport) changed() (applications, sets, applied []string) {
	for _, m := range r.diff.Manifests {
		switch {
		case m.Kind != "" || m.Told():
		case m.Name == plan.ApplyName:
			for _, c := range m.Objects {
				applied = append(applied, idName(c.ID))
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
func (r *diffReport) notCompared() (string, []string) {
	var names []string
	for _, ref := range r.diff.NotCompared {
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
