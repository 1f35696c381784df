package lint

import (
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

var ruleAlwaysHealthy = Rule{
	Rule: plan.Rule{
		Name: "health-check-always-healthy", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "The health check of Applications calls an Application Healthy that is not. No wave waits for an Application.",
		Cure:  "Install the one that argosy health script applications prints.",
	},
	Family: Waves,
	Why:    "The installed health check was run on an Application whose own health is Progressing, and on one whose is Degraded.",
	check: func(p *pass) {
		if p.Settings == nil || p.Settings.Partial || p.Root.Applied {
			return // settings-unknown says so
		}
		for _, status := range []string{"Progressing", "Degraded"} {
			o := manifest.Object{
				"apiVersion": argo.APIVersion, "kind": argo.KindApplication, "metadata": map[string]any{"name": "x"},
				"spec":   map[string]any{},
				"status": map[string]any{"health": map[string]any{"status": status}, "sync": map[string]any{"status": "Synced"}},
			}
			h, ok, err := health.Evaluate(o, p.Settings.Health, health.Limits{Version: p.Version})
			if err == nil && ok && h.Status == "Healthy" {
				p.find(p.Root, nil,
					"the health check of Applications (%s) calls an Application Healthy that is %s", p.Settings.Origin, status)
				return
			}
		}
	},
}
