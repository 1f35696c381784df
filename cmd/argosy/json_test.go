package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/hostile"
)

const jsonPage = "../../docs/plan-json.md"

// jsonField is a row of a table in docs/plan-json.md.
type jsonField struct {
	kind, of string // the type as written, and the section that it links to
	always   bool
	seen     bool
}

// jsonFields reads the tables of docs/plan-json.md: section, field, row.
func jsonFields(t *testing.T) map[string]map[string]*jsonField {
	t.Helper()
	page, err := os.ReadFile(jsonPage)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("^\\| `([A-Za-z]+)` \\| ([^|]+) \\| ([^|]+) \\|")
	link := regexp.MustCompile(`\[[^]]*\]\(#([^)]*)\)`)
	out, section := map[string]map[string]*jsonField{}, ""
	for line := range strings.Lines(string(page)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(title)), " ", "-")
			out[section] = map[string]*jsonField{}
		}
		if m := row.FindStringSubmatch(line); m != nil && section != "" {
			f := &jsonField{kind: link.ReplaceAllString(m[2], "object"), always: m[3] == "always"}
			if target := link.FindStringSubmatch(m[2]); target != nil {
				f.of = target[1]
			}
			out[section][m[1]] = f
		}
	}
	return out
}

// jsonKind names the type of a value as the page does.
func jsonKind(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		if len(v) == 0 {
			return "list"
		}
		return "list of " + jsonKind(v[0])
	}
	return "object"
}

// fits reports whether a value has the type that a row names.
func (f *jsonField) fits(v any) bool {
	if m, ok := v.(map[string]any); ok && strings.HasPrefix(f.kind, "map of ") {
		inner := &jsonField{kind: strings.TrimPrefix(f.kind, "map of ")}
		return !slices.ContainsFunc(slices.Collect(maps.Values(m)), func(v any) bool { return !inner.fits(v) })
	}
	have := jsonKind(v)
	for _, kind := range strings.Split(strings.ReplaceAll(f.kind, ", or ", " or "), " or ") {
		if have == kind || have == "list" && strings.HasPrefix(kind, "list of ") {
			return true
		}
	}
	return false
}

// walkJSON compares a value with a section of the page, and all values below with theirs.
func walkJSON(t *testing.T, fields map[string]map[string]*jsonField, from, section string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			walkJSON(t, fields, from, section, element)
		}
	case map[string]any:
		for name, value := range v {
			f := fields[section][name]
			switch {
			case f == nil:
				t.Errorf("%s has a field %q that %q of %s does not name", from, name, section, jsonPage)
				continue
			case !f.fits(value):
				t.Errorf("%s: %s of %q is %s, and %s says %s", from, name, section, jsonKind(value), jsonPage, f.kind)
			}
			f.seen = true
			if f.of != "" {
				walkJSON(t, fields, from, f.of, value)
			}
		}
		for name, f := range fields[section] {
			if _, ok := v[name]; f.always && !ok {
				t.Errorf("%s: %q has no field %q, and %s says it always has", from, section, name, jsonPage)
			}
		}
	}
}

