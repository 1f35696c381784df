package lint

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

var ruleSetGate = Rule{
	Rule: plan.Rule{
		Name: "set-does-not-gate", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "A wave has an ApplicationSet, and later waves do not wait for its Applications. Argo CD calls a set Healthy as soon as " +
			"it has created its Applications.",
		Cure: "Render the set by the plugin appset. It is then an Application, and its health is that of its children.",
	},
	Family: Waves,
	Why: "The bundled health check of ApplicationSet reads only the conditions of the set " +
		"(resource_customizations/argoproj.io/ApplicationSet/health.lua, read in 3.2.11). TestGap in lab/e2e shows it on a real cluster.",
	check: func(p *pass) {
		for _, app := range p.applications() {
			for _, item := range app.Items {
				switch {
				case item.Children == nil || item.Awaits || item.Rollout || !behind(app, item):
					continue
				case p.Settings == nil || p.Settings.Partial:
					p.miss("Argo CD's settings were not found; they may have a health check of ApplicationSets that waits for " +
						"Applications")
					continue
				}
				p.found = append(p.found, plan.Finding{
					Rule: p.rule.Rule, Subject: item.Name, Position: item.Position, Field: fieldWave,
					Message: "the later waves of " + app.Name + " do not wait for the Applications of this set",
				})
			}
		}
	},
}

var ruleTemplateWave = Rule{
	Rule: plan.Rule{
		Name: "wave-in-set-template", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "The template of an ApplicationSet has a sync wave. The applicationset-controller creates all Applications at once, and " +
			"ignores the waves.",
		Cure: "Render the set by the plugin appset, or use the strategy RollingSync.",
	},
	Family: Waves,
	Why:    "Sync waves order the objects of one sync. The controller creates Applications by itself, and not in a sync.",
	check: func(p *pass) {
		for _, s := range p.sets() {
			wave := manifest.String(s.spec, "template", "metadata", "annotations", argo.SyncWaveAnnotation)
			if s.item != nil && strings.TrimSpace(wave) != "" {
				p.set(s, append([]string{"template"}, fieldWave...),
					"the applicationset-controller ignores the sync wave %s of the template", wave)
			}
		}
	},
}
