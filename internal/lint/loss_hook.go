package lint

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

var ruleApplicationHook = Rule{
	Rule: plan.Rule{
		Name: "application-is-hook", Kind: plan.Ordering, Severity: plan.Error,
		Means: "The Application is a hook. Each sync of its parent deletes it, before it is created again or, with the delete policy " +
			"HookSucceeded, as soon as it is healthy; with a finalizer for its resources, everything that it has deployed is deleted, too.",
		Cure: "Remove the hook annotation, and order the Application with a sync wave.",
	},
	Family: Loss,
	Why: "Hooks are deleted before they are created again (BeforeHookCreation) unless they have another delete policy " +
		"(pkg/sync/hook/delete_policy.go of gitops-engine, read in 3.2.11).",
	check: func(p *pass) {
		for _, parent := range p.Applications {
			for _, item := range parent.Items {
				if item.Application == nil || !item.Hook || parent.Applied {
					continue
				}
				annotations := manifest.Map(item.Object, "metadata", "annotations")
				policy := manifest.String(annotations, "argocd.argoproj.io/hook-delete-policy") +
					manifest.String(annotations, "helm.sh/hook-delete-policy")
				policy = strings.ToLower(policy)
				effect := "deletes it and creates it again"
				if strings.Contains(policy, "succeeded") {
					effect = "creates it, and deletes it when it is healthy"
				} else if policy != "" && !strings.Contains(policy, "before") {
					continue
				}
				p.find(item.Application, []string{"metadata", "annotations", argo.HookAnnotation},
					"it is a %s hook, so each sync of %s %s", item.Phase, parent.Name, effect)
			}
		}
	},
}
