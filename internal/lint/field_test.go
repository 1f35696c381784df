package lint

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/plan"
)

// TestUnknownFields: fields that a version does not have, each with what was probably meant.
func TestUnknownFields(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		version    versions.Version
		want       []string
	}{
		{"Application", "{metadata: {name: a, finalizer: [x]}}", 0, []string{"metadata.finalizer; did you mean finalizers?"}},
		{"Application", "{spec: {sources: [{repoURL: a}, {repositoryURL: b}]}}", 0, []string{"spec.sources[1].repositoryURL"}},
		{"Application", "{spec: {prune: true}}", 0, []string{"spec.prune; it belongs to spec.syncPolicy.automated"}},
		{"Application", "{spec: {source: {helm: {valuesObject: {any: thing}}}}, status: {any: thing}}", 0, nil},
		{"Application", "{spec: {source: {tagPrefix: v}}}", 4, []string{"spec.source.tagPrefix; Argo CD has it since 3.5"}},
		{"Application", "{spec: {source: {tagPrefix: v}}}", 5, nil},
		{"Application", "{spec: {sourceHydrator: {drySource: {helm: {}}}}}", 2, []string{"spec.sourceHydrator.drySource.helm; Argo CD has it since 3.3"}},
		{
			"ApplicationSet", "{spec: {generators: [{list: {elements: [{any: thing}], element: []}}]}}", 0,
			[]string{"spec.generators[0].list.element; did you mean elements?"},
		},
		{"ApplicationSet", "{spec: {template: {metadata: {ownerReferences: []}}}}", 0, []string{"spec.template.metadata.ownerReferences"}},
		{"ApplicationSet", "{spec: {gotemplate: true}}", 0, []string{"spec.gotemplate; did you mean goTemplate?"}},
		{
			"AppProject", "{spec: {syncWindows: [{syncOverrun: true}], roles: [{policy: []}]}}", 4,
			[]string{"spec.roles[0].policy", "spec.syncWindows[0].syncOverrun; Argo CD has it since 3.5"},
		},
	} {
		p := &pass{Plan: &plan.Plan{Version: c.version}}
		var got []string
		for _, u := range p.unknownFields(c.kind, newSet(t, c.text).spec) {
			got = append(got, u.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.kind, c.text, diff)
		}
	}
}

// TestRefreshes: the paths of manifest-generate-paths, as Argo CD compares them.
func TestRefreshes(t *testing.T) {
	for _, c := range []struct {
		paths, dir, file string
		want             bool
	}{
		{".", "web", "web/a/b.yaml", true},
		{".", "web", "website/a.yaml", false},
		{".;../base", "apps/web", "apps/base/a.yaml", true},
		{"/base", "apps/web", "base/a.yaml", true},
		{"base", "apps/web", "base/a.yaml", false},
		{";", "web", "web/a.yaml", false},
		{"/", "web", "other/a.yaml", true},
		{"/base/*.yaml", "web", "base/a.yaml", true},
		{"/base/*.yaml", "web", "base/b/a.yaml", false},
		{"a.yaml", "web", "web/a.yaml", true},
	} {
		if got := refreshes(c.paths, c.dir, c.file); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestSearch: the line of a field in a text that is no YAML.
func TestSearch(t *testing.T) {
	f := &file{data: []byte("{{ if .x }}\nmetadata:\n  name: set\nspec:\n  template:\n    metadata:\n      - name : {{ .y }}\n{{ end }}\n")}
	for _, c := range []struct {
		path         []string
		line, column int
	}{
		{[]string{"spec", "template", "metadata", "name"}, 7, 9},
		{[]string{"metadata", "name"}, 3, 3},
		{[]string{"spec", "nothing"}, 4, 1},
		{nil, 1, 1},
	} {
		if line, column := f.search(c.path); line != c.line || column != c.column {
			t.Errorf("%s: %d:%d", c.path, line, column)
		}
	}
}
