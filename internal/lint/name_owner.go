package lint

import (
	"cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

var ruleSetTwice = Rule{
	Rule: plan.Rule{
		Name: "set-has-two-owners", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "Two Applications deploy one ApplicationSet, for example because the directories of a generator hold the set itself " +
			"or another one. They overwrite each other's changes, and if one of them goes, it deletes the set with all of its " +
			"Applications.",
		Cure: "Exclude the directory in the generator (exclude: true), or keep the set in one Application.",
	},
	Family:  Names,
	Why:     "Argo CD reports SharedResourceWarning (controller/state.go, read in 3.2.11).",
	instead: func(f plan.Finding) bool { return f.Rule == plan.RuleSeveralParents || f.Rule == plan.RuleCycle },
	check: func(p *pass) {
		roots := p.rootsOf()
		first := map[object]*plan.Application{}
		for _, app := range p.applications() {
			for _, item := range app.Items {
				if item.Children == nil {
					continue
				}
				id := p.newObject(app, item)
				switch other := first[id]; {
				case other == nil:
					first[id] = app
				case other != app && common(roots[other], roots[app]):
					p.about(item, []string{"metadata", "name"}, "%s and %s both deploy this set", other.Name, app.Name)
				}
			}
		}
	},
}

var ruleSetElsewhere = Rule{
	Rule: plan.Rule{
		Name: "set-in-other-namespace", Kind: plan.Advice, Severity: plan.Warning,
		Means: "The ApplicationSet is in another namespace than Argo CD. The applicationset-controller ignores it unless " +
			"applicationsetcontroller.namespaces lists the namespace.",
		Cure: "Set metadata.namespace to Argo CD's, or list the namespace in applicationsetcontroller.namespaces and " +
			"application.namespaces.",
	},
	Family: Names,
	Why: "The controller watches its own namespace and those of --applicationset-namespaces (cmd/argocd-applicationset-controller, " +
		"read in 3.2.11). A set without a namespace goes to the destination of its parent.",
	instead: func(f plan.Finding) bool { return f.Rule == plan.RuleOtherNamespace },
	check: func(p *pass) {
		names := map[string]int{}
		for _, s := range p.sets() {
			names[s.name]++
		}
		for _, s := range p.sets() {
			if s.item == nil {
				continue
			}
			namespace := cmp.Or(manifest.String(s.Object, "metadata", "namespace"), s.parent.Destination.Namespace)
			if namespace == "" || namespace == p.Namespace {
				continue
			}
			also := ""
			if names[s.name] > 1 {
				also = "; there is another set of this name"
			}
			p.about(s.item, []string{"metadata", "namespace"}, "it is in namespace %s; Argo CD is in %s, and ignores sets elsewhere "+
				"unless applicationsetcontroller.namespaces lists their namespace%s", namespace, p.Namespace, also)
		}
	},
}

var ruleComponent = Rule{
	Rule: plan.Rule{
		Name: "component-deployed", Kind: plan.Advice, Severity: plan.Warning,
		Means: "The directory of the Application is a Kustomize Component: a part that other Kustomizations include. Deployed by " +
			"itself, it creates its objects a second time, or its patches have nothing to change.",
		Cure: "Exclude the directory in the generator (exclude: true), or deploy a Kustomization that includes the Component.",
	},
	Family: Names,
	Why:    "Argo CD runs kustomize build in any directory with a kustomization file, whatever its kind is.",
	check: func(p *pass) {
		for _, app := range p.applications() {
			for _, s := range app.Sources {
				if s.Component {
					p.find(app, []string{"spec", "source", "path"}, "%s is a Component, which other Kustomizations are to include", s.Path)
				}
			}
		}
	},
}

var ruleUnlisted = Rule{
	Rule: plan.Rule{
		Name: "manifest-not-listed", Kind: plan.Advice, Severity: plan.Info,
		Means: "A manifest is beside a Kustomization that does not list it. Argo CD does not deploy it, and prunes it if it did " +
			"before.",
		Cure: "List it in resources of the Kustomization, or remove the file.",
	},
	Family: Names,
	Why:    "In a directory with a kustomization file, only what that file names is deployed.",
	check: func(p *pass) {
		for _, app := range p.applications() {
			for _, s := range app.Sources {
				for _, file := range s.Unlisted {
					p.found = append(p.found, plan.Finding{
						Rule: p.rule.Rule, Subject: app.Name,
						Position: manifest.Position{Repository: s.Git(), File: file, Line: 1, Number: 1},
						Message:  "no Kustomization lists this manifest, so it is not deployed",
					})
				}
			}
		}
	},
}
