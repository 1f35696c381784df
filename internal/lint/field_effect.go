package lint

import (
	"path"
	"regexp"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/strict"
	"github.com/argosy-cd/argosy/internal/words"
)

var ruleRefPath = Rule{
	Rule: plan.Rule{
		Name: "ref-with-path", Kind: plan.Advice, Severity: plan.Info,
		Means: "A source with a ref has a path, too. Argo CD also renders and deploys what is in the path. $ref in value files is " +
			"the top of the repository, whatever the path is.",
		Cure: "Remove the path, if the source is there for its value files only.",
	},
	Family: Fields,
	Why:    "docs/user-guide/multiple_sources.md, read in 3.2.11.",
	check: func(p *pass) {
		for _, app := range p.applications() {
			for i, s := range app.Sources {
				ref := manifest.String(s.Spec, "ref")
				if ref == "" || s.Path == "" {
					continue
				}
				for _, other := range app.Sources {
					files, _ := manifest.Map(other.Spec, "helm")["valueFiles"].([]any)
					for _, v := range files {
						if text, _ := v.(string); strings.HasPrefix(text, "$"+ref+"/") {
							p.find(app, []string{"spec", "sources", strict.Index(i), "path"},
								"the source %s is there for value files, and Argo CD deploys what is in %s, too", ref, s.Path)
						}
					}
				}
			}
		}
	},
}

var rulePolicyIgnored = Rule{
	Rule: plan.Rule{
		Name: "policy-ignored", Kind: plan.Advice, Severity: plan.Warning,
		Means: "The applicationset-controller has a policy of its own (applicationsetcontroller.policy), and ignores " +
			"applicationsSync of sets.",
		Cure: "Remove applicationsSync, or set applicationsetcontroller.enable.policy.override: \"true\" in argocd-cmd-params-cm.",
	},
	Family: Fields,
	Why: "With --policy, sets decide only if --enable-policy-override is set (DefaultPolicy in applicationset/utils/policy.go, read " +
		"in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			policy := argo.ApplicationsSyncOf(s.spec)
			if s.item != nil && p.SetPolicy != "" && policy != "" && policy != p.SetPolicy {
				p.set(s, []string{"syncPolicy", "applicationsSync"}, "the controller's policy is %s, and %s has no effect",
					p.SetPolicy, policy)
			}
		}
	},
}

// inList matches a path into an item of a list: a JSON pointer or an expression of jq.
var inList = regexp.MustCompile(`/\d+(/|$)|\[`)

var ruleIgnoreInList = Rule{
	Rule: plan.Rule{
		Name: "ignored-difference-in-list", Kind: plan.Advice, Severity: plan.Warning,
		Means: "ignoreApplicationDifferences names a field in a list, such as one of sources. As soon as anything else in the list " +
			"differs, the controller replaces the whole list, and the difference is lost.",
		Cure: "Ignore the whole list, or use one source.",
	},
	Family: Fields,
	Why: "The controller writes a merge patch, which replaces lists (docs/operator-manual/applicationset/Controlling-Resource-" +
		"Modification.md, read in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			list, _ := s.spec["ignoreApplicationDifferences"].([]any)
			for i, v := range list {
				m, _ := v.(map[string]any)
				for _, field := range []string{"jsonPointers", "jqPathExpressions"} {
					paths, _ := m[field].([]any)
					for j, v := range paths {
						if text, _ := v.(string); inList.MatchString(text) && s.item != nil {
							p.set(s, []string{"ignoreApplicationDifferences", strict.Index(i), field, strict.Index(j)},
								"%s is in a list, and any other difference in the list replaces the whole list", text)
						}
					}
				}
			}
		}
	},
}

var rulePathsMiss = Rule{
	Rule: plan.Rule{
		Name: "paths-miss-file", Kind: plan.Advice, Severity: plan.Warning,
		Means: "The Application is made of a file that " + argo.PathsAnnotation + " does not name. A commit that changes only such " +
			"files is not deployed as long as the manifests of the previous commit are cached.",
		Cure: "Name the directories of all files in the annotation, from the top of the repository (/base) or relative to the path " +
			"of the source (../base), with semicolons between them.",
	},
	Family: Fields,
	Why: "For a commit that changes no file under these paths, Argo CD takes the manifests of the previous commit " +
		"(AppFilesHaveChanged in util/app/path/path.go, UpdateRevisionForPaths in reposerver/repository/repository.go, read in " +
		"3.2.11).",
	check: func(p *pass) {
		for _, app := range p.applications() {
			text := manifest.String(app.Object, "metadata", "annotations", argo.PathsAnnotation)
			if text == "" || manifest.Map(app.Object, "spec", "sourceHydrator") != nil {
				continue
			}
			var missed []string
			all := 0
			for _, s := range app.Sources {
				if s.Chart != "" || s.Kind != source.Kustomize && s.Kind != source.Helm && s.Kind != source.Directory {
					continue
				}
				for _, in := range s.Inputs {
					all++
					if in.Ref == "" && !refreshes(text, s.Path, in.Path) {
						missed = append(missed, in.Path)
					}
				}
			}
			switch {
			case len(missed) == 0:
			case len(missed) == all:
				p.find(app, fieldPaths, "none of its files is under these paths, which are relative to the path of the source unless they "+
					"begin with a slash: a commit is not deployed while manifests are cached")
			default:
				p.find(app, fieldPaths, "a change of these files alone is not deployed: %s", words.Some(missed))
			}
		}
	},
}

// refreshes reports whether a file is under the paths of the annotation.
func refreshes(paths, dir, file string) bool {
	file = path.Join("/", file)
	for item := range strings.SplitSeq(paths, ";") {
		if item == "" {
			continue
		}
		if path.IsAbs(item) {
			item = item[1:]
		} else {
			item = path.Join(dir, item)
		}
		item = path.Join("/", item)
		if match, err := path.Match(item, file); file == item || item == "/" || strings.HasPrefix(file, item+"/") || err == nil && match {
			return true
		}
	}
	return false
}
