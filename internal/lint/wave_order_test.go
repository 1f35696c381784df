package lint

import (
	"fmt"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

func TestGap(t *testing.T) {
	for _, c := range []struct {
		waves []int
		want  string
	}{
		{[]int{0, 1, 2, 2}, ""},
		{[]int{-20, -10, 0, 10}, ""},
		{[]int{0, 7}, ""}, // two waves have no step
		{[]int{0, 1, 3}, "2 between [1 3]"},
		{[]int{6, 0, 1, 7}, "2 to 5 between [1 6]"},
		{[]int{-30, -20, 20}, "-10 to 10 between [-20 20]"},
		{[]int{10, 30, 40}, "20 between [10 30]"},
	} {
		parent := &plan.Application{}
		for _, w := range c.waves {
			parent.Items = append(parent.Items, &plan.Item{Wave: w, Application: &plan.Application{}})
		}
		got, around := gap(parent)
		if around != nil {
			got += fmt.Sprintf(" between %v", around)
		}
		if got != c.want {
			t.Errorf("%v: got %q, want %q", c.waves, got, c.want)
		}
	}
}

// TestGatesItself: with a health check that copies status.health, an Application that deploys itself waits for what is missing before 3.4.
func TestGatesItself(t *testing.T) {
	deployment := &plan.Item{Kind: "Deployment", Name: "d", Phase: plan.Sync, Wave: 2, Waits: true, Counts: true}
	for name, c := range map[string]struct {
		version versions.Version
		later   *plan.Item
		want    int
	}{
		"3.3":                         {3, deployment, 1},
		"3.4":                         {4, deployment, 0},
		"a bundled check":             {3, &plan.Item{Kind: "Certificate", Phase: plan.Sync, Wave: 2, Waits: true}, 0},
		"no check":                    {3, &plan.Item{Kind: "ConfigMap", Phase: plan.Sync, Wave: 2}, 0},
		"a kind that argocd-cm names": {3, &plan.Item{Kind: "ConfigMap", Phase: plan.Sync, Wave: 2, Counts: true}, 1},
		"a hook is no part of it":     {3, &plan.Item{Kind: "Job", Phase: plan.PostSync, Waits: true, Counts: true, Hook: true}, 0},
		"an Application": {3, &plan.Item{
			Kind: "Application", Phase: plan.Sync, Wave: 2, Waits: true, Counts: true,
			Application: &plan.Application{},
		}, 0},
		"in its own wave, not later": {3, &plan.Item{Kind: "Deployment", Phase: plan.Sync, Wave: 1, Waits: true, Counts: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ref := argo.Ref{Namespace: "argocd", Name: "root"}
			root := &plan.Application{Ref: ref, Object: manifest.Object{}}
			root.Items = []*plan.Item{
				{Kind: "Application", Phase: plan.Sync, Wave: 1, Waits: true, Application: &plan.Application{Ref: ref, Itself: true}},
				c.later,
			}
			p := &pass{Plan: &plan.Plan{Root: root, Applications: []*plan.Application{root}, Version: c.version}, rule: ruleGatesItself}
			ruleGatesItself.check(p)
			if len(p.found) != c.want {
				t.Errorf("got %v", p.found)
			}
		})
	}
}

func TestOff(t *testing.T) {
	off, on := Rule{Rule: plan.Rule{Name: "wave-gap", Severity: plan.Info}, Off: true}, Rule{Rule: plan.Rule{
		Name:     "retry-for-ever",
		Severity: plan.Warning,
	}}
	turned := Config{Rules: []Setting{{Rule: "wave-gap", Severity: "warning"}}}
	for name, c := range map[string]struct {
		config Config
		rule   Rule
		want   bool
		is     plan.Severity
	}{
		"by default":      {Config{}, off, false, "off"},
		"turned on":       {turned, off, true, plan.Warning},
		"another rule":    {turned, on, true, plan.Warning},
		"still off":       {Config{Rules: []Setting{{Rule: "wave-gap", Severity: "off", Reason: "x"}}}, off, false, "off"},
		"on as it stands": {Config{}, on, true, plan.Warning},
	} {
		t.Run(name, func(t *testing.T) {
			severity, _ := c.config.severity(Finding{Rule: c.rule})
			if got := c.config.uses(c.rule); got != c.want || severity != c.is {
				t.Errorf("got %t, %s", got, severity)
			}
		})
	}
}
