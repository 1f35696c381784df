package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/source"
)

// stage makes the plans of the tests. All names and texts go through say.
type stage struct {
	say  func(string) string
	apps []*plan.Application
}

func (s *stage) app(name string, items ...*plan.Item) *plan.Application {
	a := &plan.Application{
		Ref: argo.Ref{Namespace: s.say("argocd"), Name: s.say(name)}, Project: s.say("default"),
		Destination: plan.Destination{Cluster: s.say("https://kubernetes.default.svc"), Namespace: name},
		Sources: []plan.Source{{
			Repository: "https://user:s3cret@git.example.com/" + s.say("cluster.git"), Revision: s.say("main"), Path: s.say("apps/" + name),
			Kind:   source.Directory,
			Inputs: []source.Input{{Path: s.say("apps/" + name + "/a.yaml")}, {Ref: s.say("$values"), Path: s.say("values.yaml")}},
		}},
		Automated: true, Items: items, Retry: plan.Retry{Limit: 1, First: 5 * time.Second, Factor: 2, Most: time.Minute},
	}
	s.apps = append(s.apps, a)
	return a
}

func (s *stage) object(kind string, wave int) *plan.Item {
	return &plan.Item{
		Kind: s.say(kind), Namespace: s.say("web"), Name: s.say(strings.ToLower(kind)), Phase: plan.Sync, Wave: wave,
		Waits: kind != "ConfigMap", Why: s.say("a reason"), Moved: s.say("wave 9"),
	}
}

func (s *stage) child(a *plan.Application, wave int) *plan.Item {
	return &plan.Item{
		Group: "argoproj.io", Kind: "Application", Name: a.Name, Phase: plan.Sync, Wave: wave, Application: a, Waits: true,
		Why: s.say("it has a health check"),
	}
}

// plan is a root with x in wave 1; the set zs with z in wave 2, for which wave 3 does not wait; y, which is not known completely, and
// broken, which is, in wave 3.
func (s *stage) plan() *plan.Plan {
	x, z := s.app("x", s.object("ConfigMap", 0), s.object("Deployment", 1)), s.app("z", s.object("Job", 0))
	y, broken := s.app("y", s.object("Deployment", 0)), s.app("broken")
	y.Sources[0].Verdict, y.Sources[0].Unknown = source.Partly, s.say("the chart is not here")
	broken.Broken = s.say("the file is no YAML")
	zs := &plan.Item{
		Group: "argoproj.io", Kind: "ApplicationSet", Name: s.say("zs"), Phase: plan.Sync, Wave: 2, Children: []*plan.Application{z},
		Why: s.say("an ApplicationSet is healthy as soon as its Applications exist"),
	}
	root := s.app("root", s.child(x, 1), zs, s.child(y, 3), s.child(broken, 3))
	slices.Reverse(s.apps)
	return &plan.Plan{
		Root: root, Applications: s.apps, Version: versions.Newest, VersionFrom: s.say("apps/argocd.yaml"), SyncAware: true,
		SeesBroken: true,
		Findings: []plan.Finding{
			{
				Rule: plan.RuleSourceBroken, Subject: broken.Name, Position: manifest.Position{File: s.say("apps/broken.yaml"), Line: 3},
				Message: broken.Broken,
			},
			{Rule: plan.RuleSourcePartly, Subject: y.Name, Message: s.say("the chart is not here")},
			{Rule: plan.RuleSourcePartly, Subject: y.Name, Message: s.say("a base is not here")},
			{
				Rule: plan.RuleNoHealthCheck, Subject: x.Name, Origin: s.say("of the set zs"),
				Position: manifest.Position{File: s.say("sets.yaml"), Line: 1}, Message: s.say("nothing waits"),
			},
			{Rule: plan.RuleNoHealthCheck, Subject: z.Name, Message: s.say("nothing waits")},
		},
	}
}

