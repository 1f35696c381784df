package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/lint/format"
)

// TestReferenceFindings holds docs/findings.md and docs/lint to the table of rules. UPDATE=1 writes them.
func TestReferenceFindings(t *testing.T) {
	writtenPage(t, "../../docs/findings.md", format.Index())
	pages := map[string]bool{}
	for _, family := range lint.Families() {
		name := string(family) + ".md"
		pages[name] = true
		writtenPage(t, filepath.Join("../../docs/lint", name), format.Page(family, func(rule string) string { return exampleDiff(t, rule) }))
	}
	files, err := os.ReadDir("../../docs/lint")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !pages[f.Name()] {
			t.Errorf("docs/lint/%s: there is no such family", f.Name())
		}
	}
	seen := map[string]bool{}
	for _, r := range lint.Rules() {
		if seen[r.Name] || r.Means == "" || r.Cure == "" || r.Severity == "" || r.Family == "" || !r.OfPlanner() && r.Why == "" {
			t.Errorf("%s is there twice, or says too little", r.Name)
		}
		seen[r.Name] = true
	}
}

// writtenPage holds a page of the docs to what it is written from, or writes it.
func writtenPage(t *testing.T, file, text string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(have)); diff != "" {
		t.Errorf("run 'make generate' (-want +have):\n%s", diff)
	}
}
