package lint

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/strict"
)

var ruleDropsLocal = Rule{
	Rule: plan.Rule{
		Name: "selector-drops-in-cluster", Kind: plan.Advice, Severity: plan.Warning,
		Means: "The selector of the clusters generator reads as if it selected Argo CD's own cluster, too. That cluster has no " +
			"Secret, so it has no labels that a selector sees, and every selector leaves it out.",
		Cure: "Add a Secret for the local cluster (server https://kubernetes.default.svc) with labels, or a generator for it.",
	},
	Family: Templates,
	Why: "Without a Secret, the local cluster is in the list only if the selector is empty (GenerateParams in " +
		"applicationset/generators/cluster.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			for _, g := range s.generators() {
				selector := manifest.Map(g.Spec, "selector")
				if g.Kind != generator.KindClusters || !selectsUnlabelled(selector) {
					continue
				}
				if !p.ClustersKnown {
					p.miss("the clusters of Argo CD are not known; its own may have a Secret (--clusters)")
					continue
				}
				if !slices.ContainsFunc(p.Clusters, func(c generator.Cluster) bool {
					return strings.TrimRight(c.Server, "/") == argo.InClusterServer
				}) {
					p.set(s, g.At("selector"), "Argo CD's own cluster has no Secret, so the selector leaves it out")
				}
			}
		}
	},
}

// selectsUnlabelled reports whether a selector that is not empty would select a cluster without labels.
func selectsUnlabelled(selector map[string]any) bool {
	labels := manifest.Map(selector, "matchLabels")
	expressions, _ := selector["matchExpressions"].([]any)
	if len(labels)+len(expressions) == 0 {
		return false
	}
	for key := range labels {
		if key != argo.SecretTypeLabel { // all Secrets of clusters have it
			return false
		}
	}
	for _, v := range expressions {
		e, _ := v.(map[string]any)
		if op := manifest.String(e, "operator"); op != "NotIn" && op != "DoesNotExist" {
			return false
		}
	}
	return true
}

// selected calls a function for each key of a selector, with its values and its path.
func selected(selector map[string]any, visit func(key string, values []string, path []string)) {
	labels := manifest.Map(selector, "matchLabels")
	for _, key := range manifest.Keys(labels) {
		visit(key, []string{manifest.String(labels, key)}, []string{"matchLabels", key})
	}
	expressions, _ := selector["matchExpressions"].([]any)
	for i, v := range expressions {
		e, _ := v.(map[string]any)
		var values []string
		list, _ := e["values"].([]any)
		for _, v := range list {
			if text, ok := v.(string); ok {
				values = append(values, text)
			}
		}
		visit(manifest.String(e, "key"), values, []string{"matchExpressions", strict.Index(i)})
	}
}

var ruleSelectorNested = Rule{
	Rule: plan.Rule{
		Name: "selector-on-labels", Kind: plan.Advice, Severity: plan.Warning,
		Means: "With Go templates, the selector of a generator does not see labels, annotations and values one by one before Argo " +
			"CD 3.4. It matches nothing, or, if negative, everything.",
		Cure: "Select clusters by the generator's own selector (clusters.selector), or update Argo CD.",
	},
	Family: Templates, Until: versions.SelectorSeesNested.Since,
	Why: "Before 3.4 each of these objects is one parameter, printed as a Go map " +
		"(applicationset/generators/generator_spec_processor.go, read in 3.2.11 and 3.4.12).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			if !s.goTemplate() {
				continue
			}
			for _, g := range s.generators() {
				inside := append([]*generator.Node{g}, g.Inside()...)
				selected(manifest.Map(g.Entry, "selector"), func(key string, _ []string, path []string) {
					nested := slices.ContainsFunc(inside, func(g *generator.Node) bool {
						meta := strings.HasPrefix(key, "metadata.labels.") || strings.HasPrefix(key, "metadata.annotations.")
						return g.Kind == generator.KindClusters && meta || g.Spec["values"] != nil && strings.HasPrefix(key, "values.")
					})
					if nested {
						p.set(s, slices.Concat(g.Path, []string{"selector"}, path), "the selector does not see %s in Argo CD %s", key,
							p.Version)
					}
				})
			}
		}
	},
}

// versionLabel is the label of a cluster's Secret with the version of Kubernetes.
const versionLabel = "argocd.argoproj.io/kubernetes-version"

var (
	majorMinor = regexp.MustCompile(`^\d+\.\d+\+?$`)
	fullMinor  = regexp.MustCompile(`^v\d+\.\d+\.\d+`)
)

// fullVersion is that the label has the whole version: v1.33.4, not 1.33.
var fullVersion = versions.Difference{Since: 3}

var ruleVersionLabel = Rule{
	Rule: plan.Rule{
		Name: "kubernetes-version-form", Kind: plan.Advice, Severity: plan.Warning,
		Means: "The selector compares the label " + versionLabel + " with a version in the wrong form, and selects no " +
			"cluster. The label is 1.33 before Argo CD 3.3, and v1.33.4 since.",
		Cure: "Write the version as this Argo CD does, or select by a label of your own.",
	},
	Family: Templates,
	Why: "docs/operator-manual/upgrading/3.2-3.3.md; before, the label has major and minor version only (GetServerVersion in " +
		"pkg/utils/kube/ctl.go of gitops-engine, read in 3.2.11).",
	check: func(p *pass) {
		form, like := majorMinor, "1.33"
		if p.Version.Has(fullVersion) {
			form, like = fullMinor, "v1.33.4"
		}
		for _, s := range p.sets() {
			for _, g := range s.generators() {
				selected(manifest.Map(g.Spec, "selector"), func(key string, values []string, path []string) {
					for _, v := range values {
						if key == versionLabel && v != "" && !form.MatchString(v) && !strings.Contains(v, "{{") {
							p.set(s, g.At(append([]string{"selector"}, path...)...),
								"%s is not the form that the label has in Argo CD %s: %s", v, p.Version, like)
						}
					}
				})
			}
		}
	},
}

