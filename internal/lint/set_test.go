package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

// newSet reads the spec of a set.
func newSet(t *testing.T, text string) set {
	t.Helper()
	var spec map[string]any
	if err := manifest.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return set{name: "apps", spec: spec}
}

func TestParameters(t *testing.T) {
	for _, c := range []struct {
		mode, text string
		want       []string
	}{
		{"goTemplate: true", `{{.name}}-{{ .path.basename | lower }}`, []string{"name", "path.basename"}},
		{"goTemplate: true", `{{- index .metadata.labels "env" -}}`, []string{"metadata.labels.env"}},
		{"goTemplate: true", `{{if eq .a "x.b"}}{{$.b}}{{end}}{{printf "%s" (.c)}}`, []string{"a", "b", "c"}},
		{"goTemplate: true", `{{now}} .x`, nil},
		{"{}", `{{ path.basename }}{{.x}}`, []string{"path.basename", ".x"}},
	} {
		if diff := cmp.Diff(c.want, newSet(t, c.mode).parameters(c.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
}

// TestGenerators: nested generators are found, with their paths, and which of them get the parameters of another.
func TestGenerators(t *testing.T) {
	s := newSet(t, `
generators:
  - list: {}
    selector: {}
  - matrix:
      generators:
        - git: {}
        - merge:
            generators: [{clusters: {}}, {plugin: {}}]
  - unknown: {}
`)
	var got []string
	for _, g := range s.generators() {
		text := fieldPath(g.At())
		if gets(g) {
			text += " gets"
		}
		got = append(got, text)
	}
	want := []string{
		"generators[0].list", "generators[1].matrix", "generators[1].matrix.generators[0].git",
		"generators[1].matrix.generators[1].merge gets", "generators[1].matrix.generators[1].merge.generators[0].clusters gets",
		"generators[1].matrix.generators[1].merge.generators[1].plugin gets",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNameChanges: which parameters in a name change while the Application stays.
func TestNameChanges(t *testing.T) {
	const revision = "template: {spec: {source: {targetRevision: '{{.version}}{{.branch}}'}}}\n"
	for _, c := range []struct {
		spec, name string
		want       bool
	}{
		{"generators: [{pullRequest: {}}]", "head_short_sha", true},
		{"generators: [{pullRequest: {}}]", "number", false},
		{"generators: [{list: {}}]", "sha", false},
		{"generators: [{matrix: {generators: [{git: {}}, {clusters: {}}]}}]", "metadata.labels.env", true},
		{"generators: [{clusters: {}}]", "name", false},
		{"generators: [{list: {}}]\n" + revision, "version", true},
		{"generators: [{list: {}}]\n" + revision, "branch", false},
		{"generators: [{list: {}}]", "version", false},
		{"generators: [{scmProvider: {}}]\n" + revision, "version", false},
	} {
		s := newSet(t, "goTemplate: true\n"+c.spec)
		if got := s.changes(c.name) != ""; got != c.want {
			t.Errorf("%s in %s: %v", c.name, c.spec, got)
		}
	}
}

// TestDeletes: what guards the Applications of a set against being deleted.
func TestDeletes(t *testing.T) {
	for policy, want := range map[string]bool{
		"{}": true, "{applicationsSync: sync}": true, "{applicationsSync: create-delete}": true, "{applicationsSync: create-only}": false,
		"{applicationsSync: create-update}": false, "{preserveResourcesOnDeletion: true}": false, "{preserveResourcesOnDeletion: false}": true,
	} {
		if got := newSet(t, "syncPolicy: "+policy).deletes(); got != want {
			t.Errorf("%s: %v", policy, got)
		}
	}
}

// TestSelectsUnlabelled: which selectors read as if they selected a cluster without labels.
func TestSelectsUnlabelled(t *testing.T) {
	for text, want := range map[string]bool{
		"{}": false, "{matchLabels: {}}": false, "{matchLabels: {argocd.argoproj.io/secret-type: cluster}}": true,
		"{matchLabels: {env: prod}}":                                                         false,
		"{matchExpressions: [{key: env, operator: NotIn, values: [a]}]}":                     true,
		"{matchExpressions: [{key: env, operator: DoesNotExist}]}":                           true,
		"{matchExpressions: [{key: env, operator: Exists}]}":                                 false,
		"{matchLabels: {a: b}, matchExpressions: [{key: env, operator: DoesNotExist}]}":      false,
		"{matchExpressions: [{key: a, operator: DoesNotExist}, {key: b, operator: Exists}]}": false,
	} {
		if got := selectsUnlabelled(newSet(t, text).spec); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestOwnValues: a value of the second generator uses a parameter that this generator gives.
func TestOwnValues(t *testing.T) {
	for _, c := range []struct{ generator, value, want string }{
		{"scmProvider", "{{.short_sha_7}}", "short_sha_7"},
		{"scmProvider", "{{.repository_id}}", "repository_id"},
		{"scmProvider", "{{.branchNormalized}}", "branchNormalized"},
		{"pullRequest", "{{.head_short_sha_7}}", "head_short_sha_7"},
		{"pullRequest", "{{.target_branch_slug}}", "target_branch_slug"},
		{"clusters", "{{.metadata.labels.env}}", "metadata.labels.env"},
		{"git", "{{.path.basename}}", "path.basename"},
		{"git", "{{.name}}", ""},
		{"pullRequest", "{{.short_sha}}", ""},
	} {
		spec := newSet(t, "goTemplate: true\ngenerators: [{matrix: {generators: [{list: {}}, {"+c.generator+": {values: {x: '"+c.value+"'}}}]}}]").spec
		p := &pass{Plan: planned(), rule: ruleOwnValues}
		p.Version = versions.Oldest
		p.Root.Items = []*plan.Item{{
			Name: "apps", Children: []*plan.Application{}, Object: manifest.Object{"apiVersion": argo.APIVersion, "kind": argo.KindApplicationSet, "spec": spec},
		}}
		ruleOwnValues.check(p)
		got := ""
		for _, f := range p.found {
			got += strings.TrimSuffix(strings.TrimPrefix(f.Message, "in Argo CD 3.2 the value does not see "), " of its own generator")
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.generator, c.value, got, c.want)
		}
	}
}
