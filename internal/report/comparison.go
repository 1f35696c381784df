package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// Comparison is two boots: with sets rendered by the controller, and by the plugin.
type Comparison struct {
	Plans [2]*plan.Plan
	Boots [2]*simulate.Boot
	Radii [2][]simulate.Radius // instead of boots
}

// Renderers are the names of the renderers of sets.
func Renderers() [2]string {
	return [2]string{string(plan.SetsByController), string(plan.SetsByPlugin)}
}

// Write prints the boots side by side, as a table, JSON or SVG.
func (c *Comparison) Write(w io.Writer, f Format) error {
	switch f {
	case Table:
		return c.table(w)
	case JSON:
		return Object(w, c.object())
	case SVG:
		return bootSVG(w, c.Boots[0].Runs[0].Name+": the boot with the applicationset-controller and with the plugin appset",
			c.Plans[:], c.Boots[:])
	}
	return f.refused("comparison of boots")
}

// early are the Applications that did not wait, in both boots.
func (c *Comparison) early() [2][]simulate.Early {
	return [2][]simulate.Early{c.Boots[0].TooEarly(c.Plans[0]), c.Boots[1].TooEarly(c.Plans[1])}
}

// table prints the boots side by side.
func (c *Comparison) table(w io.Writer) error {
	out := bufio.NewWriter(w)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tapplicationset-controller\tplugin appset")
	row := func(title string, f func(i int) string) { fmt.Fprintf(table, "%s\t%s\t%s\n", title, f(0), f(1)) }
	soon := c.early()
	row("boot", func(i int) string {
		if !c.Boots[i].Done() {
			return "does not end"
		}
		return words.Clock(c.Boots[i].Total)
	})
	row("Applications healthy", func(i int) string {
		n, all := 0, c.Boots[i].Applications()
		for _, r := range all {
			if r.Health == health.Healthy {
				n++
			}
		}
		return fmt.Sprintf("%d of %d", n, len(all))
	})
	row("created before an earlier wave was healthy", func(i int) string { return strconv.Itoa(len(soon[i])) })
	if err := table.Flush(); err != nil {
		return err
	}
	if err := writeAssumed(out, c.Plans[:]...); err != nil {
		return err
	}
	for i, name := range Renderers() {
		if len(soon[i]) > 0 {
			fmt.Fprintf(out, "\nWith the %s, these do not wait:\n", name)
			writeEarly(out, soon[i], "starts")
		}
	}
	if slices.ContainsFunc(c.Plans[1].Findings, func(f plan.Finding) bool {
		return f.Rule.Name == plan.RuleSettingsUnknown.Name
	}) {
		fmt.Fprintln(out, "\nArgo CD's settings are not known. Both boots are those of an Argo CD without a health check for "+
			"Applications, where nothing waits for Applications. --customizations FILE names the settings.")
	}
	blocked := [2][]string{c.Boots[0].Blocked(), c.Boots[1].Blocked()}
	for i, name := range Renderers() {
		for _, line := range blocked[i] {
			switch both := slices.Contains(blocked[1-i], line); {
			case !both:
				fmt.Fprintf(out, "\nWith the %s: %s\n", name, words.Harmless(line))
			case i == 0:
				fmt.Fprintf(out, "\nWith both: %s\n", words.Harmless(line))
			}
		}
	}
	return out.Flush()
}

// object is the comparison for programs.
func (c *Comparison) object() map[string]any {
	out, soon := map[string]any{}, c.early()
	for i, name := range Renderers() {
		o := bootObject(c.Plans[i], c.Boots[i])
		o["notInOrder"] = earlyObjects(soon[i])
		out[name] = o
	}
	return out
}

// WriteBlast prints the Applications that each Application blocks in both boots, in the order of the plugin's, as a table or JSON.
func (c *Comparison) WriteBlast(w io.Writer, f Format) error {
	switch f {
	case Table:
		return c.blastTable(w)
	case JSON:
		out := map[string]any{}
		for i, name := range Renderers() {
			out[name] = blastObject(c.Plans[i], c.Radii[i])
		}
		return Object(w, out)
	}
	return f.refused("blast radius")
}

func (c *Comparison) blastTable(w io.Writer) error {
	with := map[string]string{}
	for _, r := range c.Radii[0] {
		with[r.App] = strconv.Itoa(len(r.Blocks))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CONTROLLER\tPLUGIN\tAPPLICATION\tBLOCKS WITH THE PLUGIN")
	for _, r := range c.Radii[1] {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", words.OrDash(with[r.App]), len(r.Blocks), words.Printable(r.App), blocks(r.Blocks))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return writeAssumed(w, c.Plans[:]...)
}
