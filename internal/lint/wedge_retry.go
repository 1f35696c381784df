package lint

import (
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

var ruleRetryForEver = Rule{
	Rule: plan.Rule{
		Name: "retry-for-ever", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "A sync that fails is retried for ever, with the commit that it began with. " +
			"While it runs, Argo CD starts no other sync, so the commit with the fix is not deployed.",
		Cure: "Set a limit, such as 5, or retry.refresh: true, which retries with the newest commit.",
	},
	Family: Wedges,
	Why: "autoSync skips an Application whose operation is in progress, and a failed operation with retries left is in progress; a " +
		"retry keeps " +
		"the revisions of the operation unless retry.refresh is set (controller/appcontroller.go, read in 3.2.11). The setting " +
		"controller.sync.timeout.seconds, 0 by default, would end the operation.",
	check: func(p *pass) {
		if p.SyncTimeout != nil && p.SyncTimeout.Value != "0" {
			return // an operation that is terminated is not retried
		}
		for _, app := range p.applications() {
			refresh, _ := manifest.Map(app.Object, "spec", "syncPolicy", "retry")["refresh"].(bool)
			if app.Automated && app.Retry.Limit < 0 && !refresh {
				p.find(app, []string{"spec", "syncPolicy", "retry", "limit"},
					"a sync that fails is retried for ever with the same commit, and blocks the sync of the commit that would fix it")
			}
		}
	},
}
