package lint

import (
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/plan"
)

var ruleAllowEmpty = Rule{
	Rule: plan.Rule{
		Name: "allow-empty", Kind: plan.Advice, Severity: plan.Warning,
		Means: "If the source has no manifests, for example because a path was renamed or a generator gave nothing, the automated sync " +
			"deletes " +
			"everything that the Application has deployed.",
		Cure: "Remove allowEmpty, or turn prune off.",
	},
	Family: Loss,
	Why: "Without allowEmpty, an automated sync that would prune every resource is refused (autoSync in controller/appcontroller.go, " +
		"read in " +
		"3.2.11).",
	check: func(p *pass) {
		for _, app := range p.applications() {
			automated := automated(app)
			prune, _ := automated["prune"].(bool)
			if empty, _ := automated["allowEmpty"].(bool); app.Automated && prune && empty {
				p.find(app, []string{"spec", "syncPolicy", "automated", "allowEmpty"},
					"an empty source deletes everything that it has deployed")
			}
		}
	},
}

// automated is the policy of automated syncs.
func automated(app *plan.Application) map[string]any {
	settings, _ := argo.Automated(app.Object)
	return settings
}
