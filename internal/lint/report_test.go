package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
)

// files are the files of a user, by the names that a plan has for them.
type files map[string]string

func (f files) read(_, name string) (string, []byte, bool) {
	data, ok := f[name]
	return "disk/" + name, []byte(data), ok
}

// planned is a plan of somebody who applies roots, with findings.
func planned(findings ...plan.Finding) *plan.Plan {
	root := &plan.Application{Ref: argo.Ref{Name: "roots"}, Applied: true}
	return &plan.Plan{Root: root, Applications: []*plan.Application{root}, Findings: findings}
}

func at(file string, number int, item string) manifest.Position {
	return manifest.Position{File: file, Number: number, Item: item}
}

const application = `# The web server.
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: web
spec:
  project: default
  syncPolicy:
    retry:
      limit: -1
`

// TestPlace: a field is at its line and column, or as near as it is written.
func TestPlace(t *testing.T) {
	set := "kind: ApplicationSet\nspec:\n  template:\n    spec:\n      syncPolicy:\n        retry: {limit: -1}\n"
	limit := []string{"spec", "syncPolicy", "retry", "limit"}
	for name, c := range map[string]struct {
		text         string
		at           manifest.Position
		field        []string
		line, column int
		complete     bool
	}{
		"block":             {application, at("f", 1, ""), limit, 10, 7, true},
		"line ends of DOS":  {strings.ReplaceAll(application, "\n", "\r\n"), at("f", 1, ""), limit, 10, 7, true},
		"byte order mark":   {"\uFEFF" + application, at("f", 1, ""), limit, 10, 7, true},
		"second document":   {"a: 1\n---\n" + application, at("f", 2, ""), limit, 12, 7, true},
		"empty documents":   {"---\n# none\n---\n" + application, at("f", 1, ""), limit, 13, 7, true},
		"list":              {"kind: List\nitems:\n- kind: A\n- kind: B\n  spec: {ä: {b: 1}, c: 2}\n", at("f", 1, "items[1]"), []string{"spec", "c"}, 5, 21, true},
		"JSON":              {"{\n  \"spec\": {\"project\": \"x\"}\n}", at("f", 1, ""), []string{"spec", "project"}, 2, 12, true},
		"item":              {"a:\n- b\n- c: 1\n", at("f", 1, ""), []string{"a", "[1]", "c"}, 3, 3, true},
		"not written":       {application, at("f", 1, ""), []string{"spec", "syncPolicy", "automated"}, 8, 3, false},
		"nothing of it":     {"a: 1\n", at("f", 1, ""), limit, 1, 1, false},
		"no field":          {application, at("f", 1, ""), nil, 2, 1, false},
		"in a set":          {set, at("f", 1, ""), limit, 6, 17, true},
		"not in a set":      {set, at("f", 1, ""), []string{"spec", "syncPolicy", "automated"}, 5, 7, false},
		"template":          {"{{- if .x }}\nkind: X\n{{- end }}\n", at("f", 1, ""), limit, 0, 0, false},
		"no such document":  {application, at("f", 2, ""), limit, 0, 0, false},
		"line of a message": {application, manifest.Position{File: "f", Line: 3}, limit, 3, 1, false},
		"line of a document": {
			"a: 1\n---\n" + application, manifest.Position{File: "f", Line: 4}, limit, 12, 7, true,
		},
		"alias":  {"x: &x {limit: -1}\nspec: {syncPolicy: {retry: *x}}\n", at("f", 1, ""), limit, 2, 21, false},
		"merged": {"x: &x {retry: 1}\nspec:\n  syncPolicy:\n    <<: *x\n", at("f", 1, ""), limit, 3, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLocator(planned(), files{"f": c.text}.read).place(c.at, c.field)
			if s.file == nil || s.line != c.line || s.column != c.column || (s.path != nil) != c.complete {
				t.Errorf("%d:%d %v, want %d:%d %v", s.line, s.column, s.path, c.line, c.column, c.complete)
			}
		})
	}
	if s := newLocator(planned(), files{}.read).place(at("f", 1, ""), limit); s.file != nil {
		t.Errorf("a file that is not there: %+v", s)
	}
}

