package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/source"
)

func TestVerdict(t *testing.T) {
	app := func(name string, v source.Verdict, hides bool) *plan.Application {
		return &plan.Application{Ref: argo.Ref{Name: name}, Hides: hides, Sources: []plan.Source{{Verdict: v, Unknown: "it is away"}}}
	}
	broken := app("broken", source.Known, false)
	broken.Broken = "no YAML"
	known, unknown, root := app("known", source.Known, false), app("unknown", source.Unknown, false), app("root", source.Partly, true)
	set := &plan.Application{Ref: argo.Ref{Name: "sets"}, Items: []*plan.Item{{
		Kind: "ApplicationSet", Name: "set-a",
		Children: []*plan.Application{}, Unknown: "no clusters",
	}}}
	for name, tt := range map[string]struct {
		verdict report.Verdict
		apps    []*plan.Application
		refused []string
		gaps    []string
	}{
		"known":   {report.Verdict{Strict: true}, []*plan.Application{known}, nil, nil},
		"unknown": {report.Verdict{}, []*plan.Application{known, unknown}, nil, nil},
		"unknown, strict": {
			report.Verdict{Strict: true},
			[]*plan.Application{unknown},
			[]string{"1 Application or set is not known completely: unknown"},
			[]string{"the Application unknown is unknown: it is away"},
		},
		"strict, but allowed": {report.Verdict{Strict: true, Allow: []string{"un*"}}, []*plan.Application{unknown}, nil, nil},
		"hides": {
			report.Verdict{},
			[]*plan.Application{root, unknown},
			[]string{"the plan is incomplete: unknown parts of root may hide Applications"},
			[]string{"the Application root is partly known: it is away"},
		},
		"hides, but allowed": {report.Verdict{Allow: []string{"other", "root"}}, []*plan.Application{root, unknown}, nil, nil},
		"set": {
			report.Verdict{},
			[]*plan.Application{set},
			[]string{"the plan is incomplete: unknown parts of set-a may hide Applications"},
			[]string{"the set set-a is unknown: no clusters"},
		},
		"set, but allowed": {report.Verdict{Allow: []string{"set-?"}}, []*plan.Application{set}, nil, nil},
		"broken is not to be allowed": {
			report.Verdict{Allow: []string{"*"}},
			[]*plan.Application{broken, unknown, root},
			[]string{"1 Application or set is broken: broken"},
			[]string{"the Application broken is broken: no YAML"},
		},
		"two broken": {
			report.Verdict{},
			[]*plan.Application{broken, broken},
			[]string{"2 Applications and sets are broken: broken, broken"},
			[]string{"the Application broken is broken: no YAML", "the Application broken is broken: no YAML"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plan.Plan{Root: tt.apps[0], Applications: tt.apps}
			if diff := cmp.Diff(tt.refused, tt.verdict.Refused(p)); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			var gaps []string
			for _, g := range tt.verdict.Gaps(p) {
				gaps = append(gaps, report.GapText(g))
			}
			if diff := cmp.Diff(tt.gaps, gaps); diff != "" {
				t.Errorf("gaps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFits: a name that is nowhere is a mistake, unless an unknown part that is allowed may have it.
func TestFits(t *testing.T) {
	known := &plan.Plan{Applications: []*plan.Application{{Ref: argo.Ref{Name: "root"}, Items: []*plan.Item{{Name: "set", Children: []*plan.Application{}}}}}}
	hides := &plan.Plan{Applications: []*plan.Application{{Ref: argo.Ref{Name: "root"}, Hides: true, Sources: []plan.Source{{Verdict: source.Unknown}}}}}
	for _, c := range []struct {
		allow string
		plans []*plan.Plan
		want  string
	}{
		{"root", []*plan.Plan{known}, ""},
		{"set", []*plan.Plan{known}, ""},
		{"nosuch-*", []*plan.Plan{known}, ""},
		{"nosuch", []*plan.Plan{known}, `--allow-unknown: there is no Application and no set "nosuch"; nothing is unknown`},
		{"nosuch", []*plan.Plan{known, hides}, `--allow-unknown: there is no Application and no set "nosuch"; these are unknown: root`},
		{"nosuch root", []*plan.Plan{hides}, ""},
	} {
		err := report.Verdict{Allow: strings.Fields(c.allow)}.Fits(c.plans...)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: got %v, want %s", c.allow, err, c.want)
		}
	}
}
