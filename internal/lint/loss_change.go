package lint

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

var ruleNameChanged = Rule{
	Rule: plan.Rule{
		Name: "name-template-changed", Kind: plan.Advice, Severity: plan.Error,
		Means: "The names of a set's Applications differ from those in the revision of --diff. The set deletes the Applications with the " +
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
				p.set(s, field, "because of its new names, the set deletes Applications and what they have deployed: %s", words.Some(gone))
			}
		}
	},
}

// ref names a set.
func (s set) ref() argo.Ref {
	return argo.Ref{Namespace: manifest.String(s.Object, "metadata", "namespace"), Name: s.name}
}
