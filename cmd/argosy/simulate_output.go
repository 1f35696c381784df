package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// chartWidth is that of the time line, in characters.
const chartWidth = 60

// headline says in one line what becomes of a boot or an update.
func headline(p *plan.Plan, b *simulate.Boot) string {
	applications := len(b.Runs)
	if p.Root.Applied { // whoever applies the roots is none
		applications--
	}
	what, ends := words.Count(applications, "Application"), "boots in "
	if b.Update {
		touched := 0
		for _, r := range b.Runs {
			if (r.Touched || r.Created >= 0) && (!p.Root.Applied || r != b.Runs[0]) {
				touched++
			}
		}
		what, ends = fmt.Sprintf("%s, the update changes %d of them", what, touched), "done in "
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
	return fmt.Sprintf("%s: %s, %s", words.Printable(b.Runs[0].Name), what, verdict)
}

// rows are the Applications to show, and those of which there is nothing to show: in a boot they are never made, in an update they do not change.
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

// restLine says what is not shown.
func restLine(b *simulate.Boot, rest []string) string {
	if b.Update {
		return fmt.Sprintf("unchanged: %d", len(rest))
	}
	return "never made: " + words.Harmless(words.Some(rest))
}

// because are the lines that say why a boot does not end.
func because(b *simulate.Boot) []string {
	list := culprits(b)
	for i, line := range list {
		if !strings.HasPrefix(line, "and ") {
			list[i] = "because of " + line
		}
	}
	return list
}

// culprits are the lines that say why a boot does not end, without those that only wait for others.
func culprits(b *simulate.Boot) []string {
	const most = 3
	var out []string
	more := 0
	for _, c := range b.Causes() {
		switch {
		case c.Waits || b.Done():
		case len(out) == most:
			more++
		default:
			out = append(out, words.Harmless(c.String()))
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	if len(out) == 0 && !b.Done() { // they wait for each other
		for _, line := range b.Blocked()[:min(most, len(b.Blocked()))] {
			out = append(out, words.Harmless(line))
		}
	}
	return out
}

// bootTable prints a boot for people.
func bootTable(w io.Writer, p *plan.Plan, b *simulate.Boot) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, headline(p, b))
	for _, line := range because(b) {
		fmt.Fprintln(out, "  "+line)
	}
	fmt.Fprintln(out)
	scale := max(b.Total, time.Second)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	reached := "CREATED"
	if b.Update {
		reached = "CHANGED"
	}
	fmt.Fprintf(table, "  WAVE\tAPPLICATION\t%s\tHEALTHY\t0s%s%s\n", reached, strings.Repeat(" ", chartWidth-2-len(words.Clock(scale))), words.Clock(scale))
	shown, rest := rows(b)
	for _, r := range shown {
		wave := "-"
		if r.Parent != "" {
			wave = strconv.Itoa(r.Wave)
		}
		if r.Set != "" && !r.Awaited {
			wave += "*"
		}
		healthy := words.Clock(r.Healthy)
		if r.Old() {
			healthy = "old"
		}
		fmt.Fprintf(table, "  %s\t%s%s\t%s\t%s\t%s\n", wave, strings.Repeat("  ", r.Depth), words.Printable(r.Name), words.Clock(r.Created), healthy, bar(r, scale))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(rest) > 0 {
		fmt.Fprintln(out, "\n  "+restLine(b, rest))
	}
	if len(b.Removed) > 0 {
		fmt.Fprintf(out, "  removed, which is not simulated: %s\n", words.Harmless(words.Some(b.Removed)))
	}
	for _, r := range shown {
		if r.Set != "" && !r.Awaited {
			fmt.Fprintln(out, "\n  * made by an ApplicationSet, for which no wave waits")
			break
		}
	}
	if b.Update {
		writeUnordered(out, p, b)
	}
	if path := b.CriticalPath(); len(path) > 0 {
		fmt.Fprintln(out, "\nCRITICAL PATH")
		for _, leg := range path {
			fmt.Fprintf(out, "  %8s  %s: %s\n", (leg.To - leg.From).Round(time.Second), words.Printable(leg.App), words.Harmless(leg.What))
		}
	}
	writeCosts(out, b)
	if blocked := b.Blocked(); len(blocked) > 0 {
		fmt.Fprintln(out, "\nWAITING")
		for _, line := range blocked {
			fmt.Fprintln(out, "  "+words.Harmless(line))
		}
	}
	if len(p.Findings) > 0 {
		fmt.Fprintln(out)
	}
	writeFindings(out, "FINDINGS OF THE PLAN", p)
	return out.Flush()
}

// writeUnordered names Applications that an update changes before those of earlier waves are healthy.
func writeUnordered(out io.Writer, p *plan.Plan, b *simulate.Boot) {
	early := tooEarly(p, b)
	if len(early) == 0 {
		return
	}
	fmt.Fprintln(out, "\nNOT IN ORDER (the parameter pin of the plugin appset orders updates)")
	writeEarly(out, early, "changes")
}

// writeEarly prints some of those that did not wait.
func writeEarly(out io.Writer, list []early, verb string) {
	const most = 10
	for i, e := range list {
		if i == most {
			fmt.Fprintf(out, "  and %d more\n", len(list)-most)
			break
		}
		fmt.Fprintf(out, "  %s (wave %d) %s while %s (wave %d) is not healthy\n", words.Printable(e.app), e.wave, verb, words.Printable(e.before), e.earlier)
	}
}

// bar is the line of an Application: from when it is made, through its sync, until it is healthy.
func bar(r *simulate.Run, total time.Duration) string {
	at := func(d time.Duration) int { return min(int(int64(d)*(chartWidth-1)/int64(total)), chartWidth-1) }
	if r.Created < 0 {
		return ""
	}
	end, mark := r.Healthy, "●"
	if end < 0 {
		end, mark = total, "…"
		if r.Health == simulate.Degraded || r.GivenUp {
			mark = "✗"
		}
	}
	from, to := at(r.Created), at(end)
	return strings.Repeat(" ", from) + strings.Repeat("─", to-from) + mark
}

// writeCosts says where waves cost time that one object alone needs.
func writeCosts(out io.Writer, b *simulate.Boot) {
	const most, worth = 5, 5 * time.Second
	slow, idle := b.Costs()
	var lines []string
	for _, c := range slow {
		if len(lines) < most && c.Saves >= worth {
			lines = append(lines, fmt.Sprintf("wave %d of %s: %s alone takes %s longer than all others in it", c.Wave, c.App, c.Slowest.Object, c.Saves.Round(time.Second)))
		}
	}
	waits := map[string]int{}
	var order []string
	for _, s := range idle {
		if waits[s.App]++; waits[s.App] == 1 {
			order = append(order, s.App)
		}
	}
	for _, app := range order[:min(most, len(order))] {
		lines = append(lines, fmt.Sprintf("%s of %s with nothing that has a health check: what comes after does not wait", words.Count(waits[app], "wave"), app))
	}
	if len(lines) > 0 {
		fmt.Fprintln(out, "\nWAVES THAT COST TIME")
		for _, line := range lines {
			fmt.Fprintln(out, "  "+words.Harmless(line))
		}
	}
}

// seconds is a time for programs; a negative one never came.
func seconds(d time.Duration) any {
	if d < 0 {
		return nil
	}
	return d.Seconds()
}

// bootObject is a boot for programs.
func bootObject(p *plan.Plan, b *simulate.Boot) map[string]any {
	apps, events, path, blocked, findings := []any{}, []any{}, []any{}, []any{}, []any{}
	for _, f := range p.Findings {
		findings = append(findings, findingObject(f))
	}
	for _, r := range b.Runs {
		o := map[string]any{
			"name": r.Name, "wave": int64(r.Wave), "created": seconds(r.Created), "started": seconds(r.Started), "synced": seconds(r.Synced), "healthy": seconds(r.Healthy),
			"health": string(r.Health), "attempts": int64(r.Attempts), "objects": int64(r.Objects),
		}
		if b.Update {
			delete(o, "created")
			o["changed"], o["touched"], o["old"] = seconds(r.Created), r.Touched, r.Old()
		}
		for key, text := range map[string]string{"failure": r.Failure, "refused": r.Refused, "broken": r.Broken} {
			if text != "" {
				o[key] = text
			}
		}
		if r.Parent != "" {
			o["parent"] = r.Parent
		}
		if r.Set != "" {
			o["set"] = r.Set
		}
		apps = append(apps, o)
	}
	for _, e := range b.Events {
		o := map[string]any{"at": seconds(e.At), "application": e.App, "what": e.What}
		if e.Detail != "" {
			o["detail"] = e.Detail
		}
		events = append(events, o)
	}
	for _, l := range b.CriticalPath() {
		path = append(path, map[string]any{"application": l.App, "what": l.What, "from": seconds(l.From), "to": seconds(l.To)})
	}
	for _, line := range b.Blocked() {
		blocked = append(blocked, line)
	}
	causes := []any{}
	for _, line := range culprits(b) {
		causes = append(causes, line)
	}
	o := map[string]any{"done": b.Done(), "total": seconds(b.Total), "applications": apps, "events": events, "criticalPath": path, "waiting": blocked, "causes": causes, "findings": findings, "argocd": versionObject(p)}
	if b.Update {
		removed := []any{}
		for _, name := range b.Removed {
			removed = append(removed, name)
		}
		o["update"], o["removed"], o["notInOrder"] = true, removed, earlyObjects(tooEarly(p, b))
	}
	return o
}

func earlyObjects(list []early) []any {
	out := []any{}
	for _, e := range list {
		out = append(out, map[string]any{"application": e.app, "wave": int64(e.wave), "before": e.before, "earlierWave": int64(e.earlier)})
	}
	return out
}

// blastObject is what each Application blocks, for programs.
func blastObject(radii []simulate.Radius) []any {
	list := []any{}
	for _, r := range radii {
		names := []any{}
		for _, n := range r.Blocks {
			names = append(names, n)
		}
		list = append(list, map[string]any{"application": r.App, "blocks": names})
	}
	return list
}

// blocks are the first names of many.
func blocks(names []string) string {
	const most = 6
	if len(names) <= most {
		return words.Harmless(strings.Join(names, " "))
	}
	return fmt.Sprintf("%s and %d more", words.Harmless(strings.Join(names[:most], " ")), len(names)-most)
}

// writeBlast prints what each Application blocks.
func writeBlast(w io.Writer, format string, radii []simulate.Radius) error {
	if format == "json" {
		return writeJSON(w, map[string]any{"applications": blastObject(radii)})
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BLOCKS\tAPPLICATION\tWHICH")
	for _, r := range radii {
		fmt.Fprintf(table, "%d\t%s\t%s\n", len(r.Blocks), words.Printable(r.App), blocks(r.Blocks))
	}
	return table.Flush()
}

// early is an Application that was made before one of an earlier wave was healthy.
type early struct {
	app, before   string
	wave, earlier int
}

// tooEarly finds Applications that did not wait for all of earlier waves, also those of sets.
func tooEarly(p *plan.Plan, b *simulate.Boot) []early {
	var out []early
	for _, parent := range p.Applications {
		type placed struct {
			run  *simulate.Run
			wave int
		}
		var list []placed
		for _, item := range parent.Items {
			children := item.Children
			if item.Application != nil {
				children = []*plan.Application{item.Application}
			}
			for _, c := range children {
				r := b.Find(c.Name)
				if r == nil {
					r = b.Find(c.Namespace + "/" + c.Name)
				}
				if r != nil && !c.Itself {
					list = append(list, placed{r, item.Wave})
				}
			}
		}
		for _, later := range list {
			for _, earlier := range list {
				if earlier.wave < later.wave && later.run.Created >= 0 && (earlier.run.Healthy < 0 || earlier.run.Healthy > later.run.Created) {
					out = append(out, early{later.run.Name, earlier.run.Name, later.wave, earlier.wave})
					break
				}
			}
		}
	}
	return out
}
