package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

// fixed lints findings, and returns the fixes.
func fixed(texts files, findings ...plan.Finding) []Fix {
	return New(planned(findings...), Options{Files: texts.read}).Fixes()
}

// TestFixes: a finding with an obvious cure is cured where it is written; what somebody has chosen, or a template has, stays.
func TestFixes(t *testing.T) {
	retry := []string{"spec", "syncPolicy", "retry", "limit"}
	option := []string{"spec", "syncPolicy", "syncOptions", "[0]"}
	automated := []string{"spec", "syncPolicy", "automated"}
	finalizers := []string{"metadata", "finalizers"}
	for name, c := range map[string]struct {
		rule          Rule
		field         []string
		meant         string
		before, after string
	}{
		"retry":                  {ruleRetryForEver, retry, "", "spec: {syncPolicy: {retry: {limit: -1}}}\n", "spec: {syncPolicy: {retry: {limit: 5}}}\n"},
		"retry of a template":    {ruleRetryForEver, retry, "", "spec: {template: {spec: {syncPolicy: {retry: {limit: -1}}}}}\n", "spec: {template: {spec: {syncPolicy: {retry: {limit: 5}}}}}\n"},
		"retry from a parameter": {ruleRetryForEver, retry, "", "spec: {template: {spec: {syncPolicy: {retry: {limit: '{{.limit}}'}}}}}\n", ""},
		"retry not written":      {ruleRetryForEver, retry, "", "spec: {syncPolicy: {retry: {}}}\n", ""},
		"retry by an alias":      {ruleRetryForEver, retry, "", "x: &x {limit: -1}\nspec: {syncPolicy: {retry: *x}}\n", ""},
		"option":                 {ruleSyncOption, option, "CreateNamespace", "spec: {syncPolicy: {syncOptions: [createnamespace=TRUE]}}\n", "spec: {syncPolicy: {syncOptions: [CreateNamespace=true]}}\n"},
		"option, its value":      {ruleSyncOption, option, "", "spec: {syncPolicy: {syncOptions: [CreateNamespace=True]}}\n", "spec: {syncPolicy: {syncOptions: [CreateNamespace=true]}}\n"},
		"option without a value": {ruleSyncOption, option, "CreateNamespace", "spec: {syncPolicy: {syncOptions: [createNamespace]}}\n", ""},
		"option, patched":        {ruleSyncOption, option, "ServerSideApply", "spec: {syncPolicy: {syncOptions: [CreateNamespace=true]}}\n", ""},
		"option of nobody":       {ruleSyncOption, option, "", "spec: {syncPolicy: {syncOptions: [Nonsense=true]}}\n", ""},
		"field":                  {ruleFieldUnknown, []string{"spec", "projekt"}, "project", "spec:\n  projekt: x # y\n", "spec:\n  project: x # y\n"},
		"field elsewhere":        {ruleFieldUnknown, []string{"spec", "prune"}, "", "spec: {prune: true}\n", ""},
		"field that is there":    {ruleFieldUnknown, []string{"spec", "projekt"}, "project", "spec: {projekt: x, project: y}\n", ""},
		"field of nobody":        {ruleFieldUnknown, []string{"spec", "x"}, "", "spec: {x: 1}\n", ""},
		"keys":                   {ruleMissingKey, []string{"spec", "goTemplate"}, "", "spec:\n  goTemplate: true\n  generators: []\n", "spec:\n  goTemplate: true\n  goTemplateOptions: [missingkey=error]\n  generators: []\n"},
		"keys of the plugin":     {ruleMissingKey, []string{"goTemplate"}, "", "goTemplate: true\ngenerators: []\n", "goTemplate: true\ngoTemplateOptions: [missingkey=error]\ngenerators: []\n"},
		"keys, chosen":           {ruleMissingKey, []string{"spec", "goTemplate"}, "", "spec: {goTemplate: true, goTemplateOptions: [missingkey=zero]}\n", ""},
		"empty":                  {ruleAllowEmpty, append(automated, "allowEmpty"), "", "spec:\n  syncPolicy:\n    automated:\n      allowEmpty: true\n      prune: true\n", "spec:\n  syncPolicy:\n    automated:\n      prune: true\n"},
		"empty, alone":           {ruleAllowEmpty, append(automated, "allowEmpty"), "", "spec: {syncPolicy: {automated: {allowEmpty: true}}}\n", ""},
		"heal":                   {ruleNoSelfHeal, automated, "", "spec:\n  syncPolicy:\n    automated:\n      # so that it goes\n      prune: true # yes\n", "spec:\n  syncPolicy:\n    automated:\n      # so that it goes\n      prune: true # yes\n      selfHeal: true\n"},
		"heal, empty":            {ruleNoSelfHeal, automated, "", "spec: {syncPolicy: {automated: {}}}\n", "spec: {syncPolicy: {automated: {selfHeal: true}}}\n"},
		"heal, chosen":           {ruleNoSelfHeal, automated, "", "spec: {syncPolicy: {automated: {selfHeal: false}}}\n", ""},
		"finalizer":              {ruleFinalizerUnknown, finalizers, argo.ResourcesFinalizer, "metadata: {finalizers: [a, Resource-finalizer.argocd.argoproj.io]}\n", "metadata: {finalizers: [a, resources-finalizer.argocd.argoproj.io]}\n"},
		"finalizer, background":  {ruleFinalizerUnknown, finalizers, argo.ResourcesFinalizer + "/background", "metadata:\n  finalizers:\n  - 'resources-finalizer.argocd.argoproj.io.background' # x\n", "metadata:\n  finalizers:\n  - 'resources-finalizer.argocd.argoproj.io/background' # x\n"},
		"finalizer of nobody":    {ruleFinalizerUnknown, finalizers, "", "metadata: {finalizers: [foo.argocd.argoproj.io]}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := fixed(files{"f": c.before}, plan.Finding{Rule: c.rule.Rule, Subject: "x", Position: at("f", 1, ""), Field: c.field, Meant: c.meant})
			after := ""
			if len(got) > 0 && len(got[0].Fixed) > 0 {
				after = string(got[0].After)
			}
			if diff := cmp.Diff(c.after, after); diff != "" {
				t.Errorf("(-want +got):\n%s\n%+v", diff, got)
			}
		})
	}
}

