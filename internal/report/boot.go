package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// Boot prints a simulated boot or update of a plan, as a table, JSON or SVG.
func Boot(w io.Writer, f Format, p *plan.Plan, b *simulate.Boot) error {
	switch f {
	case Table:
		return bootTable(w, p, b)
	case JSON:
		return Object(w, bootObject(p, b))
	case SVG:
		return bootSVG(w, headline(p, b), []*plan.Plan{p}, []*simulate.Boot{b})
	}
	return f.refused("boot")
}

// headline summarizes a boot or an update in one line.
func headline(p *plan.Plan, b *simulate.Boot) string {
	applications := b.Applications()
	what, ends := words.Count(len(applications), "Application"), "boots in "
	if b.Update {
		touched := 0
		for _, r := range applications {
			if r.Touched || r.Created >= 0 {
				touched++
			}
		}
		least := ""
		if _, rest := rows(b); len(notKnown(p, rest)) > 0 {
			least = "at least "
		}
		what, ends = fmt.Sprintf("%s, the update changes %s%d of them", what, least, touched), "done in "
	}
	verdict := ends + words.Clock(b.Total)
	if len(p.Summary().Hiding) > 0 {
		verdict = "is not known completely; what is known " + verdict
	}
	switch {
	case b.Cut:
		verdict = "does not end within a day"
	case !b.Done() && b.Update:
		verdict = "does not end; nothing happens after " + words.Clock(b.Total)
	case !b.Done():
		verdict = "does not boot; nothing happens after " + words.Clock(b.Total)
	}
	if names := p.Summary().Unknown; len(names) > 0 {
		verdict += "; unknown: " + words.Harmless(words.Some(names))
	}
	return fmt.Sprintf("%s: %s, %s", words.Printable(b.Runs[0].Name), what, verdict)
}

// rows splits Applications into those with a row and those never created (boot) or unchanged (update).
func rows(b *simulate.Boot) (shown []*simulate.Run, rest []string) {
	for _, r := range b.Runs {
		if r.Created >= 0 || b.Update && r.Old() {
			shown = append(shown, r)
		} else {
			rest = append(rest, r.Name)
		}
	}
	return shown, rest
}

// notKnown are the names of Applications with unknown parts, among some of a simulation.
func notKnown(p *plan.Plan, among []string) []string {
	unknown := map[string]bool{}
	for app, name := range simulate.Names(p) {
		unknown[name] = app.Uncertain()
	}
	return slices.DeleteFunc(slices.Clone(among), func(name string) bool { return !unknown[name] })
}

// assumed names the Applications with unknown parts, whose health a simulation assumes. It is "" if all is known.
func assumed(plans ...*plan.Plan) string {
	var names []string
	for _, p := range plans {
		names = append(names, p.Summary().Unknown...)
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return ""
	}
	return "Not known completely, so the simulation assumes that they become healthy: " + words.Harmless(words.Some(names))
}

// restLine counts or names the Applications without a row.
func restLine(p *plan.Plan, b *simulate.Boot, rest []string) string {
	if n := len(notKnown(p, rest)); b.Update && n > 0 {
		return fmt.Sprintf("unchanged: %d; not known completely: %d", len(rest)-n, n)
	}
	if b.Update {
		return fmt.Sprintf("unchanged: %d", len(rest))
	}
	return "never created: " + words.Harmless(words.Some(rest))
}

// because are the lines that say why a boot does not end.
func because(b *simulate.Boot) []string { return culprits(b, "because of ") }

// culprits are the lines that say why a boot does not end, each with some words in front, without those that only wait for others.
func culprits(b *simulate.Boot, front string) []string {
	const most = 3
	var out []string
	more := 0
	for _, c := range b.Causes() {
		switch {
		case c.Waits || b.Done():
		case len(out) == most:
			more++
		default:
			out = append(out, front+words.Harmless(c.String()))
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	if len(out) == 0 && !b.Done() { // they wait for each other
		for _, line := range b.Blocked()[:min(most, len(b.Blocked()))] {
			out = append(out, front+words.Harmless(line))
		}
	}
	return out
}
