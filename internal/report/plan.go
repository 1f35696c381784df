package report

import (
	"io"

	"github.com/argosy-cd/argosy/internal/plan"
)

// Plan prints a plan: as a table, JSON, YAML, Mermaid, DOT or SVG. Tables and objects have all objects if resources are wanted, and
// otherwise Applications and ApplicationSets.
func Plan(w io.Writer, f Format, p *plan.Plan, resources bool) error {
	switch f {
	case Table:
		return planTable(w, p, resources)
	case JSON, YAML:
		return planObject(w, f, p, resources)
	case Mermaid:
		return newGraph(p).mermaid(w)
	case DOT:
		return newGraph(p).dot(w)
	case SVG:
		return planSVG(w, p)
	}
	return f.refused("plan")
}
