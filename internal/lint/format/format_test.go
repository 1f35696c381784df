package format

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/plan"
)

// hostile does something to terminals, workflow commands, XML and JSON, if they let it.
const hostile = "x\n::error file=a::\r\x1b[31m\x00\u202e\xff]]><b a=\"&'\">%0A, a:b\u2028"

func rule(t *testing.T, name string) lint.Rule {
	t.Helper()
	r, err := lint.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	r.Cure = "Do that."
	return r
}

func ordinary(t *testing.T) *lint.Report {
	t.Helper()
	retry, later := rule(t, "retry-for-ever"), rule(t, "needs-later")
	return &lint.Report{
		Findings: []lint.Finding{
			{Rule: later, Severity: plan.Error, Subjects: []string{"web"}, File: "apps/a b.yaml", Line: 3, Column: 5, Text: "    x: y", Message: "it needs db"},
			{Rule: retry, Severity: plan.Warning, Subjects: []string{"a", "b"}, File: "apps/c.yaml", Line: 7, Message: "for ever"},
			{Rule: retry, Severity: plan.Warning, Subjects: []string{"a", "b"}, File: "apps/c.yaml", Message: "for ever"},
			{Rule: retry, Severity: plan.Info, Subjects: []string{"d"}, Message: "for ever"},
		},
		NotChecked: []lint.NotChecked{{Rule: rule(t, "source-unknown"), Reason: "new: no chart", More: 2}},
		Silenced:   1, Off: 2, Known: 3,
	}
}

func written(t *testing.T, format, failOn string, r *lint.Report) (out, talk string) {
	t.Helper()
	var b, e bytes.Buffer
	if err := (Printer{Out: &b, Err: &e, FailOn: failOn}).Write(format, r); err != nil {
		t.Fatal(err)
	}
	return b.String(), e.String()
}

// TestFormats compares each format with its golden file. UPDATE=1 writes them. Of SARIF, only the run is compared, without the table of
// rules.
func TestFormats(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			got, talk := written(t, name, "warning", ordinary(t))
			if name == "sarif" {
				got = withoutRules(t, got)
			}
			if (talk != "") != (name == "gitlab") {
				t.Errorf("standard error has %q", talk)
			}
			file := filepath.Join("testdata", "report."+name)
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if err := (Printer{Out: io.Discard}).Write("yaml", &lint.Report{}); err == nil {
		t.Error("there is no format yaml")
	}
}