// TestPlaceBuilt: an object that a Kustomization passes on is in the only file that has it; otherwise the place is the Kustomization.
func TestPlaceBuilt(t *testing.T) {
	web, err := manifest.Decode("", []byte(application))
	if err != nil {
		t.Fatal(err)
	}
	built := manifest.Position{File: "apps/kustomization.yaml", Made: manifest.Built, Number: 3}
	p := planned()
	p.Applications = append(p.Applications, &plan.Application{
		Ref:   argo.Ref{Name: "root"},
		Items: []*plan.Item{{Kind: "Application", Group: argo.Group, Name: "web", Object: web[0].Object, Position: built}},
		Sources: []plan.Source{{Kind: source.Kustomize, Inputs: []source.Input{
			{Path: "apps/kustomization.yaml"},
			{Path: "apps/a.yaml"},
			{Path: "apps/b.yaml"},
			{Path: "apps/c.txt"},
			{Path: "gone.yaml"},
			{Ref: "$values", Path: "apps/other.yaml"},
		}}},
	})
	limit := []string{"spec", "syncPolicy", "retry", "limit"}
	other := strings.Replace(application, "name: web", "name: other", 1)
	for name, c := range map[string]struct {
		files files
		want  string
	}{
		"passed on":      {files{"apps/a.yaml": other, "apps/b.yaml": "a: 1\n---\n" + application, "apps/c.txt": application, "apps/other.yaml": application}, "disk/apps/b.yaml:12:7"},
		"in two files":   {files{"apps/a.yaml": application, "apps/b.yaml": application}, "disk/apps/kustomization.yaml:0:0"},
		"in none":        {files{"apps/a.yaml": other}, "disk/apps/kustomization.yaml:0:0"},
		"of another API": {files{"apps/a.yaml": strings.Replace(application, "argoproj.io", "example.com", 1)}, "disk/apps/kustomization.yaml:0:0"},
		"a template":     {files{"apps/a.yaml": "{{ x }}\n" + application}, "disk/apps/kustomization.yaml:0:0"},
	} {
		c.files["apps/kustomization.yaml"] = "resources: [a.yaml, b.yaml]\n"
		s := newLocator(p, c.files.read).place(built, limit)
		if got := fmt.Sprintf("%s:%d:%d", s.file.name, s.line, s.column); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestSilence: a comment on the line or directly above it silences the rules that it names, if it has a reason.
func TestSilence(t *testing.T) {
	for name, c := range map[string]struct {
		text     string
		line     int
		silent   bool
		noReason int
	}{
		"on the line":       {"a: 1 # argosy:ignore r because\n", 1, true, 0},
		"above":             {"# argosy:ignore r because\na: 1\n", 2, true, 0},
		"above a comment":   {"# argosy:ignore r because\n# other\n\ta: 1\n", 3, true, 0},
		"above a blank":     {"# argosy:ignore r because\n\na: 1\n", 3, false, 0},
		"above a line":      {"b: 1 # argosy:ignore r because\na: 1\n", 2, false, 0},
		"several":           {"#argosy:ignore x,r,y because\na: 1\n", 2, true, 0},
		"another rule":      {"# argosy:ignore rr because\na: 1\n", 2, false, 0},
		"no reason":         {"# argosy:ignore r\na: 1\n", 2, false, 1},
		"blank reason":      {"# argosy:ignore r  \t\r\na: 1\n", 2, false, 1},
		"reason above":      {"# argosy:ignore r because\n# argosy:ignore r\na: 1\n", 3, true, 0},
		"line ends of DOS":  {"# argosy:ignore r because\r\na: 1\r\n", 2, true, 0},
		"line is not known": {"# argosy:ignore r because\n", 0, false, 0},
		"behind the end":    {"# argosy:ignore r because\n", 9, false, 0},
	} {
		f := &file{data: []byte(c.text)}
		silent, noReason := f.silenced("r", c.line)
		if silent != c.silent || noReason != c.noReason {
			t.Errorf("%s: %v, %d", name, silent, noReason)
		}
	}
}

// TestLongLine: a finding has a part of a long line only.
func TestLongLine(t *testing.T) {
	f := &file{data: []byte("a\r\n" + strings.Repeat("ü", mostText) + "\nb")}
	if got := f.line(2); len(got) > mostText+10 || !strings.HasSuffix(got, "ü …") || f.line(1) != "a" || f.line(3) != "b" || f.line(4) != "" {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// TestReport: findings are at their lines and in order, equal ones once, and what is silenced, off, known, old or allowed is left out.
func TestReport(t *testing.T) {
	limit := []string{"spec", "syncPolicy", "retry", "limit"}
	finding := func(subject, file string, line int) plan.Finding {
		return plan.Finding{
			Rule: plan.RuleWaveNotANumber, Subject: subject, Position: manifest.Position{File: file, Line: line, Number: 1}, Field: limit, Message: "m",
		}
	}
	unknown := func(subject string) plan.Finding {
		return plan.Finding{Rule: plan.RuleSourceUnknown, Subject: subject, Message: "no chart"}
	}
	texts := files{
		"b.yaml": application, "a.yaml": application, "off.yaml": application, "known.yaml": application,
		"silent.yaml":  strings.Replace(application, "limit: -1", "limit: -1 # argosy:ignore wave-not-a-number because", 1),
		"without.yaml": strings.Replace(application, "limit: -1", "limit: -1 # argosy:ignore wave-not-a-number", 1),
	}
	config, err := ParseConfig("c", []byte("rules: [{rule: wave-not-a-number, severity: off, files: [disk/off.yaml], reason: x}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	all := planned(
		finding("b", "b.yaml", 2), finding("a", "a.yaml", 2), finding("c", "a.yaml", 2), finding("a", "a.yaml", 2), finding("x", "off.yaml", 2),
		finding("x", "known.yaml", 2), finding("y", "silent.yaml", 2), finding("z", "without.yaml", 2), finding("old", "gone.yaml", 4),
		unknown("one"), unknown("two"), unknown("allowed"),
	)
	r := New(all, Options{
		Files: texts.read, Config: config,
		Baseline: Baseline{Findings: []Entry{{Rule: "wave-not-a-number", File: "disk/known.yaml", Message: "m", Count: 1}}},
		Before:   planned(finding("old", "gone.yaml", 3)),
		Allowed:  func(name string) bool { return name == "allowed" },
	})
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprintf("%s:%d:%d %s %s %s", f.File, f.Line, f.Column, f.Rule.Name, f.Subject(), strings.TrimSpace(f.Text)))
	}
	for _, n := range r.NotChecked {
		got = append(got, fmt.Sprintf("not checked: %s: %s, %d more", n.Rule.Name, n.Reason, n.More))
	}
	got = append(got, fmt.Sprintf("silenced %d, off %d, known %d", r.Silenced, r.Off, r.Known))
	want := []string{
		"disk/a.yaml:10:7 wave-not-a-number a, c limit: -1",
		"disk/b.yaml:10:7 wave-not-a-number b limit: -1",
		"disk/without.yaml:10:1 ignore-without-reason z limit: -1 # argosy:ignore wave-not-a-number",
		"disk/without.yaml:10:7 wave-not-a-number z limit: -1 # argosy:ignore wave-not-a-number",
		"not checked: source-unknown: one: no chart, 1 more",
		"silenced 1, off 1, known 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for failOn, want := range map[string]bool{"error": r.Findings[0].Severity == plan.Error, "warning": true, "info": true, Never: false} {
		if r.Fails(failOn) != want {
			t.Errorf("--fail-on %s: %v", failOn, !want)
		}
	}
	if r := New(&plan.Plan{}, Options{Files: texts.read}); len(r.Findings)+len(r.NotChecked) > 0 {
		t.Errorf("nothing is deployed: %+v", r)
	}
}

// TestVersions: a rule has versions of Argo CD in which it is not checked.
func TestVersions(t *testing.T) {
	for _, r := range Rules() {
		if r.Since > 0 && r.Until > 0 && r.Since >= r.Until {
			t.Errorf("%s is in no version", r.Name)
		}
	}
}

// TestMissed: of several reasons why a rule cannot be checked, the first is told, and how many others there are.
func TestMissed(t *testing.T) {
	p := planned()
	for _, name := range []string{"a", "b", "c"} {
		o := manifest.Object{"spec": map[string]any{"destination": map[string]any{"name": "far"}}}
		p.Applications = append(p.Applications, &plan.Application{Ref: argo.Ref{Name: name}, Object: o})
	}
	_, unchecked := Check(p)
	i := slices.IndexFunc(unchecked, func(n NotChecked) bool { return n.Rule.Name == ruleDestinationUnknown.Name })
	if i < 0 || !strings.HasPrefix(unchecked[i].Reason, "a is for the cluster far;") || unchecked[i].More != 2 {
		t.Errorf("%+v", unchecked)
	}
}

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"retry-for-ever": "", "Retry-for-ever": `there is no rule "Retry-for-ever"; did you mean retry-for-ever?`, "banana": `there is no rule "banana"`,
	} {
		r, err := Find(name)
		if want == "" && (err != nil || r.Name != name) || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %q, %v", name, r.Name, err)
		}
	}
}
