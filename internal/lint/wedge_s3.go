package lint

import (
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
)

var ruleS3Unnamed = Rule{
	Rule: plan.Rule{
		Name: "s3-plugin-not-named", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "Argo CD finds the plugin s3 by discovery. If discovery fails, for example while the sidecar restarts, it deploys the " +
			"directory as " +
			"plain manifests, and may prune what came from S3.",
		Cure: "Name the plugin: source.plugin.name: s3.",
	},
	Family: Wedges,
	Why:    "A source that names no plugin is a plain directory if no plugin claims it.",
	check: func(p *pass) {
		for _, app := range p.applications() {
			for _, s := range app.Sources {
				if s.Kind == source.S3 && manifest.String(s.Spec, "plugin", "name") == "" {
					p.find(app, []string{"spec", "source"}, "its source is in S3, and it does not name the plugin s3")
				}
			}
		}
	},
}
