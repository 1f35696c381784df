package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// Blast prints the Applications that each Application blocks, as a table or JSON.
func Blast(w io.Writer, f Format, radii []simulate.Radius) error {
	switch f {
	case Table:
		return blastTable(w, radii)
	case JSON:
		return Object(w, map[string]any{"applications": blastObject(radii)})
	}
	return f.refused("blast radius")
}

func blastTable(w io.Writer, radii []simulate.Radius) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BLOCKS\tAPPLICATION\tWHICH")
	for _, r := range radii {
		fmt.Fprintf(table, "%d\t%s\t%s\n", len(r.Blocks), words.Printable(r.App), blocks(r.Blocks))
	}
	return table.Flush()
}

// blastObject is the report of Blast as a JSON object.
func blastObject(radii []simulate.Radius) []any {
	list := []any{}
	for _, r := range radii {
		list = append(list, map[string]any{"application": r.App, "blocks": Texts(r.Blocks)})
	}
	return list
}

// blocks are the first names of many.
func blocks(names []string) string { return words.Harmless(words.First(names, 6)) }