// difference is every kind of change.
func (s *stage) difference() *report.Difference {
	config := func(value string) manifest.Object {
		return manifest.Object{"kind": "ConfigMap", "data": map[string]any{"text": s.say(value)}}
	}
	id := plan.ID{Group: s.say("apps"), Kind: s.say("Deployment"), Namespace: s.say("web"), Name: s.say("web")}
	ref := func(name string) argo.Ref { return argo.Ref{Namespace: s.say("argocd"), Name: s.say(name)} }
	unknown := plan.Gap{Kind: "ApplicationSet", Name: s.say("zs"), State: "unknown", Reason: s.say("no clusters are known"), Hides: true}
	return &report.Difference{
		Revision: s.say("main"), Manifests: true, Command: s.say("argosy plan --diff main --manifests"),
		Before: []plan.Gap{unknown, {Name: s.say("argocd-cm"), State: "broken", Reason: s.say("no YAML")}},
		After:  []plan.Gap{unknown, {Kind: "Application", Name: s.say("x"), State: "broken", Reason: s.say("no chart")}},
		Diff: &plan.Difference{
			Changes: []plan.Change{
				{Kind: plan.Removed, Subject: s.say("old"), Old: s.say("wave 1 of root")},
				{Kind: plan.Stops, Subject: s.say("wave 1 of root"), Old: s.say("waited"), New: s.say("does not wait")},
				{Kind: plan.Waits, Subject: s.say("wave 2 of root"), Old: s.say("a set")},
				{Kind: plan.Added, Subject: s.say("new"), New: s.say("wave 2 of root")},
				{Kind: plan.Moved, Subject: s.say("x"), Old: s.say("wave 1"), New: s.say("wave 2")},
				{Kind: plan.Sourced, Subject: s.say("y"), Old: s.say("v1"), New: s.say("v2")},
				{Kind: plan.Found, Subject: s.say("z"), New: s.say("nothing waits")},
				{Kind: plan.Gone, Subject: s.say("x"), Old: s.say("a")},
				{Kind: plan.Gone, Subject: s.say("x"), Old: s.say("b")},
			},
			Manifests: []plan.Manifests{
				{Ref: ref("x"), Objects: []plan.ObjectChange{
					{ID: id, Old: config("a"), New: config("b")},
					{ID: id, Renamed: s.say("web-1"), Old: config("```"), New: config("~~~")},
				}},
				{Ref: ref("new"), Kind: plan.Added, Objects: []plan.ObjectChange{{ID: id, New: config("a")}}},
				{Ref: ref("old"), Kind: plan.Removed, Objects: []plan.ObjectChange{{ID: id, Old: config("a")}}},
				// only hashes of a Secret differ
				{Ref: ref("zs"), Set: true, Objects: []plan.ObjectChange{{ID: id, Old: config("a"), New: config("a")}}},
				{Ref: argo.Ref{Name: plan.ApplyName}, Objects: []plan.ObjectChange{{ID: id, New: config("a")}}},
			},
			NotCompared: []argo.Ref{ref("z")},
		},
	}
}

func (s *stage) checked() []report.Checked {
	object := func(kind string) manifest.Object {
		return manifest.Object{"kind": s.say(kind), "metadata": map[string]any{"name": s.say("web"), "namespace": s.say("default")}}
	}
	return []report.Checked{
		{
			Object: object("Deployment"), Health: health.Health{Status: "Degraded", Message: s.say("too slow"), Check: s.say("built in")},
			Found: true,
		},
		{Object: object("Certificate"), Bundled: true},
		{Object: object("ConfigMap")},
	}
}

func (s *stage) objects() []manifest.Object {
	source := func(path string) map[string]any {
		return map[string]any{"repoURL": "https://git.example.com/x", "path": s.say(path), "targetRevision": s.say("main")}
	}
	app := func(name string, spec map[string]any) manifest.Object {
		spec["project"] = s.say("default")
		return manifest.Object{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
			"metadata": map[string]any{"name": s.say(name), "annotations": map[string]any{"argocd.argoproj.io/sync-wave": s.say("2")}},
			"spec":     spec,
		}
	}
	return []manifest.Object{
		app("x", map[string]any{"source": source("apps/x"), "destination": map[string]any{
			"server":    "https://kubernetes.default.svc",
			"namespace": s.say("web"),
		}}),
		app("y", map[string]any{
			"sources":     []any{map[string]any{"chart": s.say("web"), "targetRevision": "1.0"}, source("b")},
			"destination": map[string]any{"name": s.say("edge")},
		}),
	}
}

