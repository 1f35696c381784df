package lint

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/strict"
	"github.com/argosy-cd/argosy/internal/words"
)

// syncOptions are the options of syncs, with their values.
var syncOptions = map[string][]string{
	"Validate": truth, "CreateNamespace": truth, "PruneLast": truth, "Replace": truth, "Force": truth, "ServerSideApply": truth,
	"ApplyOutOfSyncOnly": truth, "FailOnSharedResource": truth, "RespectIgnoreDifferences": truth, "SkipDryRunOnMissingResource": truth,
	"ClientSideApplyMigration": truth, "PrunePropagationPolicy": {"foreground", "background", "orphan"},
	"Prune": {"true", "false", "confirm"}, "Delete": {"true", "false", "confirm"},
}

var truth = []string{"true", "false"}

var ruleSyncOption = Rule{
	Rule: plan.Rule{
		Name: "sync-option-unknown", Kind: plan.Advice, Severity: plan.Warning,
		Means: "Argo CD does not know the sync option, and ignores it without a word.",
		Cure:  "Write the option as Argo CD does, with its capitals, as in CreateNamespace=true.",
	},
	Family: Fields,
	Why: "Options are compared as texts (SyncOptions.HasOption in pkg/apis/application/v1alpha1/types.go); the known ones are in " +
		"the controller and in pkg/sync/common/types.go of gitops-engine (read in 3.2.11 to 3.5.6).",
	check: func(p *pass) {
		for _, app := range p.applications() {
			list, _ := manifest.Map(app.Object, "spec", "syncPolicy")["syncOptions"].([]any)
			for i, v := range list {
				option, _ := v.(string)
				field := []string{"spec", "syncPolicy", "syncOptions", strict.Index(i)}
				name, value, _ := strings.Cut(option, "=")
				switch values, ok := syncOptions[name]; {
				case !ok:
					near := nearest(strings.TrimSpace(name), manifest.Keys(syncOptions))
					p.find(app, field, "Argo CD knows no sync option %q%s", option, words.DidYouMean(near))
					p.meant(near)
				case !slices.Contains(values, value):
					p.find(app, field, "the sync option %q has no effect; values of %s are %s", option, name, strings.Join(values, ", "))
				}
			}
			for _, item := range app.Items {
				text := manifest.String(item.Object, "metadata", "annotations", argo.SyncOptionsAnnotation)
				for option := range strings.SplitSeq(text, ",") {
					option = strings.TrimSpace(option)
					name, value, _ := strings.Cut(option, "=")
					if values, ok := syncOptions[name]; option != "" && (!ok || !slices.Contains(values, value)) {
						near := nearest(name, manifest.Keys(syncOptions))
						p.about(item, []string{"metadata", "annotations", argo.SyncOptionsAnnotation},
							"Argo CD knows no sync option %q%s", option, words.DidYouMean(near))
						p.meant(near)
					}
				}
			}
		}
	},
}
