package conformance

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif" // has the schema in its source
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sarifSchema is the schema of SARIF 2.1.0 by OASIS, as a Go module carries it.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir := run(t, ".", "go", "list", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif")
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "schema.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err = strconv.Unquote(lit.Value)
		}
		return true
	})
	if err != nil || !strings.Contains(text, "docs.oasis-open.org/sarif") {
		t.Fatalf("no schema: %v", err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// run returns the standard output of a command.
func run(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	var talk bytes.Buffer
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Stderr = dir, &talk
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, talk.String())
	}
	return out
}

// TestSARIF: reports of argosy lint follow the schema of SARIF 2.1.0, whatever the names in them are.
func TestSARIF(t *testing.T) {
	schema := sarifSchema(t)
	dir := t.TempDir()
	bin := filepath.Join(dir, "argosy")
	run(t, "..", "go", "build", "-o", bin, "./cmd/argosy")
	const apps = "apps %20ü[1]"
	for name, text := range map[string]string{
		"root.yaml": "spec:\n  project: default\n  source: {repoURL: https://x/y, path: '" + apps + "'}\n  destination: {name: in-cluster}\n" +
			"  syncPolicy: {automated: {selfHeal: true}}\nmetadata: {name: root, namespace: argocd}\n",
		apps + "/a b.yaml": "spec:\n  project: nobody\n  \"e\\e[31m\\u202e::error::]]>&<\\n\": 1\n  source: {repoURL: https://x/unknown, path: a}\n" +
			"  destination: {name: in-cluster}\n  syncPolicy: {automated: {}, retry: {limit: -1}}\nmetadata: {name: web}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("apiVersion: argoproj.io/v1alpha1\nkind: Application\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := run(t, dir, bin, "lint", "--offline", "--repo", "https://x/y=.", "--fail-on", "never", "-o", "sarif", "root.yaml")
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	r := doc.(map[string]any)["runs"].([]any)[0].(map[string]any)
	results, _ := r["results"].([]any)
	notes, _ := r["invocations"].([]any)[0].(map[string]any)["toolExecutionNotifications"].([]any)
	if len(results) < 2 || len(notes) < 1 {
		t.Errorf("%d results, %d notes: the example shows too little", len(results), len(notes))
	}
	r["columnKind"] = "bytes"
	if err := schema.Validate(doc); err == nil {
		t.Error("the schema allows everything")
	}
}