// printers are all reports, each with the formats that it has.
func printers(t *testing.T, say func(string) string) map[string]printer {
	t.Helper()
	simulated := func(p *plan.Plan, faults ...simulate.Fault) *simulate.Boot {
		b, err := simulate.Simulate(p, simulate.DefaultModel(), faults...)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	whole := func() *plan.Plan {
		s := &stage{say: say}
		p := s.plan()
		for _, a := range p.Applications {
			if a.Broken != "" {
				a.Broken, a.Items = "", []*plan.Item{s.object("StatefulSet", 0)}
			}
		}
		return p
	}
	p, after := whole(), whole()
	never := simulate.Fault{App: say("x"), Kind: simulate.Never}
	ends, stuck := simulated(p), simulated(p, never)
	for _, a := range after.Applications[1:] { // the root is first
		a.Object, a.Items[0].Object = manifest.Object{"kind": "Application"},
			manifest.Object{"kind": "Job", "spec": map[string]any{"new": true}}
	}
	update, err := simulate.Update(p, after, simulate.DefaultModel())
	if err != nil {
		t.Fatal(err)
	}
	radii, err := simulate.Blast(p, simulate.DefaultModel())
	if err != nil {
		t.Fatal(err)
	}
	comparison := &report.Comparison{
		Plans: [2]*plan.Plan{p, p}, Boots: [2]*simulate.Boot{ends, stuck},
		Radii: [2][]simulate.Radius{radii[:1], radii},
	}
	broken := (&stage{say: say}).plan()
	s := &stage{say: say}
	return map[string]printer{
		"plan": {func(w io.Writer, f report.Format) error {
			return report.Plan(w, f, broken, false)
		}, []report.Format{report.Table, report.JSON, report.YAML, report.Mermaid, report.DOT, report.SVG}},
		"plan-resources": {func(w io.Writer, f report.Format) error {
			return report.Plan(w, f, broken, true)
		}, []report.Format{report.Table, report.JSON}},
		"inputs": {func(w io.Writer, f report.Format) error {
			return report.Inputs(w, f, broken)
		}, []report.Format{report.Table, report.JSON}},
		"boot": {func(w io.Writer, f report.Format) error {
			return report.Boot(w, f, p, ends)
		}, []report.Format{report.Table, report.JSON, report.SVG}},
		"boot-stuck": {func(w io.Writer, f report.Format) error {
			return report.Boot(w, f, p, stuck)
		}, []report.Format{report.Table, report.JSON, report.SVG}},
		"update": {func(w io.Writer, f report.Format) error {
			return report.Boot(w, f, after, update)
		}, []report.Format{report.Table, report.JSON, report.SVG}},
		"blast": {func(w io.Writer, f report.Format) error {
			return report.Blast(w, f, broken, radii)
		}, []report.Format{report.Table, report.JSON}},
		"comparison":       {comparison.Write, []report.Format{report.Table, report.JSON, report.SVG}},
		"comparison-blast": {comparison.WriteBlast, []report.Format{report.Table, report.JSON}},
		"difference":       {s.difference().Write, []report.Format{report.Table, report.JSON, report.Markdown}},
		"health": {func(w io.Writer, f report.Format) error {
			return report.Health(w, f, s.checked())
		}, []report.Format{report.Table, report.JSON, report.YAML}},
		"objects": {func(w io.Writer, f report.Format) error {
			return report.Objects(w, f, s.objects())
		}, []report.Format{report.Table, report.JSON, report.YAML, report.Name}},
	}
}

type printer struct {
	write   func(io.Writer, report.Format) error
	formats []report.Format
}

// TestGolden compares all reports in all their formats with testdata. UPDATE=1 writes them.
func TestGolden(t *testing.T) {
	for name, p := range printers(t, func(s string) string { return s }) {
		for _, f := range p.formats {
			var b bytes.Buffer
			if err := p.write(&b, f); err != nil {
				t.Errorf("%s.%s: %v", name, f, err)
			}
			file := filepath.Join("testdata", name+"."+string(f))
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		}
	}
}

// TestFormats: a report refuses the formats that it does not have, and prints nothing then.
func TestFormats(t *testing.T) {
	all := []report.Format{
		report.Table, report.JSON, report.YAML, report.Name, report.SVG, report.Mermaid, report.DOT, report.Markdown, "",
		"pdf",
	}
	for name, p := range printers(t, func(s string) string { return s }) {
		for _, f := range all {
			if slices.Contains(p.formats, f) || name == "plan-resources" {
				continue
			}
			var b bytes.Buffer
			if err := p.write(&b, f); err == nil || b.Len() > 0 {
				t.Errorf("%s as %q: %v, %q", name, f, err, b.String())
			}
		}
	}
}

// TestFull: a report that does not arrive is an error.
func TestFull(t *testing.T) {
	for name, p := range printers(t, func(s string) string { return s }) {
		for _, f := range p.formats {
			if err := p.write(full{}, f); !errors.Is(err, errFull) {
				t.Errorf("%s as %s: %v", name, f, err)
			}
		}
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestHostile: names and messages of users do nothing to a terminal, to a drawing or to Markdown, and no password is printed.
func TestHostile(t *testing.T) {
	const hostile = "\x1b[2J<b>`|\"'&\u202e\r\n# x"
	for name, p := range printers(t, func(s string) string { return s + hostile }) {
		for _, f := range p.formats {
			var b bytes.Buffer
			if err := p.write(&b, f); err != nil {
				t.Errorf("%s as %s: %v", name, f, err)
			}
			text := b.String()
			if strings.Contains(text, "s3cret") {
				t.Errorf("%s as %s has a password", name, f)
			}
			bad := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }
			if f == report.JSON || f == report.YAML { // for programs: text is data
				bad = func(r rune) bool { return unicode.IsControl(r) && r != '\n' }
			}
			for line := range strings.Lines(text) {
				if strings.ContainsFunc(line, bad) || strings.HasPrefix(line, "# x") {
					t.Errorf("%s as %s: %q", name, f, line)
				}
			}
			if f == report.SVG {
				parse(t, name, text)
			}
			if f == report.Markdown && strings.Contains(outsideCode(text), "<b>") {
				t.Errorf("%s has HTML of a name:\n%s", name, text)
			}
		}
	}
}

// parse checks that a drawing is XML, and has no elements of a name.
func parse(t *testing.T, name, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "b" {
			t.Errorf("%s has an element of a name", name)
		}
	}
}

// outsideCode is Markdown without its blocks and spans of code.
func outsideCode(text string) string {
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			}
			continue
		case strings.HasSuffix(line, "```diff"):
			fence = strings.TrimSuffix(line, "diff")
			continue
		}
		for i, part := range strings.Split(line, "`") {
			if i%2 == 0 {
				out.WriteString(part)
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// TestApplicationTable: the source is the first of those that Argo CD deploys.
func TestApplicationTable(t *testing.T) {
	one, two := map[string]any{"path": "one", "targetRevision": "v1"}, map[string]any{"chart": "two", "path": "no"}
	for name, c := range map[string]struct {
		spec map[string]any
		want string
	}{
		"none":     {map[string]any{}, "- -"},
		"a source": {map[string]any{"source": one}, "one v1"},
		"a list":   {map[string]any{"source": one, "sources": []any{two, one}}, "two (+1) -"},
		"hydrator": {map[string]any{"sourceHydrator": map[string]any{"drySource": one}}, "one v1"},
	} {
		var out strings.Builder
		o := manifest.Object{"metadata": map[string]any{"name": "a"}, "spec": c.spec}
		if err := report.Objects(&out, report.Table, []manifest.Object{o}); err != nil {
			t.Fatal(err)
		}
		_, row, _ := strings.Cut(out.String(), "\n")
		if got := strings.Join(strings.Fields(row), " "); got != "a "+c.want+" /- -" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