// withoutRules takes out the table of rules, and the indexes in it, after a check that each index is right.
func withoutRules(t *testing.T, text string) string {
	t.Helper()
	var doc struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results     []map[string]any
			Invocations []map[string]any
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	run := doc.Runs[0]
	for _, r := range run.Results {
		if i := int(r["ruleIndex"].(float64)); run.Tool.Driver.Rules[i].ID != r["ruleId"] {
			t.Errorf("rule %d is not %s", i, r["ruleId"])
		}
		delete(r, "ruleIndex")
	}
	for _, n := range run.Invocations[0]["toolExecutionNotifications"].([]any) {
		delete(n.(map[string]any)["associatedRule"].(map[string]any), "index")
	}
	out, err := json.MarshalIndent(map[string]any{"results": run.Results, "invocations": run.Invocations}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + "\n"
}

// TestMany: which rules many findings are of, and nothing of that for few.
func TestMany(t *testing.T) {
	few := ordinary(t)
	if out, _ := written(t, "text", "", few); strings.Contains(out, "most findings") {
		t.Error(out)
	}
	for range 30 {
		few.Findings = append(few.Findings, few.Findings[0])
	}
	want := "\nmost findings: 31 [needs-later], 3 [retry-for-ever]; --explain RULE explains one, --write-baseline FILE accepts those of today\n"
	if out, _ := written(t, "text", "", few); !strings.Contains(out, want) {
		t.Error(out)
	}
}

// TestHostile: names and messages of a repository do nothing to what reads a report.
func TestHostile(t *testing.T) {
	r := &lint.Report{
		Findings: []lint.Finding{{
			Rule: rule(t, "retry-for-ever"), Severity: plan.Error, Subjects: []string{hostile}, File: hostile, Line: 1, Column: 1, Text: hostile,
			Message: hostile,
		}},
		NotChecked: []lint.NotChecked{{Rule: rule(t, "source-unknown"), Reason: hostile}},
	}
	for _, name := range Names() {
		out, talk := written(t, name, "error", r)
		for _, text := range []string{out, talk} {
			for _, c := range text {
				if c != '\n' && !unicode.IsPrint(c) && name != "json" && name != "sarif" && name != "gitlab" && name != "junit" {
					t.Errorf("%s prints %q:\n%s", name, c, text)
				}
				if c == 0 || c == '\x1b' || c == '\r' {
					t.Errorf("%s prints %q", name, c)
				}
			}
		}
		switch name {
		case "github":
			for line := range strings.Lines(out) {
				if !strings.HasPrefix(line, "::error file=") && !strings.HasPrefix(line, "::notice title=source-unknown::not checked: ") {
					t.Errorf("a line of its own: %q", line)
				}
				if properties, _, _ := strings.Cut(line[2:], "::"); strings.Count(properties, ",") > 3 {
					t.Errorf("another property: %s", properties)
				}
			}
		case "text":
			if n := strings.Count(out, "\n"); n != 7 {
				t.Errorf("%d lines:\n%s", n, out)
			}
		case "json", "sarif", "gitlab":
			if !json.Valid([]byte(out)) {
				t.Errorf("%s is not JSON:\n%s", name, out)
			}
		}
	}
}

// TestJUnit holds the report to what the schema of Jenkins (xunit-plugin, junit-10.xsd) says about the elements that it has: which one is
// in which, which attributes it may have and must have, and where text may be. There is no validator of XML schemas for Go without C, so
// the test has the schema as a table. The counts must be right, too, which a schema cannot say.
func TestJUnit(t *testing.T) {
	allowed := map[string]struct {
		parent, required, optional []string
		text                       bool
	}{
		"testsuite":  {[]string{"", "testsuites", "testsuite"}, []string{"name", "tests", "failures", "errors"}, []string{"skipped"}, false},
		"testcase":   {[]string{"testsuite"}, []string{"name"}, []string{"classname", "time", "group"}, false},
		"failure":    {[]string{"testcase"}, nil, []string{"message", "type"}, true},
		"skipped":    {[]string{"testcase"}, nil, []string{"message", "type"}, true},
		"system-out": {[]string{"testsuite", "testcase"}, nil, nil, true},
	}
	report := ordinary(t)
	report.Findings[0].Message, report.Findings[1].Message = hostile, hostile
	for failOn, failures := range map[string]int{"error": 1, "warning": 3, "info": 4, lint.Never: 0} {
		out, _ := written(t, "junit", failOn, report)
		count, counts := map[string]int{}, map[string]string{}
		stack := []string{""}
		for dec := xml.NewDecoder(strings.NewReader(out)); ; {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			switch token := token.(type) {
			case xml.StartElement:
				name := token.Name.Local
				element, ok := allowed[name]
				if !ok || !slices.Contains(element.parent, stack[len(stack)-1]) {
					t.Errorf("%s is in %s", name, stack[len(stack)-1])
				}
				missing := slices.Clone(element.required)
				for _, a := range token.Attr {
					if !slices.Contains(element.required, a.Name.Local) && !slices.Contains(element.optional, a.Name.Local) || a.Name.Space != "" {
						t.Errorf("%s has %s", name, a.Name.Local)
					}
					missing = slices.DeleteFunc(missing, func(required string) bool { return required == a.Name.Local })
					if name == "testsuite" {
						counts[a.Name.Local] = a.Value
					}
				}
				if len(missing) > 0 || token.Name.Space != "" {
					t.Errorf("%s has no %v, or is of %q", name, missing, token.Name.Space)
				}
				count[name]++
				stack = append(stack, name)
			case xml.CharData:
				if in := stack[len(stack)-1]; !allowed[in].text && strings.TrimSpace(string(token)) != "" {
					t.Errorf("%q has the text %q", in, token)
				}
			case xml.EndElement:
				stack = stack[:len(stack)-1]
			}
		}
		want := map[string]int{"testsuite": 1, "testcase": 5, "failure": failures, "skipped": 1, "system-out": 4 - failures}
		for name, n := range want {
			if count[name] != n {
				t.Errorf("--fail-on %s: %d %s, want %d", failOn, count[name], name, n)
			}
		}
		if counts["tests"] != "5" || counts["skipped"] != "1" || counts["failures"] != string(rune('0'+failures)) {
			t.Errorf("--fail-on %s: %v", failOn, counts)
		}
	}
}

// TestSARIFAddresses: the file of a finding is a valid reference, whatever its name is.
func TestSARIFAddresses(t *testing.T) {
	for _, name := range []string{"a.yaml", "a b%20ü#[1]?.yaml", "a:b.yaml", "/x/y.yaml", hostile} {
		out, _ := written(t, "sarif", "error", &lint.Report{Findings: []lint.Finding{{Rule: rule(t, "retry-for-ever"), Severity: plan.Error, File: name}}})
		_, after, _ := strings.Cut(out, `"uri": "`)
		uri, _, _ := strings.Cut(after, `"`)
		u, err := url.Parse(uri)
		if err != nil || strings.TrimPrefix(u.Path, "./") != name || strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("%q: %s, %v", name, uri, err)
		}
	}
}

