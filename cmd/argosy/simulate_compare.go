package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// comparison is two boots: with sets rendered by the controller, and by the plugin.
type comparison struct {
	plans [2]*plan.Plan
	boots [2]*simulate.Boot
	radii [2][]simulate.Radius // instead of boots
}

func (c *comparison) names() [2]string { return [2]string{"controller", "plugin"} }

// early are the Applications that did not wait, in both boots.
func (c *comparison) early() [2][]early {
	return [2][]early{tooEarly(c.plans[0], c.boots[0]), tooEarly(c.plans[1], c.boots[1])}
}

// table prints the boots side by side.
func (c *comparison) table(w io.Writer) error {
	out := bufio.NewWriter(w)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tapplicationset-controller\tplugin appset")
	row := func(title string, f func(i int) string) { fmt.Fprintf(table, "%s\t%s\t%s\n", title, f(0), f(1)) }
	soon := c.early()
	row("boot", func(i int) string {
		if !c.boots[i].Done() {
			return "does not end"
		}
		return words.Clock(c.boots[i].Total)
	})
	row("Applications healthy", func(i int) string {
		n := 0
		for _, r := range c.boots[i].Runs {
			if r.Health == simulate.Healthy {
				n++
			}
		}
		return fmt.Sprintf("%d of %d", n, len(c.boots[i].Runs))
	})
	row("made before an earlier wave was healthy", func(i int) string { return strconv.Itoa(len(soon[i])) })
	if err := table.Flush(); err != nil {
		return err
	}
	if len(soon[0]) > 0 {
		fmt.Fprintln(out, "\nWith the controller, these do not wait:")
		writeEarly(out, soon[0], "starts")
	}
	for i, name := range c.names() {
		for _, line := range c.boots[i].Blocked() {
			fmt.Fprintf(out, "\nWith the %s: %s\n", name, words.Harmless(line))
		}
	}
	return out.Flush()
}

// object is the comparison for programs.
func (c *comparison) object() map[string]any {
	out, soon := map[string]any{}, c.early()
	for i, name := range c.names() {
		o := bootObject(c.plans[i], c.boots[i])
		o["notInOrder"] = earlyObjects(soon[i])
		out[name] = o
	}
	return out
}

// writeBlast prints what each Application blocks in both boots, in the order of the plugin's.
func (c *comparison) writeBlast(w io.Writer, format string) error {
	if format == "json" {
		out := map[string]any{}
		for i, name := range c.names() {
			out[name] = map[string]any{"applications": blastObject(c.radii[i])}
		}
		return writeJSON(w, out)
	}
	with := map[string]string{}
	for _, r := range c.radii[0] {
		with[r.App] = strconv.Itoa(len(r.Blocks))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CONTROLLER\tPLUGIN\tAPPLICATION\tBLOCKS WITH THE PLUGIN")
	for _, r := range c.radii[1] {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", words.OrDash(with[r.App]), len(r.Blocks), words.Printable(r.App), blocks(r.Blocks))
	}
	return table.Flush()
}
