package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/report"
)

func TestLocated(t *testing.T) {
	at := manifest.Position{File: "a.yaml", Line: 2}
	for want, f := range map[string]plan.Finding{
		"no waves":                          {Message: "no waves"},
		"no waves (a.yaml:2)":               {Message: "no waves", Position: at},
		"no waves (a.yaml:2, of the set x)": {Message: "no waves", Position: at, Origin: "of the set x"},
		"a.yaml:2: no waves":                {Message: "a.yaml:2: no waves", Position: at},
		"a.yaml:2: no waves, whatever has made it": {
			Message: "a.yaml:2: no waves, whatever has made it", Position: at,
			Origin: "of the set x",
		},
	} {
		if got := report.Located(f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestManyFindings: what is true of many Applications is told once.
func TestManyFindings(t *testing.T) {
	p := &plan.Plan{Root: &plan.Application{Ref: argo.Ref{Name: "root"}}}
	for i := range 20 {
		p.Findings = append(p.Findings, plan.Finding{
			Rule: plan.RuleNoHealthCheck, Subject: fmt.Sprintf("app-%02d", i),
			Message: "nothing waits",
		})
	}
	var b strings.Builder
	if err := report.Plan(&b, report.Table, p, false); err != nil {
		t.Fatal(err)
	}
	want := "  ordering (1)\n    app-00, app-01, app-02, app-03, app-04, app-05, app-06, app-07 and 12 more: nothing waits [no-health-check]\n"
	if !strings.Contains(b.String(), want) {
		t.Error(b.String())
	}
}
