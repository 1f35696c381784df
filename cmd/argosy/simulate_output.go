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
)

// clock writes a time of a boot; a negative one never came.
func clock(d time.Duration) string {
	if d < 0 {
		return "never"
	}
	return d.Round(time.Second).String()
}

// chartWidth is that of the time line, in characters.
const chartWidth = 60

// bootTable prints a boot for people.
func bootTable(w io.Writer, p *plan.Plan, b *simulate.Boot) error {
	out := bufio.NewWriter(w)
	verdict := "boots in " + clock(b.Total)
	if len(p.Summary().Hiding) > 0 {
		verdict = "is not known completely; what is known " + verdict
	}
	switch {
	case b.Cut:
		verdict = "does not boot within a day"
	case !b.Done():
		verdict = "does not boot; nothing happens after " + clock(b.Total)
	}
	fmt.Fprintf(out, "%s: %s, %s\n\n", printable(b.Runs[0].Name), count(len(b.Runs), "Application"), verdict)
	scale := max(b.Total, time.Second)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "  WAVE\tAPPLICATION\tCREATED\tHEALTHY\t0s%s%s\n", strings.Repeat(" ", chartWidth-2-len(clock(scale))), clock(scale))
	for _, r := range b.Runs {
		wave := "-"
		if r.Parent != "" {
			wave = strconv.Itoa(r.Wave)
		}
		if r.Set != "" {
			wave += "*"
		}
		fmt.Fprintf(table, "  %s\t%s%s\t%s\t%s\t%s\n", wave, strings.Repeat("  ", r.Depth), printable(r.Name), clock(r.Created), clock(r.Healthy), bar(r, scale))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range b.Runs {
		if r.Set != "" {
			fmt.Fprintln(out, "\n  * made by an ApplicationSet, for which no wave waits")
			break
		}
	}
	if path := b.CriticalPath(); len(path) > 0 {
		fmt.Fprintln(out, "\nCRITICAL PATH")
		for _, leg := range path {
			fmt.Fprintf(out, "  %8s  %s: %s\n", (leg.To - leg.From).Round(time.Second), printable(leg.App), harmless(leg.What))
		}
	}
	writeCosts(out, b)
	if blocked := b.Blocked(); len(blocked) > 0 {
		fmt.Fprintln(out, "\nWAITING")
		for _, line := range blocked {
			fmt.Fprintln(out, "  "+harmless(line))
		}
	}
	if len(p.Findings) > 0 {
		fmt.Fprintln(out)
	}
	writeFindings(out, "FINDINGS OF THE PLAN", p)
	return out.Flush()
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
		lines = append(lines, fmt.Sprintf("%s of %s with nothing that has a health check: what comes after does not wait", count(waits[app], "wave"), app))
	}
	if len(lines) > 0 {
		fmt.Fprintln(out, "\nWAVES THAT COST TIME")
		for _, line := range lines {
			fmt.Fprintln(out, "  "+harmless(line))
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

// writeBoot prints a boot for programs.
func writeBoot(w io.Writer, p *plan.Plan, b *simulate.Boot) error {
	apps, events, path, blocked, findings := []any{}, []any{}, []any{}, []any{}, []any{}
	for _, f := range p.Findings {
		findings = append(findings, findingObject(f))
	}
	for _, r := range b.Runs {
		o := map[string]any{
			"name": r.Name, "wave": int64(r.Wave), "created": seconds(r.Created), "started": seconds(r.Started), "synced": seconds(r.Synced), "healthy": seconds(r.Healthy),
			"health": string(r.Health), "attempts": int64(r.Attempts), "objects": int64(r.Objects),
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
	return writeJSON(w, map[string]any{"done": b.Done(), "total": seconds(b.Total), "applications": apps, "events": events, "criticalPath": path, "waiting": blocked, "findings": findings, "argocd": versionObject(p)})
}

// writeBlast prints what each Application blocks.
func writeBlast(w io.Writer, format string, radii []simulate.Radius) error {
	if format == "json" {
		var list []any
		for _, r := range radii {
			names := []any{}
			for _, n := range r.Blocks {
				names = append(names, n)
			}
			list = append(list, map[string]any{"application": r.App, "blocks": names})
		}
		return writeJSON(w, map[string]any{"applications": list})
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BLOCKS\tAPPLICATION\tWHICH")
	for _, r := range radii {
		const most = 6
		names := r.Blocks
		more := ""
		if len(names) > most {
			more = fmt.Sprintf(" and %d more", len(names)-most)
			names = names[:most]
		}
		fmt.Fprintf(table, "%d\t%s\t%s%s\n", len(r.Blocks), printable(r.App), harmless(strings.Join(names, " ")), more)
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

// writeCompare prints two boots side by side: by the controller, and by the plugin.
func writeCompare(w io.Writer, plans [2]*plan.Plan, boots [2]*simulate.Boot) error {
	out := bufio.NewWriter(w)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tapplicationset-controller\tplugin appset")
	cell := func(f func(i int) string) string { return f(0) + "\t" + f(1) }
	var soon [2][]early
	for i := range boots {
		soon[i] = tooEarly(plans[i], boots[i])
	}
	fmt.Fprintf(table, "boot\t%s\n", cell(func(i int) string {
		if !boots[i].Done() {
			return "does not end"
		}
		return clock(boots[i].Total)
	}))
	fmt.Fprintf(table, "Applications healthy\t%s\n", cell(func(i int) string {
		n := 0
		for _, r := range boots[i].Runs {
			if r.Health == simulate.Healthy {
				n++
			}
		}
		return fmt.Sprintf("%d of %d", n, len(boots[i].Runs))
	}))
	fmt.Fprintf(table, "made before an earlier wave was healthy\t%s\n", cell(func(i int) string { return strconv.Itoa(len(soon[i])) }))
	if err := table.Flush(); err != nil {
		return err
	}
	if len(soon[0]) > 0 {
		fmt.Fprintln(out, "\nWith the controller, these do not wait:")
		const most = 10
		for i, e := range soon[0] {
			if i == most {
				fmt.Fprintf(out, "  and %d more\n", len(soon[0])-most)
				break
			}
			fmt.Fprintf(out, "  %s (wave %d) starts while %s (wave %d) is not healthy\n", printable(e.app), e.wave, printable(e.before), e.earlier)
		}
	}
	for i, name := range []string{"controller", "plugin"} {
		for _, line := range boots[i].Blocked() {
			fmt.Fprintf(out, "\nWith the %s: %s\n", name, harmless(line))
		}
	}
	return out.Flush()
}
