package plan

import (
	"reflect"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// RootsAmong returns those candidates that deploy others and that no other candidate deploys. In a cycle, as of a set that one of its own
// Applications deploys, the first is the root. Candidates of the same name that differ, as the roots of several clusters do, are planned
// apart, and may be several roots. plan plans candidates as if they were applied by hand.
func RootsAmong(candidates []manifest.Document, plan func([]manifest.Document) (*Plan, error)) ([]manifest.Document, error) {
	var all []among
	for _, docs := range apart(candidates) {
		p, err := plan(docs)
		if err != nil {
			return nil, err
		}
		g := newDeployments(p)
		for _, d := range docs {
			if id := g.find(d.Object, p.Root.Namespace); id != (deployed{}) {
				all = append(all, among{d, id, g})
			}
		}
	}
	var out []manifest.Document
	var chosen []deployed
	for _, c := range all {
		mine := c.in.below(c.id)
		isRoot := c.in.parents[c.id] && !slices.ContainsFunc(all, func(by among) bool {
			// A root may be deployed only by its own descendants that are no roots.
			return by.id != c.id && by.in.below(by.id)[c.id] && (!mine[by.id] || slices.Contains(chosen, by.id))
		})
		if isRoot {
			out, chosen = append(out, c.Document), append(chosen, c.id)
		}
	}
	return out, nil
}

// among is a candidate in a plan.
type among struct {
	manifest.Document
	id deployed
	in *deployments
}

// apart puts candidates of the same name that differ into several lists, and leaves out those that do not.
func apart(candidates []manifest.Document) [][]manifest.Document {
	identity := func(o manifest.Object) deployed {
		return deployed{manifest.String(o, "kind"), manifest.String(o, "metadata", "namespace"), manifest.String(o, "metadata", "name")}
	}
	anywhere := map[deployed]bool{} // without a namespace, so one may be in that of any other
	for _, d := range candidates {
		if id := identity(d.Object); id.namespace == "" {
			anywhere[id] = true
		}
	}
	var lists [][]manifest.Document
	alike := map[deployed][]manifest.Object{}
next:
	for _, d := range candidates {
		id := identity(d.Object)
		if bare := (deployed{id.kind, "", id.name}); anywhere[bare] {
			id = bare
		}
		for _, o := range alike[id] {
			if reflect.DeepEqual(o, d.Object) {
				continue next
			}
		}
		n := len(alike[id])
		alike[id] = append(alike[id], d.Object)
		if n == len(lists) {
			lists = append(lists, nil)
		}
		lists[n] = append(lists[n], d)
	}
	return lists
}

// deployed is an Application or a set.
type deployed struct{ kind, namespace, name string }

// deployments has the children of Applications and sets.
type deployments struct {
	children map[deployed][]deployed
	parents  map[deployed]bool // Applications and sets that deploy others, or may
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

// find returns the identity of an object in the plan, zero if it is not there.
func (g *deployments) find(o manifest.Object, namespace string) deployed {
	for _, in := range []string{manifest.String(o, "metadata", "namespace"), namespace} {
		id := deployed{manifest.String(o, "kind"), in, manifest.String(o, "metadata", "name")}
		if _, ok := g.children[id]; ok || g.parents[id] {
			return id
		}
	}
	return deployed{}
}

// below returns everything that an Application or a set deploys, directly or not.
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
