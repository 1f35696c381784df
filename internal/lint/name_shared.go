package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

var ruleSharedObject = Rule{
	Rule: plan.Rule{
		Name: "shared-object", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "Two Applications deploy one object. Each sync overwrites what the other Application has applied, one of the two is " +
			"always OutOfSync, and deleting or pruning in one takes the object from the other.",
		Cure: "Keep the object in one Application.",
	},
	Family: Names,
	Why:    "Argo CD reports SharedResourceWarning (controller/state.go, read in 3.2.11).",
	check: func(p *pass) {
		roots := p.rootsOf()
		owners := map[object][]*plan.Application{}
		shared := map[[2]*plan.Application][]string{}
		var pairs [][2]*plan.Application
		for _, app := range p.applications() {
			for _, item := range app.Items {
				if item.Hook || item.Application != nil || item.Children != nil || strings.HasSuffix(item.Name, "*") {
					continue
				}
				id := p.newObject(app, item)
				// The first one that has it is enough: a set may have thousands of Applications with the same objects.
				i := slices.IndexFunc(owners[id], func(other *plan.Application) bool {
					return other != app && common(roots[other], roots[app])
				})
				if i < 0 {
					if n := len(owners[id]); n == 0 || owners[id][n-1] != app {
						owners[id] = append(owners[id], app)
					}
					continue
				}
				pair := [2]*plan.Application{owners[id][i], app}
				if shared[pair] == nil {
					pairs = append(pairs, pair)
				}
				shared[pair] = append(shared[pair], fmt.Sprintf("%s %s", item.Kind, item.Name))
			}
		}
		for _, pair := range pairs {
			p.find(pair[1], []string{"metadata", "name"}, "%s deploys the same objects: %s", pair[0].Name, words.Some(shared[pair]))
		}
	},
}

// object names an object in a cluster.
type object struct{ cluster, group, kind, namespace, name string }

func (p *pass) newObject(app *plan.Application, item *plan.Item) object {
	namespace := cmp.Or(item.Namespace, app.Destination.Namespace)
	if order.ClusterScoped(item.Group, item.Kind) {
		namespace = ""
	}
	return object{p.Clusters.Server(app.Destination.Cluster), item.Group, item.Kind, namespace, item.Name}
}

func common(a, b []*plan.Application) bool {
	return slices.ContainsFunc(a, func(r *plan.Application) bool { return slices.Contains(b, r) })
}

// roots are the Applications that are applied by hand.
func (p *pass) roots() []*plan.Application {
	if !p.Root.Applied {
		return []*plan.Application{p.Root}
	}
	var out []*plan.Application
	for _, item := range p.Root.Items {
		if item.Application != nil {
			out = append(out, item.Application)
		}
	}
	return out
}

// rootsOf says of each Application which roots deploy it. A set that is applied counts as its first Application.
func (p *pass) rootsOf() map[*plan.Application][]*plan.Application {
	out := map[*plan.Application][]*plan.Application{}
	var visit func(app, root *plan.Application)
	visit = func(app, root *plan.Application) {
		if slices.Contains(out[app], root) {
			return
		}
		out[app] = append(out[app], root)
		for _, item := range app.Items {
			if item.Application != nil {
				visit(item.Application, root)
			}
			for _, child := range item.Children {
				visit(child, root)
			}
		}
	}
	for _, root := range p.roots() {
		visit(root, root)
	}
	if p.Root.Applied {
		for _, item := range p.Root.Items {
			for _, child := range item.Children {
				visit(child, item.Children[0])
			}
		}
	}
	return out
}
