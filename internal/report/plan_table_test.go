package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
)

// TestWaitText: the header of a wave names what is not waited for, except if that is everything below it.
func TestWaitText(t *testing.T) {
	item := func(name string, waits bool) *plan.Item {
		return &plan.Item{Kind: "Application", Name: name, Application: &plan.Application{}, Waits: waits, Why: "a reason"}
	}
	config := &plan.Item{Kind: "ConfigMap", Name: "config"}
	set := &plan.Item{Kind: "ApplicationSet", Name: "set", Children: []*plan.Application{{}, {}}, Why: "a reason"}
	for _, c := range []struct {
		items      []*plan.Item
		next, last string
	}{
		{[]*plan.Item{item("a", true), config}, "   the next wave waits for 1 of 2 objects", ""},
		{
			[]*plan.Item{item("a", false), config},
			"   the next wave DOES NOT WAIT for a: a reason",
			"   is complete before a is healthy: a reason",
		},
		{
			[]*plan.Item{item("a", false), item("b", false), set},
			"   the next wave DOES NOT WAIT for any of the 3 below: a reason",
			"   is complete before the 3 below are healthy: a reason",
		},
		{
			[]*plan.Item{item("a", false), item("b", true), set},
			"   the next wave DOES NOT WAIT for a, set: a reason",
			"   is complete before a, set are healthy: a reason",
		},
		{
			[]*plan.Item{{Kind: "Application", Name: "a", Application: &plan.Application{}, InDoubt: true, Why: "a reason"}},
			"   IT IS NOT KNOWN whether the next wave waits for a: a reason",
			"   may be complete before a is healthy: a reason",
		},
	} {
		wave := plan.Wave{Items: c.items}
		if got := waitText(wave, false); got != c.next {
			t.Errorf("%q, want %q", got, c.next)
		}
		if got := waitText(wave, true); got != c.last {
			t.Errorf("%q, want %q", got, c.last)
		}
	}
}

// TestNotKnown: Applications are told apart by their namespace, and a set of the same name is another thing.
func TestNotKnown(t *testing.T) {
	app := func(namespace, name string, v source.Verdict) *plan.Application {
		return &plan.Application{Ref: argo.Ref{Namespace: namespace, Name: name}, Sources: []plan.Source{{Verdict: v}}}
	}
	p := &plan.Plan{Applications: []*plan.Application{
		app("a", "web", source.Unknown), app("b", "web", source.Known), app("a", "db", source.Known), app("a", "x", source.Partly),
	}}
	p.Applications[2].Items = []*plan.Item{{Kind: "ApplicationSet", Name: "db", Children: []*plan.Application{}, Unknown: "no clusters"}}
	got := notKnown(p, []string{"a/web", "b/web", "db", "x"})
	if diff := cmp.Diff([]string{"a/web", "x"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
