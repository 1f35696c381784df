package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// graph is a plan as nodes and edges.
type graph struct {
	nodes []graphNode
	edges []graphEdge
}

type graphNode struct {
	id, label string
	set       bool // an ApplicationSet
	unknown   bool
}

type graphEdge struct {
	from, to string
	label    string // the wave; "" for the Applications of a set
	waits    bool
}

// newGraph collects Applications and sets. An Application that contains itself is an edge back to it.
func newGraph(p *plan.Plan) *graph {
	g := &graph{}
	refs := map[argo.Ref]string{}
	for _, app := range p.Applications {
		label, unknown := app.Name, false
		for _, s := range app.Sources {
			unknown = unknown || s.Unknown != ""
		}
		refs[app.Ref] = g.add(label, false, unknown)
	}
	for _, app := range p.Applications {
		for _, item := range app.Items {
			wave := fmt.Sprintf("wave %d", item.Wave)
			switch {
			case item.Application != nil:
				g.edges = append(g.edges, graphEdge{refs[app.Ref], refs[item.Application.Ref], wave, item.Waits})
			case item.Children != nil:
				set := g.add(item.Name, true, item.Unknown != "")
				g.edges = append(g.edges, graphEdge{refs[app.Ref], set, wave, item.Waits})
				for _, child := range item.Children {
					g.edges = append(g.edges, graphEdge{set, refs[child.Ref], "", false})
				}
			}
		}
	}
	return g
}

func (g *graph) add(label string, set, unknown bool) string {
	id := fmt.Sprintf("n%d", len(g.nodes))
	g.nodes = append(g.nodes, graphNode{id, label, set, unknown})
	return id
}

// mermaid draws for Markdown: sets are hexagons, what is not known is dashed, an edge that does not wait is dotted.
func (g *graph) mermaid(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, "graph TD")
	for _, n := range g.nodes {
		label := `"` + words.Harmless(strings.NewReplacer(`"`, "#quot;", "\n", " ").Replace(n.label)) + `"`
		if n.set {
			fmt.Fprintf(w, "  %s{{%s}}\n", n.id, label)
		} else {
			fmt.Fprintf(w, "  %s[%s]\n", n.id, label)
		}
		if n.unknown {
			fmt.Fprintf(w, "  style %s stroke-dasharray: 5 5\n", n.id)
		}
	}
	for _, e := range g.edges {
		arrow := "-.->"
		if e.waits {
			arrow = "-->"
		}
		if e.label != "" {
			arrow += "|" + e.label + "|"
		}
		fmt.Fprintf(w, "  %s %s %s\n", e.from, arrow, e.to)
	}
	return flush(w)
}

// dot draws for Graphviz, in the same way.
func (g *graph) dot(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, "digraph plan {\n  rankdir=LR\n  node [shape=box]")
	for _, n := range g.nodes {
		style := ""
		if n.set {
			style += " shape=hexagon"
		}
		if n.unknown {
			style += " style=dashed"
		}
		fmt.Fprintf(w, "  %s [label=%q%s]\n", n.id, n.label, style)
	}
	for _, e := range g.edges {
		style := " style=dotted"
		if e.waits {
			style = ""
		}
		fmt.Fprintf(w, "  %s -> %s [label=%q%s]\n", e.from, e.to, e.label, style)
	}
	fmt.Fprintln(w, "}")
	return flush(w)
}
