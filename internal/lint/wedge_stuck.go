package lint

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	plugin "github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/trigger/triggerurl"
	"github.com/argosy-cd/argosy/internal/words"
)

var ruleSyncTimeout = Rule{
	Rule: plan.Rule{
		Name: "no-sync-timeout", Kind: plan.Ordering, Severity: plan.Info,
		Means: "A sync that waits for a wave has no end. While it runs, Argo CD starts no other, so a commit that would repair the wave " +
			"is not deployed until somebody terminates the sync. A public cluster stood still for 14 hours because of that.",
		Cure: "Set controller.sync.timeout.seconds in argocd-cmd-params-cm to more than the longest boot takes.",
	},
	Family: Wedges,
	Why: "autoSync skips an Application whose operation is in progress, and an operation ends by itself only after the timeout, which is " +
		"off by default (controller/appcontroller.go, read in 3.2.11 to 3.5.6).",
	check: func(p *pass) {
		if p.SyncTimeout != nil && p.SyncTimeout.Value != "0" {
			return
		}
		for _, app := range p.roots() {
			waits := false
			for _, item := range app.Items {
				waits = waits || (item.Application != nil || item.Children != nil) && item.Waits && behind(app, item)
			}
			switch {
			case !waits || !app.Automated:
			case p.SyncTimeout == nil:
				p.miss("%s has waves that wait; the sync timeout of Argo CD (argocd-cmd-params-cm) was not found", app.Name)
			default:
				p.find(app, fieldSync, "its waves wait, and a sync that waits has no end (%s)", "controller.sync.timeout.seconds is 0")
			}
		}
	},
}

var ruleArgoGates = Rule{
	Rule: plan.Rule{
		Name: "argocd-gates-root", Kind: plan.Ordering, Severity: plan.Info,
		Means: "Argo CD deploys itself, and later waves wait until it is healthy. If an update breaks it, the sync of the parent waits " +
			"with the old commit and does not deploy the fix; the broken Argo CD may also be unable to render the fix.",
		Cure: "Put the Application of Argo CD into the last wave, so that nothing waits for it.",
	},
	Family: Wedges,
	Why: "A wave is done when all of its objects are healthy, and no other sync of the parent starts before (autoSync in " +
		"controller/appcontroller.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, parent := range p.applications() {
			for _, item := range parent.Items {
				if a := item.Application; a != nil && !a.Itself && item.Waits && behind(parent, item) && deploysArgo(a, p.Root.Namespace) {
					p.find(a, fieldWave, "it deploys Argo CD itself, and the waves of %s behind %s wait until it is healthy",
						parent.Name, item.At())
				}
			}
		}
	},
}

// deploysArgo reports whether an Application deploys the controller of Argo CD in its namespace, by manifests or by the chart.
func deploysArgo(app *plan.Application, namespace string) bool {
	for _, item := range app.Items {
		if item.Group == "apps" && (item.Kind == "StatefulSet" || item.Kind == "Deployment") &&
			strings.HasSuffix(item.Name, "-application-controller") && (item.Namespace == "" || item.Namespace == namespace) &&
			manifest.String(item.Object, "metadata", "labels", argo.PartOfLabel) == argo.PartOf {
			return true
		}
	}
	return app.ArgoCD && app.Destination.Namespace == namespace
}

var ruleTriggerPaths = Rule{
	Rule: plan.Rule{
		Name: "trigger-paths", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "The Application is rendered from more than its directory, and has the annotation " + argo.PathsAnnotation +
			". Argo CD does not render it again for a commit that changes nothing in these paths, such as the empty commits of a trigger " +
			"repository, so it never sees a change.",
		Cure: "Remove the annotation.",
	},
	Family: Wedges,
	Why: "If no file of the paths has changed, the manifests in the cache are taken for the new revision (UpdateRevisionForPaths in " +
		"reposerver/repository/repository.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, app := range p.applications() {
			paths := manifest.String(app.Object, "metadata", "annotations", argo.PathsAnnotation)
			if paths == "" {
				continue
			}
			for _, s := range app.Sources {
				pins := plugin.Pins(s.Spec) // pinned-by-paths says so
				if (s.Kind == source.AppSet || s.Kind == source.S3 || triggerurl.Is(s.Repository)) && !pins {
					p.find(app, fieldPaths, "its source is rendered from more than its directory (%s); a commit outside of %q does not "+
						"reach it",
						s.Kind, paths)
					break
				}
			}
		}
	},
}

var ruleHardRefresh = Rule{
	Rule: plan.Rule{
		Name: "hard-refresh-without-self-heal", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "The Application is made of content that is not in its Git repository. Argo CD sees a change there only at a hard " +
			"refresh, and then shows OutOfSync without syncing: it syncs a commit once unless selfHeal is on.",
		Cure: "Use a trigger repository as source (argosy repo), which has a new commit for each change, or set selfHeal: true.",
	},
	Family: Wedges,
	Why: "Manifests are cached by the revision of the source, and autoSync skips a revision that was synced, unless selfHeal is set " +
		"(controller/appcontroller.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, app := range p.applications() {
			heal, _ := automated(app)["selfHeal"].(bool)
			if !app.Automated || heal {
				continue
			}
			for _, s := range app.Sources {
				if from := elsewhere(s); from != "" && !triggerurl.Is(s.Repository) {
					p.find(app, []string{"spec", "syncPolicy", "automated"}, "it reads %s, and its repository has no commit for a change "+
						"there; without selfHeal a hard refresh deploys nothing", from)
					break
				}
			}
		}
	},
}

// elsewhere names the content outside of Git that a source reads; "" if there is none.
func elsewhere(s plan.Source) string {
	if s.Kind == source.S3 {
		return "a bucket"
	}
	if s.Kind != source.AppSet {
		return ""
	}
	var names []string
	for _, set := range s.Sets {
		spec := set.Object
		if argo.IsApplicationSet(set.Object) {
			spec = manifest.Map(set.Object, "spec")
		}
		names = append(names, outsideGit(spec["generators"])...)
	}
	if len(names) == 0 {
		return ""
	}
	return "the answers to its generators (" + words.Some(names) + ")"
}

// outsideGit are the generators, nested ones included, that read something outside of Git.
func outsideGit(generators any) []string {
	var out []string
	for _, g := range generator.Nodes(generators) {
		if g.Kind == generator.KindClusters || g.Kind.AsksAPI() {
			out = append(out, string(g.Kind))
		}
	}
	return out
}