// TestFixesTogether: findings of one file are cured together, one change that two findings need is made once, and a finding that cannot be
// cured says why.
func TestFixesTogether(t *testing.T) {
	limit := []string{"spec", "syncPolicy", "retry", "limit"}
	find := func(subject string, at manifest.Position, message string) plan.Finding {
		return plan.Finding{Rule: ruleRetryForEver.Rule, Subject: subject, Position: at, Field: limit, Message: message}
	}
	one := "spec: {syncPolicy: {retry: {limit: -1}}}\n"
	texts := files{"f": one + "---\n" + one + "---\nx: &x -1\nspec: {syncPolicy: {retry: {limit: *x}}}\n", "g": one}
	got := fixed(texts, find("a", at("f", 1, ""), "m"), find("b", at("f", 1, ""), "other"), find("c", at("f", 2, ""), "m"),
		find("d", at("f", 3, ""), "m"), find("e", at("g", 1, ""), "m"), find("f", at("gone", 1, ""), "m"))
	var lines []string
	for _, f := range got {
		for _, one := range f.Fixed {
			lines = append(lines, fmt.Sprintf("%s: %s", f.File, one.Subject()))
		}
		for _, one := range f.Left {
			lines = append(lines, fmt.Sprintf("%s: not %s: %s", f.File, one.Subject(), one.Reason))
		}
		lines = append(lines, fmt.Sprintf("%d now 5", strings.Count(string(f.After), "limit: 5")))
	}
	want := []string{
		"disk/f: a", "disk/f: c",
		"disk/f: not d: the place is an alias, has an anchor or a tag, or is written on several lines", "2 now 5", "disk/g: e", "1 now 5",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
