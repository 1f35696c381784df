package lint

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
)

var ruleFastTemplate = Rule{
	Rule: plan.Rule{
		Name: "fasttemplate", Kind: plan.Advice, Severity: plan.Info,
		Means: "The set has no goTemplate, so its templates are of the older kind, which replaces names only. Argo CD's docs " +
			"announce that it will be deprecated.",
		Cure: "Set goTemplate: true and goTemplateOptions: [missingkey=error], and put a dot before the parameters: {{.name}}.",
	},
	Family: Templates,
	Off:    true, // this has been so for years, without harm
	Why:    "docs/operator-manual/applicationset/Template.md, read in 3.2.11 to 3.5.6.",
	check: func(p *pass) {
		for _, s := range p.sets() {
			if s.goTemplate() || s.item != nil && s.item.Broken || slices.ContainsFunc(p.Findings, func(f plan.Finding) bool {
				return f.Rule == plan.RulePlaceholderLeft && f.Position == s.Position
			}) {
				continue // another rule says goTemplate, too
			}
			used := false
			texts(s.spec["template"], nil, func(_ []string, text string) { used = used || action.MatchString(text) })
			if used {
				p.set(s, []string{"template"}, "its templates are of the older kind, without goTemplate")
			}
		}
	},
}

var rulePatchMode = Rule{
	Rule: plan.Rule{
		Name: "patch-without-go-template", Kind: plan.Advice, Severity: plan.Warning,
		Means: "The set has a templatePatch and no goTemplate. Conditions, loops and functions in the patch stay as they are " +
			"written, so it is no YAML, or patches the wrong thing.",
		Cure: "Set goTemplate: true, and write the parameters of the set with a dot: {{.name}}.",
	},
	Family: Templates,
	Why: "Argo CD supports templatePatch with goTemplate only (docs/operator-manual/applicationset/Template.md, read in 3.2.11). " +
		"Without, it replaces {{name}} and nothing else (Replace in applicationset/utils/utils.go).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			if text, _ := s.spec["templatePatch"].(string); !s.goTemplate() && strings.TrimSpace(text) != "" {
				p.set(s, []string{"templatePatch"}, "templatePatch needs goTemplate: true")
			}
		}
	},
}

// word matches the name of a function: no field, variable or text.
var word = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|[.$]?\\w+")

var ruleUnstable = Rule{
	Rule: plan.Rule{
		Name: "function-not-stable", Kind: plan.Broken, Severity: plan.Error,
		Means: "A template calls a function that answers differently each time. The set changes its Applications with each " +
			"reconciliation, and deletes and recreates them if their name comes from the function. The plugin appset refuses such a set.",
		Cure: "Take the value from a parameter.",
	},
	Family: Templates,
	Why: "The controller renders all templates again with each reconciliation (applicationset/controllers/template/template.go, " +
		"read in 3.2.11).",
	instead: func(f plan.Finding) bool {
		var e *template.Error
		return f.Rule == plan.RuleSetBroken && errors.As(f.Err, &e) && e.Cause == template.Different
	},
	check: func(p *pass) {
		for _, s := range p.sets() {
			if !s.goTemplate() {
				continue
			}
			seen := map[string]bool{}
			texts(s.spec, nil, func(path []string, text string) {
				for _, a := range action.FindAllStringSubmatch(text, -1) {
					for _, name := range word.FindAllString(a[1], -1) {
						if slices.Contains(template.Unstable(), name) && !seen[name] {
							seen[name] = true
							p.set(s, path, "the function %s answers differently each time, so the Applications never stay the same",
								name)
						}
					}
				}
			})
		}
	},
}

var ruleNotEscaped = Rule{
	Rule: plan.Rule{
		Name: "set-not-escaped", Kind: plan.Broken, Severity: plan.Error,
		Means: "The ApplicationSet is in a Helm chart, and Helm has replaced the placeholders that were meant for the set. Its " +
			"Applications have no name, or all have the same.",
		Cure: "Escape them for Helm: {{ `{{.name}}` }}.",
	},
	Family: Templates,
	Why:    "Helm executes all of {{ }} in a chart's templates; a value that does not exist becomes an empty text.",
	instead: func(f plan.Finding) bool {
		return f.Rule == plan.RuleSetBroken
	},
	check: func(p *pass) {
		for _, s := range p.sets() {
			if s.item == nil || !s.item.Broken || !slices.ContainsFunc(s.parent.Sources, func(o plan.Source) bool {
				return o.Kind == source.Helm
			}) {
				continue
			}
			used := false
			texts(map[string]any{"t": s.spec["template"], "p": s.spec["templatePatch"]}, nil,
				func(_ []string, text string) { used = used || strings.Contains(text, "{{") })
			if !used && len(s.generators()) > 0 {
				p.set(s, []string{"template", "metadata", "name"},
					"the template has no placeholders, and the name of its Applications is %q",
					manifest.String(s.spec, "template", "metadata", "name"))
			}
		}
	},
}