var rulePathTwice = Rule{
	Rule: plan.Rule{
		Name: "path-twice", Kind: plan.Advice, Severity: plan.Warning,
		Means: "Two git generators of a matrix have the parameter path under one name. With Go templates Argo CD silently " +
			"uses that of the first generator; without, it reports an error.",
		Cure: "Set pathParamPrefix on one of them, and use its parameters by that prefix.",
	},
	Family: Templates,
	Why:    "The parameters of both generators become one object (applicationset/generators/matrix.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			for _, g := range s.generators() {
				if g.Kind != generator.KindMatrix || !s.goTemplate() {
					continue
				}
				seen := map[string]bool{}
				for _, c := range g.Inside() {
					if c.Kind != generator.KindGit {
						continue
					}
					prefix := manifest.String(c.Spec, "pathParamPrefix")
					if seen[prefix] && s.usesPath(prefix) {
						p.set(s, c.At(), "another git generator of the matrix has the parameter path, too, and that one wins")
					}
					seen[prefix] = true
				}
			}
		}
	},
}

// usesPath reports whether the template of a set uses the path of a git generator.
func (s set) usesPath(prefix string) bool {
	name, used := strings.TrimPrefix(prefix+".path", "."), false
	texts(map[string]any{"t": s.spec["template"], "p": s.spec["templatePatch"]}, nil, func(_ []string, text string) {
		for _, param := range s.parameters(text) {
			used = used || param == name || strings.HasPrefix(param, name+".") || strings.HasPrefix(param, name+"[")
		}
	})
	return used
}

var ruleNotInterpolated = Rule{
	Rule: plan.Rule{
		Name: "generator-not-interpolated", Kind: plan.Advice, Severity: plan.Warning,
		Means: "A generator has a placeholder that nothing replaces. Only the second generator of a matrix gets parameters, those " +
			"of the first; everywhere else the braces are taken as they are written.",
		Cure: "Use a matrix: first the generator that gives the parameter, then this one.",
	},
	Family:  Templates,
	instead: func(f plan.Finding) bool { return f.Rule == plan.RuleSetEmpty },
	Why: "Parameters go from the first generator of a matrix to the second, and nowhere else (applicationset/generators/matrix.go " +
		"and generator_spec_processor.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			for _, g := range s.generators() {
				if g.Kind.Nests() || gets(g) {
					continue
				}
				texts(withoutOwn(g.Spec), g.At(), func(path []string, text string) {
					if action.MatchString(text) {
						p.set(s, path, "nothing replaces %s in this generator", action.FindString(text))
					}
				})
			}
		}
	},
}

// gets reports whether a generator gets parameters of another.
func gets(g *generator.Node) bool {
	for ; g.Parent != nil; g = g.Parent {
		if g.Parent.Kind == generator.KindMatrix && g.Index == 1 {
			return true
		}
	}
	return false
}

// withoutOwn leaves out what a generator renders with its own parameters, and what is data.
func withoutOwn(spec map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range spec {
		if !slices.Contains([]string{"values", "template", "elements", "elementsYaml", "input"}, k) {
			out[k] = v
		}
	}
	return out
}

// ofValue matches the path of a value of a generator.
var ofValue = regexp.MustCompile(`generators\[\d+\]\.\w+\.values\.`)

// lacks reports whether the error of a value is about a parameter that is not there, with and without missingkey=error.
func lacks(err error) bool {
	var e *template.Error
	return errors.As(err, &e) && (e.Cause == template.Missing || e.Cause == template.NoValue) && ofValue.MatchString(e.Path)
}

var ruleOwnValues = Rule{
	Rule: plan.Rule{
		Name: "values-use-own-parameter", Kind: plan.Advice, Severity: plan.Warning,
		Means: "In a matrix, a value of the second generator uses a parameter of that generator itself. Before Argo CD 3.4.4, " +
			"such values see the parameters of the first generator only, so the parameter has no value.",
		Cure: "Use the parameter itself in the template, or update Argo CD.",
	},
	Family: Templates, Until: versions.ValuesKeptForOwn.Since,
	instead: func(f plan.Finding) bool {
		return f.Rule == plan.RuleSetBroken && lacks(f.Err)
	},
	Why: "Before 3.4.4 the whole second generator is rendered before it runs " +
		"(applicationset/generators/generator_spec_processor.go, read in 3.2.11 and 3.4.12).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			for _, g := range s.generators() {
				if !s.goTemplate() || !gets(g) {
					continue
				}
				texts(g.Spec["values"], g.At("values"), func(path []string, text string) {
					for _, name := range s.parameters(text) {
						top, _, _ := strings.Cut(name, ".")
						if generator.Own(g.Kind, top) {
							p.set(s, path, "in Argo CD %s the value does not see %s of its own generator", p.Version, name)
							return
						}
					}
				})
			}
		}
	},
}
