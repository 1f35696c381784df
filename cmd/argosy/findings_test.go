package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/plan"
)

// TestReferenceFindings holds docs/findings.md to the table of rules. UPDATE=1 writes it.
func TestReferenceFindings(t *testing.T) {
	const file = "../../docs/findings.md"
	var b strings.Builder
	b.WriteString("# Findings\n\nWhat `argosy plan`, `simulate` and `demo` find in a boot. Each finding has a rule, which keeps its name, a kind, a severity and a\nposition in your files. Broken ones, and unknown ones that may hide Applications, make the exit code 3.\n")
	seen := map[string]bool{}
	for _, kind := range []plan.Kind{plan.Broken, plan.Unknown, plan.Ordering, plan.Advice} {
		fmt.Fprintf(&b, "\n## %s%s\n", strings.ToUpper(string(kind[:1])), kind[1:])
		for _, r := range plan.Rules() {
			if r.Kind != kind {
				continue
			}
			if seen[r.Name] || r.Means == "" || r.Cure == "" || r.Severity == "" {
				t.Errorf("%s is there twice, or says too little", r.Name)
			}
			seen[r.Name] = true
			fmt.Fprintf(&b, "\n### %s\n\n%s, %s. %s\n\n%s\n", r.Name, r.Kind, r.Severity, r.Means, r.Cure)
		}
	}
	writtenPage(t, file, b.String())
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
