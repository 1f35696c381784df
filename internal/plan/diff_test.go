package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
)

// app is an Application that deploys items.
func app(name string, items ...*Item) *Application {
	return &Application{
		Ref: argo.Ref{Namespace: "argocd", Name: name}, Items: items, Sources: []Source{{Repository: "https://x/y", Path: name}},
		Object: manifest.Object{
			"apiVersion": argo.APIVersion, "kind": argo.KindApplication,
			"metadata": map[string]any{"name": name, "namespace": "argocd"},
		},
	}
}

// unknown makes nothing, or not everything, of an Application known.
func (a *Application) unknown(v source.Verdict) *Application {
	a.Sources[0].Verdict, a.Sources[0].Unknown, a.Sources[0].hides = v, "no chart", true
	if v == source.Broken {
		a.Broken = "no chart"
	}
	return a
}

// child is the item of an Application in a wave.
func child(wave int, a *Application) *Item {
	return &Item{
		Group: argo.Group, Kind: argo.KindApplication, Name: a.Name, Namespace: "argocd", Phase: Sync, Wave: wave, Waits: true,
		Application: a, Object: a.Object,
	}
}

// set is the item of a set; an unknown one has no children.
func set(name, unknown string, children ...*Application) *Item {
	return &Item{
		Group: argo.Group, Kind: argo.KindApplicationSet, Name: name, Phase: Sync, Children: append([]*Application{}, children...),
		Unknown: unknown,
		Object:  manifest.Object{"apiVersion": argo.APIVersion, "kind": argo.KindApplicationSet, "metadata": map[string]any{"name": name}},
	}
}

// configMap is an item with a value.
func configMap(name, value string) *Item {
	return &Item{Kind: "ConfigMap", Name: name, Phase: Sync, Object: manifest.Object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"k": value},
	}}
}

