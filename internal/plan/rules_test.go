package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/gittree"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// gitOf is a repository of Git generators that has the files at each revision.
type gitOf memory

func (m gitOf) Tree(context.Context, string, string) (generator.Tree, error) {
	files := map[string]string{}
	for name := range m {
		files[name] = ""
	}
	return gittree.New(gittree.Config{Files: files, Read: func(_ context.Context, name string) ([]byte, error) {
		return []byte(m[name]), nil
	}}), nil
}

// nested is a repository with n Applications, each in the directory of the one before.
func nested(n int) memory {
	m := memory{}
	for i := range n {
		m[fmt.Sprintf("n%d/a.yaml", i)] = application(fmt.Sprintf("n%d", i+1), fmt.Sprintf("n%d", i+1), "0")
	}
	m["root/a.yaml"] = application("n0", "n0", "0")
	m[fmt.Sprintf("n%d/a.yaml", n)] = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n"
	return m
}

// TestRules: each rule finds its subject in a small tree, and nothing in one that is almost the same.
func TestRules(t *testing.T) {
	const (
		configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n"
		pin       = "{name: pin, string: 'true'}"
		check     = "resource.customizations.health.argoproj.io_Application"
	)
	child := with(application("child", "child", "0"), "path: child", "path: child, targetRevision: main")
	watched := func(parameters string) memory {
		return memory{
			"root/a.yaml": with(pinning("a", "d", parameters), "{name: a,", "{annotations: {argocd.argoproj.io/manifest-generate-paths: .}, name: a,"),
			"d/a.yaml":    child, "child/a.yaml": configMap,
		}
	}
	pinned := func(child string) memory {
		return memory{"root/a.yaml": pinning("a", "d", pin), "d/a.yaml": child, "child/a.yaml": configMap}
	}
	below := func(grandchild string) memory {
		return memory{
			"root/a.yaml": pinning("a", "d", pin), "d/a.yaml": child, "child/a.yaml": grandchild, "e/a.yaml": configMap,
		}
	}
	far := func(cluster string) memory {
		return memory{
			"root/a.yaml": with(application("a", "a", "0"), "name: in-cluster", cluster), "a/a.yaml": application("b", "b", "0"),
			"b/a.yaml": configMap,
		}
	}
	files := func(pattern string) memory {
		return memory{
			"root/a.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\nspec: {generators: " +
				"[{git: {repoURL: https://x/y, revision: main, files: [{path: '" + pattern + "'}]}}], template: {metadata: {name: '{{a}}'}, " +
				"spec: {project: default, source: {repoURL: https://x/y, path: b}, destination: {name: in-cluster, namespace: argocd}}}}\n",
			"envs/a.yaml": "a: x", "envs/deep/b.yaml": "a: y", "b/a.yaml": configMap,
		}
	}
	one := func(text string) memory {
		return memory{"root/a.yaml": text, "a/a.yaml": configMap}
	}
	needing := func(wave, need string) string {
		return with(application("a", "a", wave), "annotations: {", "annotations: {argosy.dev/depends-on: "+need+", ")
	}
	gated := memory{
		"root/a.yaml": application("a", "a", "0"), "root/b.yaml": application("b", "b", "1"), "a/a.yaml": application("c", "c", "0"),
		"b/a.yaml": configMap, "c/a.yaml": configMap,
	}
	checked := func(script string) func(*Config) {
		return func(cfg *Config) { cfg.Settings = customized(t, map[string]any{check: script}) }
	}
	cm := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata: {KEY: \"return {status = 'Healthy'}\"}\n"
	clusters := func(cfg *Config) {
		cfg.Clusters = generator.ClusterList{{Name: "far", Server: "https://far.example.com"}}
	}
	git := func(cfg *Config) { cfg.Git = gitOf(files("")) }
	excluding := func(cfg *Config) {
		cfg.Settings = customized(t, map[string]any{"resource.exclusions": "[{apiGroups: [''], kinds: [ConfigMap]}]"})
	}
	// tree is what a case is about: the root deploys it, or it is applied with the roots, if there are any.
	type tree struct {
		files memory
		cfg   func(*Config)
		roots string
	}
	for name, c := range map[string]struct {
		rule    Rule
		subject string
		found   tree
		silent  tree
	}{
		"needs one that is not there": {
			RuleNeedsMissing, "a",
			tree{files: one(needing("1", "nobody"))},
			tree{files: memory{
				"root/a.yaml": needing("1", "b"), "root/b.yaml": application("b", "b", "0"), "a/a.yaml": configMap, "b/a.yaml": configMap,
			}},
		},
		"pinned by paths":         {RulePinnedPaths, "a", tree{files: watched(pin)}, tree{files: watched("")}},
		"a child at a branch":     {RuleUpdatesUnordered, "child", tree{files: pinned(with(child, "targetRevision: main", "targetRevision: dev"))}, tree{files: pinned(child)}},
		"a child of another repo": {RuleUpdatesUnordered, "child", tree{files: pinned(with(child, "targetRevision: main", "targetRevision: dev"))}, tree{files: pinned(with(child, "https://x/y", "https://x/z", "main", "dev"))}},
		"the child of a pinned one": {
			RuleUpdatesUnordered, "child",
			tree{files: below(application("e", "e", "0"))},
			tree{files: below(with(application("e", "e", "0"), "https://x/y", "https://x/z"))},
		},
		"a hydrator": {
			RuleHydrated, "a",
			tree{files: one(with(application("a", "a", "0"), "source: {repoURL: https://x/y, path: a}",
				"sourceHydrator: {drySource: {repoURL: https://x/y, path: a, targetRevision: main}, syncSource: {targetBranch: env/a, path: a}}"))},
			tree{files: one(application("a", "a", "0"))},
		},
		"nested too deep": {RuleTooLarge, fmt.Sprintf("n%d", maxDepth), tree{files: nested(maxDepth)}, tree{files: nested(maxDepth - 1)}},
		"Applications of another Argo CD": {
			RuleOtherCluster, "a",
			tree{files: far("name: far"), cfg: clusters},
			tree{files: far("server: https://kubernetes.default.svc"), cfg: clusters},
		},
		"a pattern with a slash in its star": {
			RuleGlobDeeper, "s", tree{files: files("envs/*.yaml"), cfg: git}, tree{files: files("envs/**.yaml"), cfg: git},
		},
		"a field that is not honoured": {
			RuleFieldIgnored, "a",
			tree{files: one(with(application("a", "a", "0"), "path: a", "path: a, directory: {recurse: true, nobody: 1}"))},
			tree{files: one(with(application("a", "a", "0"), "path: a", "path: a, directory: {recurse: true}"))},
		},
		"roots of one name": {
			RuleAlternatives, "a",
			tree{files: one(configMap), roots: application("a", "a", "0") + "---\n" + application("a", "root", "0")},
			tree{files: one(configMap), roots: application("a", "a", "0") + "---\n" + application("a", "a", "0")},
		},
		"excluded": {
			RuleExcluded, "root",
			tree{files: one(configMap), cfg: excluding},
			tree{files: one(with(configMap, "ConfigMap", "Secret")), cfg: excluding},
		},
		"a health check in the tree": {
			RuleHealthCheckDeployed, "root",
			tree{files: one(with(cm, "KEY", check))},
			tree{files: one(with(cm, "KEY", "resource.customizations.health.argoproj.io_ApplicationSet"))},
		},
		"a health check that ignores nested Applications": {
			RuleHealthCheckNested, "root",
			tree{files: gated, cfg: checked("return {status = obj.status.health.status}")},
			tree{files: gated, cfg: checked(health.ApplicationScript)},
		},
		"a last wave with nested Applications": {
			RuleHealthCheckNested, "root",
			tree{files: gated, cfg: checked("return {status = obj.status.health.status}")},
			tree{files: memory{"root/a.yaml": gated["root/a.yaml"], "a/a.yaml": gated["a/a.yaml"], "c/a.yaml": configMap}, cfg: checked("return {status = obj.status.health.status}")},
		},
		"another namespace": {
			RuleOtherNamespace, "a",
			tree{files: one(with(application("a", "a", "0"), "name: a, namespace: argocd", "name: a, namespace: team"))},
			tree{files: one(with(application("a", "a", "0"), "name: in-cluster, namespace: argocd", "name: in-cluster, namespace: team"))},
		},
		"a part of a Kustomization": {
			RuleSourcePartly, "a",
			tree{files: memory{
				"root/a.yaml": application("a", "a", "0"), "a/kustomization.yaml": "resources: [x.yaml, https://example.com/y.yaml]\n", "a/x.yaml": configMap,
			}},
			tree{files: memory{"root/a.yaml": application("a", "a", "0"), "a/kustomization.yaml": "resources: [x.yaml]\n", "a/x.yaml": configMap}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			subjects := func(in tree) (out []string, all []Finding) {
				cfg := config(in.files)
				cfg.ExistsAll = true
				if in.cfg != nil {
					in.cfg(&cfg)
				}
				roots := in.roots
				if roots == "" {
					roots = application("root", "root", "0")
				}
				docs, err := manifest.Decode("root.yaml", []byte(roots))
				if err != nil {
					t.Fatal(err)
				}
				p, err := New(t.Context(), cfg, docs...)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range p.Findings {
					if f.Rule.Name == c.rule.Name {
						out = append(out, f.Subject)
					}
				}
				return out, p.Findings
			}
			if got, all := subjects(c.found); !slices.Equal(got, []string{c.subject}) {
				t.Errorf("%s: got %q, want %q\n%v", c.rule.Name, strings.Join(got, " "), c.subject, all)
			}
			if got, all := subjects(c.silent); len(got) > 0 {
				t.Errorf("%s is not silent: %q\n%v", c.rule.Name, got, all)
			}
		})
	}
}
