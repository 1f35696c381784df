package lint

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

var ruleCRDPruned = Rule{
	Rule: plan.Rule{
		Name: "crd-can-be-pruned", Kind: plan.Advice, Severity: plan.Info,
		Means: "The Application prunes, and deploys CRDs whose objects other Applications deploy. If a new version of its source " +
			"has a CRD no longer, the sync deletes the CRD, and Kubernetes all objects of that kind.",
		Cure: "Annotate the CRDs with argocd.argoproj.io/sync-options: Prune=false, or keep them in an Application that does not " +
			"prune.",
	},
	Family: Loss,
	Why: "A prune deletes all objects that are not in the source any more, CRDs as well, unless they have Prune=false " +
		"(pkg/sync/sync_context.go of gitops-engine, read in 3.2.11).",
	check: func(p *pass) {
		users := map[string]map[*plan.Application]bool{}
		for _, app := range p.applications() {
			for _, item := range app.Items {
				id := newObject(app, item).cluster + " " + item.Group + "/" + item.Kind
				if users[id] == nil {
					users[id] = map[*plan.Application]bool{}
				}
				users[id][app] = true
			}
		}
		for _, app := range p.applications() {
			if prune, _ := automated(app)["prune"].(bool); !prune || !app.Automated {
				continue
			}
			var kinds []string
			for _, item := range app.Items {
				kind := order.DefinedKind(item.Object)
				if kind == "" || order.HasOption(item.Object, "Prune=false") || order.HasOption(item.Object, "Prune=confirm") {
					continue
				}
				others := users[newObject(app, item).cluster+" "+kind]
				if len(others) > 1 || len(others) == 1 && !others[app] {
					kinds = append(kinds, kind[strings.LastIndexByte(kind, '/')+1:])
				}
			}
			if len(kinds) > 0 {
				p.find(app, []string{"spec", "syncPolicy", "automated", "prune"},
					"a CRD that its source loses is pruned, with the objects of other Applications: %s", words.Some(kinds))
			}
		}
	},
}

var ruleDeleteHook = Rule{
	Rule: plan.Rule{
		Name: "delete-hook-without-source", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "The Application is generated from a directory that has a PostDelete hook. If the directory is removed, the set " +
			"deletes the Application, Argo CD cannot render the hook any more, and the Application stays in deletion for ever.",
		Cure: "Keep the hook outside of the directory, for example in a chart, or remove the finalizer " +
			"post-delete-finalizer.argocd.argoproj.io by hand.",
	},
	Family: Loss,
	Why: "Hooks of a deletion are rendered when it happens, from the target revision of that moment; an error is tried again and " +
		"again (executePostDeleteHooks in controller/hook.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			if s.item == nil || s.has("git") == nil {
				continue
			}
			for _, app := range s.item.Children {
				if len(app.DeleteHooks) > 0 && s.fromDirectory(app) {
					p.find(app, []string{"spec", "source", "path"},
						"it has the hook %s, which cannot be rendered once its directory is removed", words.Some(app.DeleteHooks))
				}
			}
		}
	},
}

// fromDirectory reports whether an Application of a set deploys a directory of the repository that a generator of the set reads.
func (s set) fromDirectory(app *plan.Application) bool {
	path := manifest.String(s.spec, "template", "spec", "source", "path")
	if len(app.Sources) != 1 || app.Sources[0].Chart != "" || !strings.Contains(path, "{{") {
		return false
	}
	for _, g := range s.generators() {
		if g.kind == "git" && argo.RepositoryKey(manifest.String(g.spec, "repoURL")) == argo.RepositoryKey(app.Sources[0].Repository) {
			return true
		}
	}
	return false
}
