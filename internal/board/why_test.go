package board

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/source"
)

// TestWhyPlan: a plan is good if it is known, and Argo CD can render all of it.
func TestWhyPlan(t *testing.T) {
	work := &plan.Item{Kind: "Deployment", Name: "x", Phase: plan.Sync, Waits: true}
	for name, c := range map[string]struct {
		change func(child *plan.Application, set *plan.Item)
		key    string
		good   bool
		want   string // in the answer
	}{
		"good":                   {good: true},
		"broken":                 {change: func(a *plan.Application, _ *plan.Item) { a.Broken = "no such path" }, want: "no such path"},
		"broken, asked for":      {change: func(a *plan.Application, _ *plan.Item) { a.Broken = "no such path" }, key: "argocd/a", want: "no such path"},
		"broken is another one":  {change: func(a *plan.Application, _ *plan.Item) { a.Broken = "no such path" }, key: "argocd/b", good: true},
		"unknown":                {change: unknownSource, want: `"notLookedAt":["a: not fetched"]`},
		"unknown, asked for":     {change: unknownSource, key: "argocd/a", want: `"notLookedAt":["a: not fetched"]`},
		"unknown is another one": {change: unknownSource, key: "argocd/b", good: true},
		"a set that is unknown":  {change: func(_ *plan.Application, set *plan.Item) { set.Unknown = "no answers" }, want: "ApplicationSet s: no answers"},
		"a set, asked for": {
			change: func(_ *plan.Application, set *plan.Item) { set.Unknown = "no answers" }, key: "set:argocd/s", want: "ApplicationSet s: no answers",
		},
		"a member of a set, asked for": {change: func(_ *plan.Application, set *plan.Item) { set.Children[0].Broken = "wrong" }, key: "set:argocd/s", want: "wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			app := func(name string, items ...*plan.Item) *plan.Application {
				return &plan.Application{Ref: argo.Ref{Namespace: "argocd", Name: name}, Automated: true, Items: items, Object: manifest.Object{}}
			}
			item := func(x *plan.Application) *plan.Item {
				return &plan.Item{Kind: argo.KindApplication, Name: x.Name, Phase: plan.Sync, Application: x, Waits: true}
			}
			a, b, member := app("a", work), app("b", work), app("m", work)
			set := &plan.Item{
				Kind: argo.KindApplicationSet, Namespace: "argocd", Name: "s", Phase: plan.Sync, Children: []*plan.Application{member}, Object: manifest.Object{},
			}
			root := app("root", item(a), item(b), set)
			if c.change != nil {
				c.change(a, set)
			}
			s, err := FromPlan(Checked{Plan: &plan.Plan{Root: root, Applications: []*plan.Application{root, a, b, member}}}, simulate.DefaultModel())
			if err != nil {
				t.Fatal(err)
			}
			answer, err := s.Why(t.Context(), c.key, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			if answer.(map[string]any)["good"] != c.good || !strings.Contains(string(text), c.want) {
				t.Errorf("%s", text)
			}
		})
	}
}

func unknownSource(a *plan.Application, _ *plan.Item) {
	a.Sources = []plan.Source{{Verdict: source.Unknown, Unknown: "not fetched"}}
}

// limited notes whether every question has a deadline.
type limited struct {
	cause.Cluster
	asked, without int
}

func (l *limited) Get(ctx context.Context, key live.Key) (manifest.Object, error) {
	l.asked++
	if _, ok := ctx.Deadline(); !ok {
		l.without++
	}
	return l.Cluster.Get(ctx, key)
}

// TestWhyNow: sync windows are those of now, not those of the last event. The search has an end.
func TestWhyNow(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	model := live.New("argocd")
	model.Apply(live.Event{At: at, What: live.Seen, Object: manifest.Object{
		"apiVersion": argo.APIVersion, "kind": argo.KindApplication, "metadata": map[string]any{"namespace": "argocd", "name": "web"},
		"spec": map[string]any{
			"project": "team", "destination": map[string]any{"namespace": "apps"}, "syncPolicy": map[string]any{"automated": map[string]any{}},
		},
		"status": map[string]any{
			"health": map[string]any{"status": "Missing"}, "sync": map[string]any{"status": "OutOfSync", "revision": "x"},
		},
	}})
	objects := &limited{}
	project := manifest.Object{
		"apiVersion": argo.APIVersion, "kind": argo.KindAppProject, "metadata": map[string]any{"namespace": "argocd", "name": "team"},
		"spec": map[string]any{"syncWindows": []any{
			map[string]any{"kind": "allow", "schedule": "0 22 * * *", "duration": "1h", "namespaces": []any{"*"}},
		}},
	}
	objects.Cluster = cause.Recorded([]manifest.Object{project})
	for now, closed := range map[time.Time]bool{at: true, at.Add(10*time.Hour + 30*time.Minute): false} {
		c := &cluster{model: model, objects: objects, now: func() time.Time { return now }}
		answer, err := c.Why(t.Context(), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "sync-window") != closed {
			t.Errorf("%s: %s", now, text)
		}
	}
	if objects.asked == 0 || objects.without > 0 {
		t.Errorf("%d of %d without a deadline", objects.without, objects.asked)
	}
}

// TestWhyOne: one Application is good, whatever else cannot be watched; all of them are not.
func TestWhyOne(t *testing.T) {
	model := live.New("argocd")
	for _, e := range []live.Event{
		{What: live.Seen, Object: manifest.Object{
			"apiVersion": argo.APIVersion, "kind": argo.KindApplication, "metadata": map[string]any{"namespace": "argocd", "name": "web"},
			"status": map[string]any{"health": map[string]any{"status": "Healthy"}, "sync": map[string]any{"status": "Synced", "revision": "x"}},
		}},
		{What: live.Listed, Source: live.Scope{Kind: "Application", Namespace: "argocd"}},
		{What: live.Lost, Source: live.Scope{Kind: "Application"}, Reason: "you may not"},
	} {
		e.At = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		model.Apply(e)
	}
	c := &cluster{model: model, objects: cause.Recorded(nil), now: func() time.Time { return model.Snapshot().At }}
	for key, good := range map[string]bool{"argocd/web": true, "": false} {
		answer, err := c.Why(t.Context(), key, nil)
		if got, _ := answer.(map[string]any)["good"].(bool); err != nil || got != good {
			t.Errorf("%q: %v, %v", key, answer, err)
		}
	}
}

// TestFaults: there are at most so many faults, and one that is there already may be changed.
func TestFaults(t *testing.T) {
	root := &plan.Application{Ref: argo.Ref{Namespace: "argocd", Name: "root"}, Automated: true}
	p := &plan.Plan{Root: root, Applications: []*plan.Application{root}}
	var keys []string
	for i := range maxFaults + 1 {
		a := &plan.Application{
			Ref: argo.Ref{Namespace: "argocd", Name: fmt.Sprint("a", i)}, Automated: true,
			Items: []*plan.Item{{Kind: "Deployment", Name: "x", Phase: plan.Sync, Waits: true}},
		}
		root.Items = append(root.Items, &plan.Item{Kind: "Application", Name: a.Name, Phase: plan.Sync, Application: a, Waits: true})
		p.Applications, keys = append(p.Applications, a), append(keys, "argocd/"+a.Name)
	}
	s, err := FromSimulation(Checked{Plan: p}, simulate.DefaultModel())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range append(keys[:maxFaults:maxFaults], keys[0]) {
		if err := s.Control(Control{Break: key}); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := s.Control(Control{Break: keys[maxFaults]}); err == nil {
		t.Error("there is one fault too many")
	}
}
