package lint

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

const argoFinalizers = "argocd.argoproj.io"

var ruleFinalizerUnknown = Rule{
	Rule: plan.Rule{
		Name: "finalizer-unknown", Kind: plan.Ordering, Severity: plan.Error,
		Means: "Argo CD does not know the finalizer of the Application, so nobody removes it. The Application can be deleted, but never " +
			"goes away, " +
			"and a wave or a prune that waits for that does not end.",
		Cure: "Write " + argo.ResourcesFinalizer + ", or " + argo.ResourcesFinalizer + "/background.",
	},
	Family: Loss,
	Why: "Argo CD removes its own finalizers only: the one for resources, alone or with /foreground or /background, and those of " +
		"PreDelete and " +
		"PostDelete hooks (pkg/apis/application/v1alpha1/application_defaults.go, read in 3.2.11 to 3.5.6).",
	check: func(p *pass) {
		for _, app := range p.applications() {
			for _, f := range finalizers(app) {
				if strings.Contains(f, argoFinalizers) && !argo.IsDeleteHookFinalizer(f) && !argo.IsResourcesFinalizer(f) {
					p.find(app, []string{"metadata", "finalizers"}, "Argo CD does not know the finalizer %s, and never removes it", f)
					p.meant(likelyFinalizer(f))
				}
			}
		}
	},
}

var ruleLeavesObjects = Rule{
	Rule: plan.Rule{
		Name: "no-finalizer", Kind: plan.Advice, Severity: plan.Info,
		Means: "The Application has no finalizer for its resources. If its parent prunes it, its objects stay in the cluster, and " +
			"nobody owns them.",
		Cure: "Add the finalizer " + argo.ResourcesFinalizer + " if the objects are to go, too.",
	},
	Family: Loss,
	Why:    "Argo CD deletes the objects of an Application only if it has that finalizer. A set adds it to what it generates.",
	check: func(p *pass) {
		for _, parent := range p.applications() {
			if prune, _ := automated(parent)["prune"].(bool); !prune || !parent.Automated {
				continue
			}
			for _, item := range parent.Items {
				app := item.Application
				if app != nil && !app.Itself && app.Origin == "" && len(finalizers(app)) == 0 {
					p.find(app, []string{"metadata"}, "%s prunes it if it is removed from Git, and its objects stay", parent.Name)
				}
			}
		}
	},
}

func finalizers(app *plan.Application) []string {
	var out []string
	list, _ := manifest.Map(app.Object, "metadata")["finalizers"].([]any)
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