// boot is a plan of a root, or of several.
func boot(roots ...*Application) *Plan {
	p := &Plan{}
	var walk func(a *Application)
	walk = func(a *Application) {
		p.Applications = append(p.Applications, a)
		for _, i := range a.Items {
			if i.Application != nil {
				walk(i.Application)
			}
			for _, c := range i.Children {
				walk(c)
			}
		}
	}
	if len(roots) == 1 {
		p.Root = roots[0]
	}
	if len(roots) > 1 {
		p.Root = &Application{Ref: argo.Ref{Namespace: "argocd", Name: ApplyName}, Applied: true}
		for _, r := range roots {
			p.Root.Items = append(p.Root.Items, child(0, r))
		}
	}
	if p.Root != nil {
		walk(p.Root)
	}
	return p
}

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after *Plan
		want          []string
	}{
		{"the same", boot(app("root", child(1, app("a")))), boot(app("root", child(1, app("a")))), nil},
		{
			"nothing to something", boot(), boot(app("root", child(1, app("a")))),
			[]string{"added a", "added root", "manifests a new root", "manifests of kubectl apply"},
		},
		{
			"something to nothing", boot(app("root", child(1, app("a")))), boot(),
			[]string{"left a", "left root", "manifests a left root", "manifests of kubectl apply"},
		},
		{"a root more", boot(app("root")), boot(app("root"), app("other")), []string{"added other", "manifests of kubectl apply"}},
		{
			"moved, and deployed by a set", boot(app("root", child(1, app("a")), child(1, app("b")))),
			boot(app("root", child(2, app("a")), set("s", "", app("b")))),
			[]string{
				"moved a: wave 1 of root → wave 2 of root", "moved b: wave 1 of root → wave 0 of root, by the set s",
				"manifests of root",
			},
		},
		{
			"a set that becomes unknown", boot(app("root", set("s", "", app("a")))), boot(app("root", set("s", "no clusters"))),
			[]string{"not compared a"},
		},
		{
			"a set that was unknown", boot(app("root", set("s", "no clusters"))), boot(app("root", set("s", "", app("a")))),
			[]string{"not compared a"},
		},
		{
			"a set that is removed while its Applications are unknown", boot(app("root", set("s", "no clusters")).pruning()), boot(app("root").pruning()),
			[]string{"removed s: wave 0 of root, a set whose Applications are unknown: no clusters → ", "manifests of root"},
		},
		{
			"a set that is removed", boot(app("root", set("s", "", app("a"))).pruning()), boot(app("root").pruning()),
			[]string{"removed a", "manifests of root"},
		},
		{
			"children of children of one that is unknown now", boot(app("root",
				child(0, app("mid", child(0, app("low", child(0, app("leaf")))))))),
			boot(app("root", child(0, app("mid").unknown(source.Unknown)))),
			[]string{"not compared leaf", "not compared low", "not compared mid"},
		},
		{
			"children of one that is broken now stay", boot(app("root", child(0, app("a")))), boot(app("root").unknown(source.Broken)),
			[]string{"not compared a", "not compared root"},
		},
		{
			"leaves that are unknown on one side, and on both", boot(app("root", child(0, app("a", configMap("x", "1"))),
				child(0, app("b").unknown(source.Unknown)))),
			boot(app("root", child(0, app("a").unknown(source.Unknown)), child(0, app("b").unknown(source.Unknown)))),
			[]string{"not compared a", "not compared b"},
		},
		{
			"partly known: only what both sides have", boot(app("root", child(0, app("a", configMap("x", "1"), configMap("y", "1"))))),
			boot(app("root", child(0, app("a", configMap("x", "2")).unknown(source.Partly)))),
			[]string{"not compared a", "manifests of a: ~x"},
		},
		{
			"the same part is unknown", boot(app("root", child(0, app("a", configMap("y", "1")).unknown(source.Partly)))),
			boot(app("root", child(0, app("a", configMap("z", "1")).unknown(source.Partly)))),
			[]string{"not compared a", "manifests of a: -y +z"},
		},
		{
			"objects", boot(app("root", configMap("x", "1"), configMap("y", "1"), configMap("z", "1"))),
			boot(app("root", configMap("w", "1"), configMap("z", "1"), configMap("x", "2"))),
			[]string{"manifests of root: +w ~x -y"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, brief(Diff(c.before, c.after))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// brief is a difference in lines. Places are left out where nothing else is there.
func brief(d *Difference) []string {
	var out []string
	for _, c := range d.Changes {
		line := string(c.Kind) + " " + c.Subject
		if c.Kind != Added && c.Kind != Removed && c.Kind != Left || c.Kind == Removed && len(c.Old) > 60 {
			line += fmt.Sprintf(": %s → %s", c.Old, c.New)
		}
		out = append(out, line)
	}
	for _, ref := range d.NotCompared {
		out = append(out, "not compared "+ref.Name)
	}
	for _, m := range d.Manifests {
		line := "manifests of " + m.Name
		switch m.Kind {
		case Added:
			line = "manifests a new " + m.Name
		case Removed:
			line = "manifests a removed " + m.Name
		case Left:
			line = "manifests a left " + m.Name
		}
		text := ""
		for _, c := range m.Objects {
			if c.Kind != "ConfigMap" {
				continue
			}
			switch {
			case c.Old == nil:
				text += " +" + c.Name
			case c.New == nil:
				text += " -" + c.Name
			default:
				text += " ~" + c.Name
			}
		}
		if text != "" {
			line += ":" + text
		}
		out = append(out, line)
	}
	return out
}

func TestDiffFindings(t *testing.T) {
	finding := func(rule Rule, subject, message string) Finding {
		return Finding{Rule: rule, Subject: subject, Position: manifest.Position{File: subject + ".yaml"}, Message: message}
	}
	before, after := boot(app("root")), boot(app("root"), app("other"))
	before.Findings = []Finding{
		finding(RuleSourceBroken, "a", "one"), finding(RuleSourceBroken, "a", "two"), finding(RuleNoHealthCheck, "root", "no health check"),
		finding(RuleLenient, "b", "twice"),
	}
	after.Findings = []Finding{
		finding(RuleSourceBroken, "a", "two"), finding(RuleSourceBroken, "a", "one, in other words"),
		finding(RuleSourceBroken, "a", "three"), finding(RuleNoHealthCheck, ApplyName, "no health check"),
	}
	want := []Change{{Kind: Found, Subject: "a", New: "three"}, {Kind: Gone, Subject: "b", Old: "twice"}}
	got := slices.DeleteFunc(Diff(before, after).Changes, func(c Change) bool { return c.Kind != Found && c.Kind != Gone })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// What is not known any more has lost no finding.
	before = boot(app("root", set("s", "", app("b"))))
	before.Findings = []Finding{finding(RuleLenient, "b", "twice")}
	if got := Diff(before, boot(app("root", set("s", "no clusters")))).Changes; len(got) > 0 {
		t.Error(got)
	}
}

// TestGaps holds gaps to the summary: both name the same.
func TestGaps(t *testing.T) {
	hides := app("hides").unknown(source.Unknown)
	hides.Hides = true
	over := app("over")
	over.Hides = true
	broken := set("broken", "no template")
	broken.Broken = true
	p := boot(app("root", child(0, hides), child(0, over), child(0, app("leaf").unknown(source.Partly)),
		child(0, app("bad").unknown(source.Broken)), broken, set("unknown", "no clusters")))
	p.Findings = []Finding{
		{Rule: RuleSettingsBroken, Subject: "argocd-cm", Message: "not YAML"},
		{Rule: RuleSetBroken, Subject: "broken", Message: "no template"},
	}
	var brokenNames, unknown, hiding []string
	for _, g := range p.Gaps() {
		switch {
		case g.State == source.Broken.String():
			brokenNames = append(brokenNames, g.Name)
		default:
			unknown = append(unknown, g.Name)
		}
		if g.Hides {
			hiding = append(hiding, g.Name)
		}
		if g.Reason == "" {
			t.Errorf("%s has no reason", g.Name)
		}
	}
	s := p.Summary()
	for _, c := range [][2][]string{{s.Broken, brokenNames}, {s.Unknown, unknown}, {s.Hiding, hiding}} {
		slices.Sort(c[0])
		slices.Sort(c[1])
		if diff := cmp.Diff(c[0], c[1]); diff != "" {
			t.Errorf("(-summary +gaps):\n%s", diff)
		}
	}
}