// TestDocsJSON holds docs/plan-json.md to real outputs: of the example cluster, of small trees with the rare cases, and of the reports'
// golden files.
func TestDocsJSON(t *testing.T) {
	hostile.Unraced(t) // scripts run the same commands with it
	fields := jsonFields(t)
	walk := func(from, section string, text []byte) {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		walkJSON(t, fields, from, section, v)
	}
	for name, section := range map[string]string{
		"plan": "plan", "plan-resources": "plan", "inputs": "inputs", "difference": "difference", "boot": "boot", "boot-stuck": "boot",
		"update":     "boot",
		"comparison": "comparison", "blast": "ranking", "comparison-blast": "comparison-of-rankings",
	} {
		text, err := os.ReadFile("../../internal/report/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		walk(name+".json", section, text)
	}
	for section, list := range jsonOutputs(t) {
		for _, text := range list {
			walk("the example: "+section, section, text)
		}
	}
	for section, list := range fields {
		for name, f := range list {
			if !f.seen {
				t.Errorf("%s: no output has %s of %q", jsonPage, name, section)
			}
		}
	}
}

// jsonOutputs runs the commands, by section of the page.
func jsonOutputs(t *testing.T) map[string][][]byte {
	t.Helper()
	out := map[string][][]byte{}
	run := func(section string, args ...string) {
		var stdout, stderr bytes.Buffer
		code := execute(context.Background(), stdio{Out: &stdout, Err: &stderr, Env: environ.New(os.Environ()...)}, append(args, "--offline", "-o", "json"))
		if code != exitDone && code != exitFound {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr.String())
		}
		out[section] = append(out[section], stdout.Bytes())
	}
	example := jsonRepository(t, func(dir string) error { return os.CopyFS(dir, os.DirFS("../../examples/cluster")) })
	root := filepath.Join(example, "infrastructure/controllers/argocd/root.yaml")
	change := filepath.Join(example, "my-apps/media/jellyfin")
	if err := os.RemoveAll(change); err != nil {
		t.Fatal(err)
	}
	at := []string{"--repo", "https://git.example.com/home/cluster.git=" + example, root}
	run("plan", append([]string{"plan", "--resources"}, at...)...)
	run("difference", append([]string{"plan", "--diff", "main", "--manifests"}, at...)...)
	run("inputs", append([]string{"plan", "--inputs"}, at...)...)
	run("boot", append([]string{"simulate"}, at...)...)
	run("boot", append([]string{"simulate", "--fail", "longhorn"}, at...)...)
	run("boot", append([]string{"simulate", "--update", "main"}, at...)...)
	run("comparison", append([]string{"simulate", "--compare", "stock"}, at...)...)
	run("ranking", append([]string{"simulate", "--each"}, at...)...)
	run("lint-report", append([]string{"lint"}, at...)...)
	run("comparison-of-rankings", append([]string{"simulate", "--each", "--compare", "stock"}, at...)...)

	for _, rest := range []string{unknownTree, failingTree} {
		dir := jsonRepository(t, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "apps", "rest.yaml"), []byte(rest), 0o600)
		})
		at := []string{"--repo", "https://x/y.git=" + dir, filepath.Join(dir, "root.yaml")}
		run("plan", append([]string{"plan", "--resources"}, at...)...)
		run("plan", append([]string{"plan"}, append(at, filepath.Join(dir, "pins"))...)...)
		run("inputs", append([]string{"plan", "--inputs"}, at...)...)
		run("boot", append([]string{"simulate"}, at...)...)
		run("lint-report", append([]string{"lint"}, at...)...)
	}
	return out
}

// jsonRepository makes a Git repository with a root that deploys itself, an Application that is deployed twice, one that is pinned, and
// whatever more is written.
func jsonRepository(t *testing.T, more func(dir string) error) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"apps", "pins", "web"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	app := func(name, path string) string {
		return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %s, namespace: argocd}\nspec: {project: default, source: {repoURL: https://x/y.git, path: %s}, "+
			"destination: {name: in-cluster, namespace: default}, syncPolicy: {automated: {}}}\n", name, path)
	}
	for name, text := range map[string]string{
		"root.yaml": app("root", "apps"), "apps/root.yaml": app("root", "apps"), "apps/web.yaml": app("web", "web"),
		"pins/web.yaml": app("web", "web"), "pins/pinned.yaml": app("pinned", "web"),
		"apps/pins.yaml": strings.Replace(app("pins", "pins"), "path: pins",
			"path: pins, plugin: {name: appset, parameters: [{name: pin, string: 'true'}]}", 1),
		"web/web.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: missing}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := more(dir); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "first"},
	} {
		if text, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, text)
		}
	}
	return dir
}

// unknownTree has a broken Application, a chart that is not available, and a set whose clusters are not known.
const unknownTree = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: broken, namespace: argocd}
spec: {project: default, source: {repoURL: https://x/y.git, path: none}, destination: {name: in-cluster, namespace: default}, syncPolicy: {automated: {}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: chart, namespace: argocd}
spec:
  project: default
  sources:
    - {repoURL: https://charts.example.com, chart: redis, targetRevision: 1.0.0}
    - {repoURL: https://x/y.git, ref: values}
  destination: {name: in-cluster, namespace: default}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: fleet, namespace: argocd}
spec:
  generators: [{clusters: {}}]
  template: {metadata: {name: 'x-{{name}}'}, spec: {project: default, source: {repoURL: https://x/y.git, path: web}, destination: {name: '{{name}}', namespace: default}}}
`

// failingTree has an Application whose project does not exist.
const failingTree = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: refused, namespace: argocd}
spec: {project: nobody, source: {repoURL: https://x/y.git, path: web}, destination: {name: in-cluster, namespace: default}, syncPolicy: {automated: {}}}
`
