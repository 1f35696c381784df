package lint

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/strict"
)

var ruleNameChanges = Rule{
	Rule: plan.Rule{
		Name: "name-changes", Kind: plan.Advice, Severity: plan.Warning,
		Means: "The name of the Applications has a parameter that changes while the Application should stay, such as a commit, a " +
			"version or a label of a cluster. With each change the set deletes the Application, with everything that it has " +
			"deployed, and creates another.",
		Cure: "Build the name of parameters that do not change: a directory, the name of a cluster, the number of a pull request.",
	},
	Family: Loss,
	Why: "The controller deletes each Application of the set whose name is not among those that the generators give now " +
		"(deleteInCluster in applicationset/controllers/applicationset_controller.go, read in 3.2.11). The Applications have the " +
		"resources finalizer unless preserveResourcesOnDeletion is set.",
	check: func(p *pass) {
		for _, s := range p.sets() {
			if !s.deletes() {
				continue
			}
			for _, name := range s.parameters(manifest.String(s.spec, "template", "metadata", "name")) {
				if why := s.changes(name); why != "" {
					p.set(s, []string{"template", "metadata", "name"}, "the name has the parameter %s, %s: a change of it deletes the "+
						"Application and what it has deployed", name, why)
					break
				}
			}
		}
	},
}

// changes describes a parameter whose value changes over time, "" for any other parameter.
func (s set) changes(name string) string {
	last := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	switch {
	case s.has(generator.KindPullRequest, generator.KindSCMProvider) != nil && slices.Contains([]string{
		"head_sha", "head_short_sha", "head_short_sha_7", "sha", "short_sha", "short_sha_7",
	}, name):
		return "a commit"
	case s.has(generator.KindClusters) != nil &&
		(strings.HasPrefix(name, "metadata.labels") || strings.HasPrefix(name, "metadata.annotations")):
		return "a label or annotation of a cluster"
	case s.has(generator.KindPullRequest, generator.KindSCMProvider) == nil && slices.Contains([]string{
		"version", "chartversion", "revision", "targetrevision", "tag", "chart_version", "target_revision",
	}, last) && slices.Contains(s.revisions(), name):
		return "the target revision"
	}
	return ""
}

// revisions are the parameters in the target revisions of a set.
func (s set) revisions() []string {
	var out []string
	for _, source := range argo.Sources(manifest.Map(s.spec, "template")) {
		out = append(out, s.parameters(manifest.String(source, "targetRevision"))...)
	}
	return out
}

var ruleShrinks = Rule{
	Rule: plan.Rule{
		Name: "generator-can-shrink", Kind: plan.Advice, Severity: plan.Warning,
		Means: "The Applications come from an API that can return fewer results without an error, for example because a token has " +
			"lost the right to see a repository. The set then deletes the Applications that are missing from the answer, with everything " +
			"that they have deployed.",
		Cure: "Set syncPolicy.applicationsSync: create-update on the set, or syncPolicy.preserveResourcesOnDeletion: true.",
	},
	Family: Loss,
	Why: "An error of a generator deletes nothing. The controller takes an answer without an error for complete, and deletes " +
		"the Applications that are not in it (Reconcile and deleteInCluster in " +
		"applicationset/controllers/applicationset_controller.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			g := s.has(generator.KindSCMProvider, generator.KindPlugin, generator.KindDecision)
			if g == nil || s.item == nil || !s.deletes() || !p.SetPolicy.Deletes() {
				continue
			}
			p.set(s, g.At(), "if the API of the generator %s returns fewer results, the set deletes Applications and what they "+
				"have deployed", g.Kind)
		}
	},
}

// preserveField keeps what the Applications of a set have deployed.
const preserveField = "preserveResourcesOnDeletion"

var rulePreserve = Rule{
	Rule: plan.Rule{
		Name: "preserve-without-effect", Kind: plan.Advice, Severity: plan.Warning,
		Means: "preserveResourcesOnDeletion has no effect here. If the Application is deleted, so is everything that it has " +
			"deployed.",
		Cure: "Write it in spec.syncPolicy of the ApplicationSet, and leave the resources finalizer out of the template. An " +
			"Application without a set keeps its objects if it has no resources finalizer.",
	},
	Family: Loss,
	Why: "It is a field of the set. With it, the controller adds no finalizer, but it does not remove one that the template " +
		"has (RenderTemplateParams in applicationset/utils/utils.go, read in 3.2.11).",
	check: func(p *pass) {
		misplaced := []string{"spec", "syncPolicy", preserveField}
		generated := p.generated()
		for _, app := range p.applications() {
			if manifest.Map(app.Object, "spec", "syncPolicy")[preserveField] != nil && !generated[app] {
				p.find(app, misplaced, "an Application has no field %s, so its deletion also deletes what it has deployed", preserveField)
			}
		}
		for _, s := range p.sets() {
			template := manifest.Map(s.spec, "template")
			if manifest.Map(template, "spec", "syncPolicy")[preserveField] != nil {
				p.set(s, append([]string{"template"}, misplaced...),
					"an Application has no field %s; it belongs to spec.syncPolicy of the set", preserveField)
			}
			list, _ := manifest.Map(template, "metadata")["finalizers"].([]any)
			for i, v := range list {
				if s.preserves() && argo.IsResourcesFinalizer(v) {
					p.set(s, []string{"template", "metadata", "finalizers", strict.Index(i)},
						"the template has the finalizer that %s is to leave out, so a deletion also deletes what was deployed",
						preserveField)
				}
			}
		}
	},
}

var ruleFinalizerAdded = Rule{
	Rule: plan.Rule{
		Name: "finalizer-added", Kind: plan.Advice, Severity: plan.Warning,
		Means: "The template has an empty list of finalizers. The controller adds the resources finalizer nevertheless, so the " +
			"deletion of an Application also deletes what it has deployed.",
		Cure: "Set syncPolicy.preserveResourcesOnDeletion: true on the set if the objects are to stay, or remove the list.",
	},
	Family: Loss,
	Why:    "An empty list counts as none (RenderTemplateParams in applicationset/utils/utils.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			list, written := manifest.Map(s.spec, "template", "metadata")["finalizers"].([]any)
			if written && len(list) == 0 && !s.preserves() {
				p.set(s, []string{"template", "metadata", "finalizers"},
					"the list is empty, and the controller adds %s", argo.ResourcesFinalizer)
			}
		}
	},
}
