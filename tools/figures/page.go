package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// head is what the page begins with: machine, and versions.
const head = `# Measured

Written by ` + "`make bench`" + ` on one machine: %s. The parts may be of several runs: ` + "`make bench PARTS=copy`" + ` measures one part again.
Compare the ratios, not the times. A ratio of 10× says that Argosy needs a tenth.

`

// page is the page, and what keeps it from being written.
func (r results) page(machine string) (text string, missing []string) {
	var b strings.Builder
	fmt.Fprintf(&b, head, machine)
	for _, key := range r.order {
		fmt.Fprintf(&b, "- %s: %s\n", strings.ReplaceAll(key, "-", " "), r.about[key])
	}
	b.WriteString("\n| what | Argosy | beside it | | ratio | aim |\n|---|---|---|---|---|---|\n")
	var notes []string
	for _, g := range groups {
		fmt.Fprintf(&b, "| **%s** | | | | | |\n", g.name)
		for _, x := range g.rows {
			line, note, err := r.row(x, len(notes)+1)
			if err != "" {
				missing = append(missing, g.name+", "+x.name+": "+err)
			}
			if note != "" {
				notes = append(notes, note)
			}
			b.WriteString(line)
		}
	}
	for i, note := range notes {
		fmt.Fprintf(&b, "\n[%d] %s\n", i+1, note)
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n**%s.** %s\n", g.name, g.how)
	}
	return b.String(), missing
}

// row is a line of the table. A note says why an aim is missed.
func (r results) row(x row, next int) (line, note, err string) {
	ours, ok := r.sum(x.ours)
	if !ok {
		return fmt.Sprintf("| %s | not measured | | | | |\n", x.name), "", "not measured: " + x.ours[0].name
	}
	unit := x.ours[0].unit
	beside, theirs, ratio := "", "", ""
	peer := math.NaN()
	if len(x.peer) > 0 {
		if peer, ok = r.sum(x.peer); !ok {
			return fmt.Sprintf("| %s | %s | %s | not measured | | |\n", x.name, format(ours, unit), x.peerName), "",
				"not measured: " + x.peer[0].name
		}
		beside, theirs, ratio = x.peerName, format(peer, unit), times(x.ratio(ours, peer))
	}
	aim := ""
	if x.aim.met != nil {
		aim = x.aim.text + ": met"
		if !x.aim.met(ours, peer) {
			aim = fmt.Sprintf("**%s: missed** [%d]", x.aim.text, next)
			if note = x.why; note == "" {
				note, err = "The reason is not known.", "the aim is missed, and there is no reason for it in tools/figures/rows.go"
			}
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", x.name, format(ours, unit), beside, theirs, ratio, aim), note, err
}

// sum adds metrics up.
func (r results) sum(all []metric) (float64, bool) {
	total := 0.0
	for _, m := range all {
		v, ok := r.values[m]
		if !ok {
			return 0, false
		}
		total += v
	}
	return total, true
}

// ratio is how much better ours is: less, but for rates.
func (x row) ratio(ours, peer float64) float64 {
	if strings.HasSuffix(x.ours[0].unit, "/s") {
		return ours / peer
	}
	return peer / ours
}

func times(ratio float64) string {
	switch {
	case ratio >= 100:
		return digits(ratio) + "×"
	case ratio >= 10:
		return fmt.Sprintf("%.0f×", ratio)
	case ratio >= 0.95:
		return fmt.Sprintf("%.1f×", ratio)
	default:
		return fmt.Sprintf("%.2f×", ratio)
	}
}

// format prints a value with three digits.
func format(v float64, unit string) string {
	switch {
	case strings.HasPrefix(unit, "ms") || strings.HasPrefix(unit, "cpu-ms"):
		return format(v*1e6, "ns")
	case strings.Contains(unit, "ns"):
		d := time.Duration(v)
		for _, step := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
			if d >= step {
				return fmt.Sprintf("%s %s", digits(float64(d)/float64(step)), map[time.Duration]string{
					time.Second: "s", time.Millisecond: "ms", time.Microsecond: "µs",
				}[step])
			}
		}
		return fmt.Sprintf("%d ns", d)
	case unit == "MB":
		return digits(v) + " MB"
	case strings.HasSuffix(unit, "B") || unit == "B/op":
		return digits(v/1e6) + " MB"
	case strings.HasSuffix(unit, "/s"):
		return digits(v) + " " + strings.Replace(unit, "/s", " a second", 1)
	default:
		return digits(v) + " " + strings.TrimSuffix(unit, "/op")
	}
}

func digits(v float64) string {
	switch {
	case v >= 100:
		whole := fmt.Sprintf("%.0f", v)
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
		return whole
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
