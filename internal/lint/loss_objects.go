package lint

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

var ruleDeleteHook = Rule{
	Rule: plan.Rule{
		Name: "delete-hook-without-source", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "The Application is generated from a directory that has a PostDelete hook. If the directory is removed, the set " +
			"deletes the Application, Argo CD cannot render the hook any more, and the Application stays in deletion for ever.",
		Cure: "Keep the hook outside of the directory, for example in a chart, or remove the finalizer " + argo.PostDeleteFinalizer +
			" by hand.",
	},
	Family: Loss,
	Why: "Argo CD renders PostDelete hooks when it deletes the Application, from the target revision at that moment, and retries " +
		"without end if that fails (executePostDeleteHooks in controller/hook.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			if s.item == nil || s.has(generator.KindGit) == nil {
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
		if g.Kind == generator.KindGit &&
			giturl.Canonical(manifest.String(g.Spec, "repoURL")) == giturl.Canonical(app.Sources[0].Repository) {
			return true
		}
	}
	return false
}
