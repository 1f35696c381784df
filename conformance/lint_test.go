package conformance

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif" // has the schema in its source
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/lint/format"
	"github.com/argosy-cd/argosy/internal/plan"
)

// sarifSchema is the schema of SARIF 2.1.0 by OASIS, as a Go module carries it.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif").Output()
	if err != nil {
		t.Fatal(err)
	}
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

// TestSARIF: reports of the linter follow the schema of SARIF 2.1.0, whatever the names in them are.
func TestSARIF(t *testing.T) {
	schema := sarifSchema(t)
	rule, _ := lint.Find("retry-for-ever")
	hostile := "\x1b[31m::error::\u202e]]>\x00\xff<&\"\n"
	for name, r := range map[string]*lint.Report{
		"empty": {},
		"findings": {
			Findings: []lint.Finding{
				{Rule: rule, Severity: plan.Error, Subjects: []string{"web"}, File: "apps/a b%.yaml", Line: 3, Column: 5, Text: "x", Message: "m"},
				{Rule: rule, Severity: plan.Info, Subjects: []string{hostile}, File: hostile, Message: hostile},
				{Rule: rule, Severity: plan.Warning, Subjects: []string{"a", "b"}, File: "", Message: "m"},
				{Rule: rule, Severity: plan.Warning, Subjects: []string{"a"}, File: "b.yaml", Line: 2, Message: "m"},
			},
			NotChecked: []lint.NotChecked{{Rule: rule, Reason: hostile, More: 3}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := (format.Printer{Out: &b, Err: io.Discard, FailOn: lint.Never}).Write("sarif", r); err != nil {
				t.Fatal(err)
			}
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Errorf("%v\n%s", err, b.String())
			}
			doc.(map[string]any)["runs"].([]any)[0].(map[string]any)["columnKind"] = "bytes"
			if err := schema.Validate(doc); err == nil {
				t.Error("the schema allows everything")
			}
		})
	}
}
