package plan

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// RootsAmong returns those candidates that deploy others and that no other candidate deploys; the plan is one of all candidates. Of those
// that deploy each other, as sets that are deployed by one of their own Applications do, the first is the root.
func (p *Plan) RootsAmong(candidates []manifest.Document) []manifest.Document {
	g := newDeployments(p)
	var out []manifest.Document
	var chosen []deployed
	for _, d := range candidates {
		id := g.find(d.Object, p.Root.Namespace)
		if id == (deployed{}) || !g.parents[id] {
			continue
		}
		mine := g.below(id)
		isRoot := true
		for _, other := range candidates {
			by := g.find(other.Object, p.Root.Namespace)
			if by == id || by == (deployed{}) {
				continue
			}
			// Whoever deploys it is deployed by it, too, or it is no root.
			if g.below(by)[id] && (!mine[by] || slices.Contains(chosen, by)) {
				isRoot = false
			}
		}
		if isRoot && !slices.Contains(chosen, id) {
			out, chosen = append(out, d), append(chosen, id)
		}
	}
	return out
}

// deployed is an Application or a set.
type deployed struct{ kind, namespace, name string }

// deployments says who deploys whom.
type deployments struct {
	children map[deployed][]deployed
	parents  map[deployed]bool // those that deploy others, or may
	known    map[deployed]map[deployed]bool
}

func newDeployments(p *Plan) *deployments {
	g := &deployments{children: map[deployed][]deployed{}, parents: map[deployed]bool{}, known: map[deployed]map[deployed]bool{}}
	of := func(app *Application) deployed { return deployed{argo.KindApplication, app.Namespace, app.Name} }
	for _, app := range p.Applications {
		g.children[of(app)] = nil
		g.parents[of(app)] = app.DeploysOthers() || app.Hides || app.Broken != "" && app.namespace() == app.Namespace
		for _, item := range app.Items {
			set := deployed{item.Kind, item.Namespace, item.Name}
			switch {
			case item.Application != nil:
				g.children[of(app)] = append(g.children[of(app)], of(item.Application))
			case item.Children != nil:
				g.children[of(app)], g.parents[set] = append(g.children[of(app)], set), true
			}
			for _, child := range item.Children {
				g.children[set] = append(g.children[set], of(child))
			}
		}
	}
	return g
}

// find returns what an object is in the plan, nothing if it is not there.
func (g *deployments) find(o manifest.Object, namespace string) deployed {
	for _, in := range []string{manifest.String(o, "metadata", "namespace"), namespace} {
		id := deployed{manifest.String(o, "kind"), in, manifest.String(o, "metadata", "name")}
		if _, ok := g.children[id]; ok || g.parents[id] {
			return id
		}
	}
	return deployed{}
}

// below is everything that something deploys, directly or not.
func (g *deployments) below(id deployed) map[deployed]bool {
	if known := g.known[id]; known != nil {
		return known
	}
	out := map[deployed]bool{}
	var walk func(deployed)
	walk = func(id deployed) {
		for _, child := range g.children[id] {
			if !out[child] {
				out[child] = true
				walk(child)
			}
		}
	}
	walk(id)
	g.known[id] = out
	return out
}
