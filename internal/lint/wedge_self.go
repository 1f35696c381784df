package lint

import (
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/plan"
)

var ruleGatesItself = Rule{
	Rule: plan.Rule{
		Name: "gates-itself", Kind: plan.Ordering, Severity: plan.Error,
		Means: "An Application, such as a root, deploys itself in a wave before its last, and the health check of Applications does not " +
			"call it Healthy before its sync has ended. The sync waits for the Application, and the Application for its sync.",
		Cure: "Put it in its own last wave, or install the health check: put the output of \"argosy health script applications\" " +
			"into argocd-cm.",
	},
	Family: Wedges,
	Why: "A wave is done when all of its objects are healthy. The installed health check was run on an Application with a running sync. " +
		"Before Argo CD 3.4, a check that copies status.health waits, too: the objects of later waves are missing, and one of them makes " +
		"the Application Missing if its kind has a health check in Go, or if argocd-cm customizes its kind in any way " +
		"(setApplicationHealth in controller/health.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, app := range p.applications() {
			for _, item := range app.Items {
				if a := item.Application; a == nil || !a.Itself || a.Ref != app.Ref || !item.Waits || p.KnowsItself || !behind(app, item) {
					continue
				}
				if later := missingLater(app, item); p.SyncAware {
					p.find(app, fieldWave, "it deploys itself in wave %d, and later waves wait until its own sync has ended", item.Wave)
				} else if later != nil && !p.Version.Has(versions.MissingNotCounted) {
					p.find(app, fieldWave, "it deploys itself in wave %d, and is not healthy before %s %s exists, which comes in %s",
						item.Wave,
						later.Kind, later.Name, later.At())
				}
			}
		}
	},
}

// missingLater is an object behind an item that counts while it is missing.
func missingLater(app *plan.Application, item *plan.Item) *plan.Item {
	for _, other := range app.Items {
		if other.Counts && !other.Hook && other.Application == nil &&
			order.Compare(other.Phase, other.Wave, item.Phase, item.Wave) > 0 {
			return other
		}
	}
	return nil
}

var ruleNoSelfHeal = Rule{
	Rule: plan.Rule{
		Name: "root-without-self-heal", Kind: plan.Advice, Severity: plan.Info,
		Means: "The root is synced once for each commit. A child Application that somebody deletes or changes stays so until the next " +
			"commit.",
		Cure: "Set syncPolicy.automated.selfHeal: true on the root.",
	},
	Family: Wedges,
	Why: "autoSync skips a commit that was synced successfully, unless selfHeal is set (controller/appcontroller.go, read in 3.2.11). A " +
		"commit whose sync has failed is not tried again in either case.",
	check: func(p *pass) {
		for _, app := range p.roots() {
			automated := automated(app)
			if heal, _ := automated["selfHeal"].(bool); app.Automated && !heal && app.DeploysOthers() {
				p.find(app, []string{"spec", "syncPolicy", "automated"},
					"it deploys Applications and does not restore those that are changed or deleted")
			}
		}
	},
}
