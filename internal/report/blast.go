package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// Blast prints the Applications that each Application blocks, as a table or JSON.
func Blast(w io.Writer, f Format, p *plan.Plan, radii []simulate.Radius) error {
	switch f {
	case Table:
		return blastTable(w, p, radii)
	case JSON:
		return Object(w, blastObject(p, radii))
	}
	return f.refused("blast radius")
}

func blastTable(w io.Writer, p *plan.Plan, radii []simulate.Radius) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BLOCKS\tAPPLICATION\tWHICH")
	for _, r := range radii {
		fmt.Fprintf(table, "%d\t%s\t%s\n", len(r.Blocks), words.Printable(r.App), blocks(r.Blocks))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return writeAssumed(w, p)
}

// writeAssumed prints the line of assumed, if there is one.
func writeAssumed(w io.Writer, plans ...*plan.Plan) error {
	line := assumed(plans...)
	if line == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s\n", line)
	return err
}

// blastObject is the report of Blast as a JSON object.
func blastObject(p *plan.Plan, radii []simulate.Radius) map[string]any {
	list := []any{}
	for _, r := range radii {
		list = append(list, map[string]any{"application": r.App, "blocks": Texts(r.Blocks)})
	}
	return map[string]any{"applications": list, "unknown": Texts(p.Summary().Unknown)}
}

// blocks are the first names of many.
func blocks(names []string) string { return words.Harmless(words.First(names, 6)) }
