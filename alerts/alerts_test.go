package alerts

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const chart = "../deploy/chart/argosy/"

// TestAlerts: Prometheus takes the rules, and their texts use labels that their expressions have.
func TestAlerts(t *testing.T) {
	data, err := os.ReadFile(chart + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := parseRules(data)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	rules := 0
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			rules++
			if r.Alert == "" || r.Labels["severity"] == "" || time.Duration(r.For) < time.Minute || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s: an alert has a name, a severity, a time, a summary and a description", r.Alert)
			}
			expr, err := parser.ParseExpr(r.Expr)
			if err != nil {
				t.Errorf("%s: %v", r.Alert, err)
				continue
			}
			if expr.Type() != parser.ValueTypeVector {
				t.Errorf("%s is a %s", r.Alert, expr.Type())
			}
			for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(r.Annotations["summary"]+r.Annotations["description"], -1) {
				if !keeps(expr, m[1]) {
					t.Errorf("%s: the expression loses the label %s", r.Alert, m[1])
				}
			}
		}
	}
	if rules < 5 {
		t.Errorf("%d rules", rules)
	}
}

// keeps reports whether the outer aggregations of an expression keep a label.
func keeps(expr parser.Expr, label string) bool {
	kept := true
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if a, ok := node.(*parser.AggregateExpr); ok {
			named := false
			for _, name := range a.Grouping {
				named = named || name == label
			}
			kept = kept && named != a.Without
		}
		return nil
	})
	return kept
}

// TestDashboard: each query of the dashboard is PromQL, with Grafana's variables replaced.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile(chart + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard any
	if err := json.Unmarshal(data, &dashboard); err != nil {
		t.Fatal(err)
	}
	queries := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if expr, ok := v["expr"].(string); ok {
				queries++
				plain := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$__interval", "1m").Replace(expr)
				plain = regexp.MustCompile(`\$\{?\w+\}?`).ReplaceAllString(plain, "x")
				if _, err := parser.ParseExpr(plain); err != nil {
					t.Errorf("%s: %v", expr, err)
				}
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(dashboard)
	if queries < 5 {
		t.Errorf("%d queries", queries)
	}
}

// TestBroken: a rule that is wrong does not pass.
func TestBroken(t *testing.T) {
	for _, expr := range []string{"sum by (a (b)", "rate(x)", "x{a=b}"} {
		if _, errs := parseRules([]byte("groups: [{name: x, rules: [{alert: X, expr: '" + expr + "'}]}]")); len(errs) == 0 {
			t.Errorf("%s is taken", expr)
		}
	}
	expr, err := parser.ParseExpr("sum by (a) (x)")
	if err != nil || !keeps(expr, "a") || keeps(expr, "b") {
		t.Error("keeps", err)
	}
}

func parseRules(data []byte) (*rulefmt.RuleGroups, []error) {
	return rulefmt.Parse(data, false)
}
