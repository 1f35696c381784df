package lint

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
)

var ruleNameChanged = Rule{
	Rule: plan.Rule{
		Name: "name-template-changed", Kind: plan.Advice, Severity: plan.Error,
		Means: "The names of a set's Applications are others than in the revision of --diff. The set deletes the Applications with the " +
			"old names, with everything that they have deployed, and creates others.",
		Cure: "Keep the old names, or set syncPolicy.preserveResourcesOnDeletion: true on the set before, so that the objects stay and " +
			"the new Applications adopt them.",
	},
	Family: Loss,
	Why: "The controller deletes each Application of the set whose name is not among those that the generators give now (deleteInCluster " +
		"in applicationset/controllers/applicationset_controller.go, read in 3.2.11).",
	compare: func(p *pass, before *plan.Plan) {
		old := map[argo.Ref]set{}
		for _, s := range (&pass{Plan: before}).sets() {
			old[s.ref()] = s
		}
		for _, s := range p.sets() {
			was, ok := old[s.ref()]
			field := []string{"template", "metadata", "name"}
			if !ok || s.item == nil || was.item == nil || s.item.Unknown != "" || was.item.Unknown != "" || !was.deletes() ||
				manifest.String(s.spec, field...) == manifest.String(was.spec, field...) {
				continue
			}
			var gone []string
			for _, child := range was.item.Children {
				if !slices.ContainsFunc(s.item.Children, func(c *plan.Application) bool { return c.Name == child.Name }) {
					gone = append(gone, child.Name)
				}
			}
			if len(gone) > 0 {
				p.set(s, field, "the new names delete Applications and what they have deployed: %s", words.Some(gone))
			}
		}
	},
}

// ref names a set.
func (s set) ref() argo.Ref {
	return argo.Ref{Namespace: manifest.String(s.Object, "metadata", "namespace"), Name: s.name}
}

var ruleCRDRemoved = Rule{
	Rule: plan.Rule{
		Name: "crd-removed", Kind: plan.Advice, Severity: plan.Error,
		Means: "A CRD that an Application has deployed in the revision of --diff is not deployed any more. The automated sync prunes it, " +
			"and Kubernetes deletes all objects of that kind.",
		Cure: "Annotate the CRD with argocd.argoproj.io/sync-options: Prune=false and sync that first, or keep the CRD.",
	},
	Family: Loss,
	Why: "A prune deletes all objects that are not in the source any more, CRDs as well, unless they have Prune=false (pkg/sync/" +
		"sync_context.go of gitops-engine, read in 3.2.11).",
	compare: func(p *pass, before *plan.Plan) {
		now, apps := map[object]bool{}, map[argo.Ref]*plan.Application{}
		for _, app := range p.applications() {
			apps[app.Ref] = app
			for _, item := range app.Items {
				now[newObject(app, item)] = true
			}
		}
		for _, was := range (&pass{Plan: before}).applications() {
			app := apps[was.Ref]
			if app == nil || !app.Automated || app.Verdict() != source.Known {
				continue
			}
			if prune, _ := automated(app)["prune"].(bool); !prune {
				continue
			}
			var gone []string
			for _, item := range was.Items {
				if order.DefinedKind(item.Object) != "" && !now[newObject(was, item)] && !order.HasOption(item.Object, "Prune=false") &&
					!order.HasOption(item.Object, "Prune=confirm") {
					gone = append(gone, item.Name)
				}
			}
			if len(gone) > 0 {
				p.find(app, []string{"spec", "syncPolicy", "automated", "prune"},
					"the sync prunes CRDs, and with them all of their objects: %s", words.Some(gone))
			}
		}
	},
}
