package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// chartWidth is that of the time line, in characters.
const chartWidth = 60

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
	fmt.Fprintf(table, "  WAVE\tAPPLICATION\t%s\tHEALTHY\t0s%s%s\n", reached, strings.Repeat(" ", chartWidth-2-len(words.Clock(scale))),
		words.Clock(scale))
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
		fmt.Fprintf(table, "  %s\t%s%s\t%s\t%s\t%s\n", wave, strings.Repeat("  ", r.Depth), words.Printable(r.Name), words.Clock(r.Created),
			healthy, bar(r, scale))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(rest) > 0 {
		fmt.Fprintln(out, "\n  "+restLine(p, b, rest))
	}
	if len(b.Removed) > 0 {
		fmt.Fprintf(out, "  removed, which is not simulated: %s\n", words.Harmless(words.Some(b.Removed)))
	}
	for _, r := range shown {
		if r.Set != "" && !r.Awaited {
			fmt.Fprintln(out, "\n  * created by an ApplicationSet, for which no wave waits")
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
	early := b.TooEarly(p)
	if len(early) == 0 {
		return
	}
	fmt.Fprintln(out, "\nNOT IN ORDER (the parameter pin of the plugin appset orders updates)")
	writeEarly(out, early, "changes")
}

// writeEarly prints some of the Applications that did not wait.
func writeEarly(out io.Writer, list []simulate.Early, verb string) {
	const most = 10
	for i, e := range list {
		if i == most {
			fmt.Fprintf(out, "  and %d more\n", len(list)-most)
			break
		}
		fmt.Fprintf(out, "  %s (wave %d) %s while %s (wave %d) is not healthy\n", words.Printable(e.App), e.Wave, verb,
			words.Printable(e.Before), e.EarlierWave)
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
		if r.Health == health.Degraded || r.GivenUp {
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
			lines = append(lines, fmt.Sprintf("wave %d of %s: %s alone takes %s longer than all others in it", c.Wave, c.App,
				c.Slowest.Object, c.Saves.Round(time.Second)))
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
		lines = append(lines, fmt.Sprintf("%s of %s: only a pause, because nothing there makes the next wave wait",
			words.Count(waits[app], "wave"), app))
	}
	if len(lines) > 0 {
		fmt.Fprintln(out, "\nWAVES THAT COST TIME")
		for _, line := range lines {
			fmt.Fprintln(out, "  "+words.Harmless(line))
		}
	}
}
