package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/plan"
)

func TestSVGText(t *testing.T) {
	for text, want := range map[string]string{
		"<a & \"b\">\x00": "&lt;a &amp; &quot;b&quot;&gt; ",
		"a\u202eb\xffc":   "a b c",
	} {
		if got := svgText(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestMiddle(t *testing.T) {
	for text, want := range map[string]string{
		"fourteen chars": "fourteen chars", "fifteen letters": "fiftee…letters",
		strings.Repeat("é", 20): "éééééé…ééééééé",
	} {
		if got := middle(text, 14); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestSVGNames: names that differ are shown differently, however long they are, and short ones stay.
func TestSVGNames(t *testing.T) {
	long := strings.Repeat("a", 100)
	names := []string{
		"web", long, long + "b", "b" + long, long[:50] + "x" + long[50:], long[:50] + "y" + long[50:],
		middle(long, svgLongest),
	}
	n := newSVGNames(names...)
	seen := map[string]string{}
	for _, name := range names {
		short := n.of(name)
		if other, ok := seen[short]; ok {
			t.Errorf("%q and %q are %q", name, other, short)
		}
		if seen[short] = name; utf8.RuneCountInString(short) > svgLongest {
			t.Errorf("%q is too long", short)
		}
	}
	if n.of("web") != "web" || n.of(names[6]) != names[6] || n.of("other") != "other" {
		t.Error(n)
	}
}

// TestPlanSVG: a plan has a title, a legend, a column as wide as its names, and marks for waves that never begin.
func TestPlanSVG(t *testing.T) {
	app := func(name, broken string) *plan.Application {
		return &plan.Application{Ref: argo.Ref{Name: name}, Broken: broken}
	}
	child := func(a *plan.Application, wave int) *plan.Item {
		return &plan.Item{Kind: "Application", Name: a.Name, Application: a, Phase: plan.Sync, Wave: wave, Waits: true}
	}
	long := strings.Repeat("long-", 8)
	bad, a, b := app("bad", "no YAML"), app(long+"a", ""), app(long+"b", "")
	root := app("root", "")
	root.Items = []*plan.Item{child(bad, 0), child(a, 1), child(b, 2)}
	p := &plan.Plan{Root: root, Applications: []*plan.Application{root, bad, a, b}, SeesBroken: true}
	const mark = "blocked for ever: wave 0 waits for bad, which is broken"
	var out bytes.Buffer
	if err := planSVG(&out, p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<title>root: what is deployed in which wave</title>", ">" + long + "a<", ">" + long + "b<",
		`class="broken"`, ">the next wave does not wait<",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), mark); n != 2 {
		t.Errorf("%d waves are blocked, not 2", n)
	}
	// A health check that calls a broken Application healthy lets the next wave begin.
	p.SeesBroken = false
	out.Reset()
	if err := planSVG(&out, p); err != nil || strings.Contains(out.String(), mark) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestPlanSVGBlocked: the waves behind an Application or a set that never becomes healthy have a mark, however deep the cause is.
func TestPlanSVGBlocked(t *testing.T) {
	type apps = []*plan.Application
	app := func(name string, items ...*plan.Item) *plan.Application {
		return &plan.Application{Ref: argo.Ref{Name: name}, Items: items}
	}
	child := func(a *plan.Application, wave int) *plan.Item {
		return &plan.Item{Kind: "Application", Name: a.Name, Application: a, Phase: plan.Sync, Wave: wave, Waits: true}
	}
	passed := func(a *plan.Application, wave int) *plan.Item {
		i := child(a, wave)
		i.Waits = false
		return i
	}
	broken := func() *plan.Application { a := app("bad"); a.Broken = "no YAML"; return a }
	refused := func() *plan.Application { a := app("bad"); a.Refused = "no project"; return a }
	itself := func() *plan.Application { a := app("bad"); a.Itself, a.Broken = true, "no YAML"; return a }
	set := func(awaits bool, children ...*plan.Application) *plan.Item {
		return &plan.Item{Kind: "ApplicationSet", Name: "set", Children: children, Phase: plan.Sync, Waits: awaits, Awaits: awaits}
	}
	const dead = "which never becomes healthy"
	for name, c := range map[string]struct {
		first *plan.Item // of the root, which has one more Application in wave 1
		blind bool       // the health check sees neither errors nor syncs
		want  string
	}{
		"healthy":                        {child(app("mid", child(app("good"), 0)), 0), false, ""},
		"broken":                         {child(broken(), 0), false, "wave 0 waits for bad, which is broken"},
		"broken, not seen":               {child(broken(), 0), true, ""},
		"refused":                        {child(refused(), 0), false, "wave 0 waits for bad, " + dead},
		"refused, always seen":           {child(refused(), 0), true, "wave 0 waits for bad, " + dead},
		"refused, not waited for":        {passed(refused(), 0), false, ""},
		"broken grandchild":              {child(app("mid", child(broken(), 0)), 0), false, "wave 0 waits for mid, " + dead},
		"broken grandchild, not seen":    {child(app("mid", child(broken(), 0)), 0), true, ""},
		"broken grandchild, no check":    {child(app("mid", passed(broken(), 0)), 0), false, ""},
		"broken below a grandchild":      {child(app("mid", child(app("low", child(broken(), 0)), 0)), 0), false, "wave 0 waits for mid, " + dead},
		"refused grandchild stops mid":   {child(app("mid", child(refused(), 0), child(app("good"), 1)), 0), false, "wave 0 waits for mid, " + dead},
		"refused grandchild, syncs pass": {child(app("mid", child(refused(), 0), child(app("good"), 1)), 0), true, ""},
		"refused grandchild, last wave":  {child(app("mid", child(refused(), 0)), 0), false, ""},
		"its own descendant":             {child(app("mid", child(itself(), 0)), 0), false, ""},
		"set of broken":                  {set(true, broken()), false, "wave 0 waits for set, " + dead},
		"set of refused":                 {set(true, refused()), true, "wave 0 waits for set, " + dead},
		"set of broken, not looked into": {set(false, broken()), false, ""},
		"set below":                      {child(app("mid", set(true, broken())), 0), false, "wave 0 waits for mid, " + dead},
	} {
		t.Run(name, func(t *testing.T) {
			root := app("root", c.first, child(app("later"), 1))
			p := &plan.Plan{Root: root, Applications: apps{root}, SeesBroken: !c.blind, SyncAware: !c.blind}
			waves := svgSections(p)[0].waves
			want := ""
			if c.want != "" {
				want = svgForEver + ": " + c.want
			}
			if len(waves) != 2 || waves[0].blocked != "" || waves[1].blocked != want {
				t.Errorf("%+v, want %q", waves, want)
			}
		})
	}
}
