package plan

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// pruning makes an Application delete what is not in its manifests any more.
func (a *Application) pruning(options ...any) *Application {
	a.Automated = true
	a.Object["spec"] = map[string]any{"syncPolicy": map[string]any{"automated": map[string]any{"prune": true}, "syncOptions": options}}
	return a
}

// finalized makes an Application delete its objects when it is deleted.
func (a *Application) finalized() *Application {
	manifest.Map(a.Object, "metadata")["finalizers"] = []any{argo.ResourcesFinalizer}
	return a
}

// options are the sync options of an Application as an object.
func (a *Application) options(text string) *Application {
	manifest.Map(a.Object, "metadata")["annotations"] = map[string]any{argo.SyncOptionsAnnotation: text}
	return a
}

// with has a policy of its Applications.
func (i *Item) with(applicationsSync string) *Item {
	i.Object["spec"] = map[string]any{"syncPolicy": map[string]any{"applicationsSync": applicationsSync}}
	return i
}

// TestLeft: what is not deployed any more is deleted only if somebody prunes it, or deletes it with its parent.
func TestLeft(t *testing.T) {
	byHand := app("root")
	byHand.Object["spec"] = map[string]any{"syncPolicy": map[string]any{"automated": map[string]any{}}}
	byHand.Automated = true
	for name, c := range map[string]struct {
		before, after *Plan
		version       versions.Version
		want          ChangeKind
	}{
		"the parent prunes":            {before: boot(app("root", child(0, app("a")))), after: boot(app("root").pruning()), want: Removed},
		"the parent does not":          {before: boot(app("root", child(0, app("a")))), after: boot(byHand), want: Left},
		"the parent is synced by hand": {before: boot(app("root", child(0, app("a")))), after: boot(app("root")), want: Left},
		"it pruned before only":        {before: boot(app("root", child(0, app("a"))).pruning()), after: boot(app("root")), want: Left},
		"it must not be pruned": {
			before: boot(app("root", child(0, app("a").options("Prune=false")))), after: boot(app("root").pruning()), want: Left,
		},
		"it needs a confirmation": {
			before: boot(app("root", child(0, app("a").options("Prune=confirm")))), after: boot(app("root").pruning()), want: Left,
		},
		"the parent prunes nothing": {
			before: boot(app("root", child(0, app("a")))), after: boot(app("root").pruning("Prune=false")), want: Left,
		},
		"the parent prunes nothing else": {
			before: boot(app("root", child(0, app("a").options("Prune=true")))), after: boot(app("root").pruning("Prune=false")), want: Removed,
		},
		"older versions do not know that": {
			before: boot(app("root", child(0, app("a")))), after: boot(app("root").pruning("Prune=false")), version: 3, want: Removed,
		},
		"a root": {before: boot(app("root"), app("a").pruning().finalized()), after: boot(app("root").pruning()), want: Left},
		"the parent is deleted with its objects": {
			before: boot(app("root", child(0, app("mid", child(0, app("a"))).finalized()))), after: boot(app("root").pruning()), want: Removed,
		},
		"the parent is deleted alone": {
			before: boot(app("root", child(0, app("mid", child(0, app("a")))))), after: boot(app("root").pruning()), want: Left,
		},
		"the parent is left": {
			before: boot(app("root", child(0, app("mid", child(0, app("a"))).finalized()))), after: boot(app("root")), want: Left,
		},
		"the parent is deleted without it": {
			before: boot(app("root", child(0, app("mid", child(0, app("a").options("Delete=false"))).finalized()))),
			after:  boot(app("root").pruning()), want: Left,
		},
		"its set has it no more": {before: boot(app("root", set("s", "", app("a")))), after: boot(app("root", set("s", ""))), want: Removed},
		"its set deletes nothing": {
			before: boot(app("root", set("s", "", app("a")))), after: boot(app("root", set("s", "").with("create-update"))), want: Left,
		},
		"its set is pruned": {before: boot(app("root", set("s", "", app("a")))), after: boot(app("root").pruning()), want: Removed},
		"its set is left":   {before: boot(app("root", set("s", "", app("a")))), after: boot(app("root")), want: Left},
	} {
		t.Run(name, func(t *testing.T) {
			c.after.Version = c.version
			for _, change := range Diff(c.before, c.after).Changes {
				if change.Subject == "a" {
					if change.Kind != c.want || change.Namespace != "argocd" {
						t.Errorf("got %+v", change)
					}
					return
				}
			}
			t.Error("there is no change")
		})
	}
}

// TestDoubted: a wave of which it is not known whether it waits is not said to have stopped.
func TestDoubted(t *testing.T) {
	plan := func(item *Item) *Plan { return boot(app("root", item, child(1, app("b")))) }
	waits, doubted, stops := child(0, app("a")), child(0, app("a")), child(0, app("a"))
	doubted.Waits, doubted.InDoubt, doubted.Why = false, true, settingsUnknown
	stops.Waits, stops.Why = false, "no health check"
	for name, c := range map[string]struct {
		before, after *Item
		want          ChangeKind
	}{
		"becomes unknown": {waits, doubted, Doubted}, "stops": {waits, stops, Stops}, "is unknown": {doubted, doubted, ""},
		"is known again": {doubted, waits, Waits},
	} {
		var got ChangeKind
		for _, change := range diffGates(plan(c.before), plan(c.after)) {
			got += change.Kind
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	both := gatesOf(boot(app("root", doubted, stops, doubted, child(1, app("b")))))["wave 0 of root"]
	if both.doubt || both.why != "a: no health check" {
		t.Errorf("got %+v", both)
	}
}