// TestHuge: a line or a message of any length becomes a report that people can read, and a short one for a log.
func TestHuge(t *testing.T) {
	long := strings.Repeat("ä", 1<<20)
	r := &lint.Report{
		Findings: []lint.Finding{{
			Rule: rule(t, "retry-for-ever"), Severity: plan.Error, Subjects: []string{"web"}, File: "a.yaml", Line: 1, Column: 1, Text: long, Message: long,
		}},
		NotChecked: []lint.NotChecked{{Rule: rule(t, "source-unknown"), Reason: long}},
	}
	for _, name := range Names() {
		out, talk := written(t, name, "error", r)
		if name != "json" && len(out)+len(talk) > 200_000 {
			t.Errorf("%s has %d bytes", name, len(out)+len(talk))
		}
	}
}

// TestSameBytes: the same report makes the same bytes.
func TestSameBytes(t *testing.T) {
	for _, name := range Names() {
		a, _ := written(t, name, "error", ordinary(t))
		if b, _ := written(t, name, "error", ordinary(t)); a != b {
			t.Errorf("%s differs", name)
		}
	}
}

// TestRules: the list and the explanation say which rules --fix cures.
func TestRules(t *testing.T) {
	var b bytes.Buffer
	if err := List(&b); err != nil {
		t.Fatal(err)
	}
	for _, r := range lint.Rules() {
		var one bytes.Buffer
		if err := Explain(&one, r); err != nil {
			t.Fatal(err)
		}
		i := strings.Index(b.String(), "  "+r.Name+" ")
		if i < 0 {
			t.Errorf("the list has no %s", r.Name)
			continue
		}
		line, _, _ := strings.Cut(b.String()[i:], "\n")
		if strings.Contains(line, " --fix ") != r.Fixable() || strings.Contains(one.String(), "argosy lint --fix") != r.Fixable() {
			t.Errorf("%s\n%s", line, one.String())
		}
		page := Page(r.Family, func(string) string { return "" })
		if !strings.Contains(page, "\n## "+r.Name+"\n") || !strings.Contains(Index(), "[`"+r.Name+"`](lint/"+string(r.Family)+".md#"+r.Name+")") {
			t.Errorf("the docs have no %s", r.Name)
		}
	}
}
