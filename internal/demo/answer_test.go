package demo

import (
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

func objects(t *testing.T, text string) []manifest.Object {
	t.Helper()
	docs, err := manifest.Decode("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []manifest.Object
	for _, d := range docs {
		out = append(out, d.Object)
	}
	return out
}

func TestCompareAnswer(t *testing.T) {
	planned := []*plan.Item{{Kind: "ConfigMap", Name: "a"}, {Kind: "Job", Name: "run-*", Namespace: "x"}}
	for name, tt := range map[string]struct {
		sources      int
		answer, want string
	}{
		"the same": {
			1,
			"{kind: ConfigMap, metadata: {name: a}}\n---\n{kind: Job, metadata: {generateName: run-, namespace: x}}", "",
		},
		"another namespace": {
			1, "{kind: ConfigMap, metadata: {name: a, namespace: z}}",
			"the answer of the plugin has ConfigMap a z, which the plan has not",
		},
		"something is missing": {
			1, "{kind: ConfigMap, metadata: {name: a}}",
			"the plan has Job run-* x, which the answer of the plugin has not",
		},
		"another source has it": {2, "{kind: ConfigMap, metadata: {name: a}}", ""},
		"no source may have more": {
			2, "{kind: Secret, metadata: {name: a}}",
			"the answer of the plugin has Secret a, which the plan has not",
		},
		"not deployed": {2, "{kind: Secret, metadata: {name: a, annotations: {argocd.argoproj.io/hook: Skip}}}", ""},
	} {
		got := ""
		if err := compareAnswer(&plan.Application{Items: planned, Sources: make([]plan.Source, tt.sources)},
			objects(t, tt.answer)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestDescribeAnswer(t *testing.T) {
	const app, other = "{apiVersion: argoproj.io/v1alpha1, kind: Application}", "{apiVersion: v1, kind: ConfigMap}"
	for want, list := range map[string][]string{
		"1 object": {other}, "2 Applications": {app, app}, "1 Application and 2 other objects": {other, app, other},
	} {
		if got := describeAnswer(objects(t, strings.Join(list, "\n---\n"))); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestChanged: what is told about two answers of one plugin.
func TestChanged(t *testing.T) {
	app := func(name, revision string) string {
		return "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: " + name + "}, spec: {source: {targetRevision: " +
			revision + "}}}\n---\n"
	}
	one, two := strings.Repeat("1", 40), strings.Repeat("a", 40)
	for name, tt := range map[string]struct {
		before, after string
		want          []string
	}{
		"nothing": {app("a", "main"), app("a", "main"), nil},
		"new, gone and different": {
			app("a", "main") + app("b", "main"), app("b", "next") + app("c", "main"),
			[]string{"root: ~ Application b", "root: + Application c", "root: - Application a"},
		},
		"another commit for several": {
			app("a", `"`+one+`"`) + app("b", `"`+one+`"`), app("a", two) + app("b", two),
			[]string{"root: the commit aaaaaaa for 2 Applications, for each when its wave comes"},
		},
		"pinned for the first time": {app("a", "main"), app("a", two), []string{"root: ~ Application a"}},
		"a name that is drawn":      {"", "{kind: Job, metadata: {generateName: run-}}", []string{"root: + Job run-*"}},
		"one name in two namespaces": {
			"{kind: Job, metadata: {name: a}}",
			"{kind: Job, metadata: {name: a}}\n---\n{kind: Job, metadata: {name: a, namespace: x}}",
			[]string{"root: + Job a in x"},
		},
		"no orders for a terminal": {"", `{kind: Job, metadata: {name: "\e[2J"}}`, []string{`root: + "Job \x1b[2J"`}},
	} {
		got := changed("root", fingerprints(objects(t, tt.before)), fingerprints(objects(t, tt.after)))
		// New and different ones are sorted by name, those that are gone come last.
		if d := diff.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	// Objects that differ in nothing that has a name are still all there.
	twins := "{kind: Job, metadata: {name: a}, spec: 1}\n---\n{kind: Job, metadata: {name: a}, spec: 2}\n---\n{kind: Job, metadata: {name: a}, spec: 3}"
	if got := fingerprints(objects(t, twins)); len(got) != 3 {
		t.Errorf("%v", got)
	}
}
