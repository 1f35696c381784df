package lint

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

var ruleMissingKey = Rule{
	Rule: plan.Rule{
		Name: "missingkey-not-error", Kind: plan.Advice, Severity: plan.Info,
		Means: "A parameter that does not exist becomes the text <no value> in a Go template, and the Application gets a wrong name, " +
			"path or value.",
		Cure: "Set goTemplateOptions: [missingkey=error].",
	},
	Family: Templates,
	Why: "Argo CD's docs recommend the option; it is not the default, so that old sets go on working " +
		"(docs/operator-manual/applicationset/GoTemplate.md, read in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			options, _ := s.spec["goTemplateOptions"].([]any)
			if s.goTemplate() && !slices.Contains(options, any("missingkey=error")) {
				p.set(s, []string{"goTemplate"}, "a parameter that does not exist becomes <no value>")
			}
		}
	},
}

var ruleTemplatedProject = Rule{
	Rule: plan.Rule{
		Name: "templated-project", Kind: plan.Advice, Severity: plan.Warning,
		Means: "The project of the Applications comes from a repository. " +
			"Whoever may push there, or open a pull request, chooses the project, and with it what may be deployed where.",
		Cure: "Write the project into the template.",
	},
	Family: Templates,
	Why: "The set creates Applications in any project; Argo CD's docs ask that only administrators control the source of a templated " +
		"project " +
		"(docs/operator-manual/applicationset/Generators-Git.md, read in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			project := manifest.String(s.spec, "template", "spec", "project")
			if g := outside(s.spec["generators"]); g != "" && strings.Contains(project, "{{") {
				p.set(s, []string{"template", "spec", "project"},
					"the project comes from a parameter, and the generator %s takes parameters from repositories", g)
			}
		}
	},
}

// outside is the first generator, nested ones included, whose parameters are from repositories; "" is none.
func outside(generators any) generator.Kind {
	for _, g := range generator.Nodes(generators) {
		if g.Kind.FromRepositories() {
			return g.Kind
		}
	}
	return ""
}
