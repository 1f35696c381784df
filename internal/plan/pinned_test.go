package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// pinning is an Application of the plugin appset that pins its Applications.
func pinning(name, path, parameters string) string {
	return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, namespace: argocd}\nspec: {project: default, source: {repoURL: https://x/y, path: %s, targetRevision: main, plugin: {name: appset, parameters: [%s]}}, destination: {name: in-cluster, namespace: argocd}}\n", name, path, parameters)
}

// TestPinned: an Application is pinned if all of its parents pin it. One that gives it a branch undoes what the others do.
func TestPinned(t *testing.T) {
	const pin, keep = "{name: pin, string: 'true'}", "{name: pin, string: changed}"
	child := strings.Replace(application("child", "child", "0"), "path: child", "path: child, targetRevision: main", 1)
	set := "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\nspec: {generators: [{list: {elements: [{a: b}]}}], template: {metadata: {name: child}, spec: " +
		child[strings.Index(child, "spec: ")+len("spec: "):len(child)-1] + "}}\n"
	for name, c := range map[string]struct {
		root          string
		pinned, keeps bool
	}{
		"one that pins":              {pinning("a", "d", pin), true, false},
		"one that keeps pins":        {pinning("a", "d", keep), true, true},
		"one that does not":          {application("a", "d", "0"), false, false},
		"two that pin":               {pinning("a", "d", pin) + "---\n" + pinning("b", "d", pin), true, false},
		"two that keep pins":         {pinning("a", "d", keep) + "---\n" + pinning("b", "d", keep), true, true},
		"one of two keeps pins":      {pinning("a", "d", keep) + "---\n" + pinning("b", "d", pin), true, false},
		"the other one of two keeps": {pinning("a", "d", pin) + "---\n" + pinning("b", "d", keep), true, false},
		"only the first pins":        {pinning("a", "d", pin) + "---\n" + application("b", "d", "1"), false, false},
		"only the last pins":         {application("a", "d", "0") + "---\n" + pinning("b", "d", pin), false, false},
		"a set and one that pins":    {application("a", "s", "0") + "---\n" + pinning("b", "d", pin), false, false},
		"one that pins and a set":    {pinning("a", "d", pin) + "---\n" + application("b", "s", "1"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(memory{"root/a.yaml": c.root, "d/child.yaml": child, "s/set.yaml": set, "child/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"})
			p, err := New(t.Context(), cfg, document(t, application("root", "root", "0")))
			if err != nil {
				t.Fatal(err)
			}
			app, err := p.Find("child")
			if err != nil || app == nil {
				t.Fatal(app, err, p.Findings)
			}
			if app.Pinned != c.pinned || app.KeepsPin != c.keeps {
				t.Errorf("pinned: %t, keeps its pin: %t", app.Pinned, app.KeepsPin)
			}
		})
	}
	// A person who applies the child, too, does so before the parent's sync.
	docs, err := manifest.Decode("root.yaml", []byte(child+"---\n"+pinning("a", "d", pin)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(t.Context(), config(memory{"d/child.yaml": child, "child/a.yaml": "{}"}), docs...)
	if err != nil {
		t.Fatal(err)
	}
	if app, err := p.Find("child"); err != nil || app == nil || !app.Pinned || p.Root.Name != ApplyName {
		t.Errorf("%+v, %v", app, err)
	}
}

// TestParameters: an Application is broken exactly if the plugin refuses its parameters.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		parameter, want string
		sets            Renderer
	}{
		{parameter: "{name: allow-empty, string: 'true'}"},
		{parameter: "{name: recurse, string: 'false'}"},
		{parameter: "{name: pin, string: changed}"},
		{parameter: "{name: allow-empty, string: 'yes'}", want: `plugin.parameters: allow-empty must be true or false, it is "yes"`},
		{parameter: "{name: recurse, string: '1'}", want: `plugin.parameters: recurse must be true or false, it is "1"`},
		{parameter: "{name: prune-sets, string: all}", want: `plugin.parameters: prune-sets must be true or false, it is "all"`},
		{parameter: "{name: pin, string: 'on'}", want: `plugin.parameters: pin must be true, changed or false, it is "on"`},
		{
			parameter: "{name: max-delete, string: few}",
			want:      `plugin.parameters: max-delete must be a number such as 5, or a percentage such as 100%, it is "few"`,
		},
		{
			parameter: "{name: alow-empty, string: 'true'}",
			want:      `plugin.parameters: there is no parameter "alow-empty"; they are spec, recurse, allow-empty, max-delete, prune-sets, pin, pin-branch`,
		},
		{parameter: "{name: recurse, array: ['true']}", want: "plugin.parameters: recurse must be a string"},
		{parameter: "{name: recurse, string: '1'}", sets: SetsByController},
	} {
		t.Run(c.parameter, func(t *testing.T) {
			cfg := config(memory{"root/a.yaml": pinning("a", "d", c.parameter), "d/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"})
			cfg.Sets = c.sets
			p, err := New(t.Context(), cfg, document(t, application("root", "root", "0")))
			if err != nil {
				t.Fatal(err)
			}
			app, err := p.Find("a")
			if err != nil || app == nil {
				t.Fatal(app, err, p.Findings)
			}
			if app.Broken != c.want {
				t.Errorf("%q, want %q", app.Broken, c.want)
			}
		})
	}
}

// TestPinnedSteps: the commits of pinned Applications follow the steps of their set.
func TestPinnedSteps(t *testing.T) {
	const set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\nspec: {generators: [{list: {elements: [{a: b}, {a: c}]}}], " +
		"strategy: {type: RollingSync, rollingSync: {steps: [{matchExpressions: [{key: a, operator: In, values: [b]}]}, {matchExpressions: [{key: a, operator: In, values: [c]}]}]}}, " +
		"template: {metadata: {name: '{{a}}', labels: {a: '{{a}}'}}, spec: {project: default, source: {repoURL: https://x/y, path: e}, destination: {name: in-cluster, namespace: argocd}}}}\n"
	for pin, said := range map[string]bool{"'false'": true, "'true'": false, "changed": false} {
		cfg := config(memory{
			"root/a.yaml": pinning("a", "d", "{name: pin, string: "+pin+"}"), "d/set.yaml": set, "e/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
		})
		p, err := New(t.Context(), cfg, document(t, application("root", "root", "0")))
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(p.Findings, func(f Finding) bool { return strings.Contains(f.Message, "only with the parameter pin") })
		if app, err := p.Find("b"); err != nil || app == nil || got != said {
			t.Errorf("pin %s: %v, %v, %v", pin, app, err, p.Findings)
		}
	}
}
