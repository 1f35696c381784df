package lint

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

// TestConfig: the decoder and the schema for editors agree about structure; the decoder also knows the rules.
func TestConfig(t *testing.T) {
	text, err := json.Marshal(ConfigSchema())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	const structure, meaning = "structure", "meaning"
	for in, wrong := range map[string]string{
		"{}":              "",
		"failOn: never\n": "",
		"failOn: warning\nrules:\n- {rule: retry-for-ever, severity: error, files: [a/, '*.yaml'], names: ['web-*']}\n": "",
		"rules: [{rule: retry-for-ever, severity: 'off', reason: we watch it}]\n":                                       "",
		"failOn: fatal\n":      structure,
		"failon: error\n":      structure,
		"rules: {}\n":          structure,
		"rules: [{rule: x}]\n": structure,
		"rules: [{rule: retry-for-ever, severity: fatal}]\n":                             structure,
		"rules: [{rule: retry-for-ever, severity: error, file: a}]\n":                    structure,
		"rules: [{rule: retry-for-ever, severity: error, files: a}]\n":                   structure,
		"rules: [{rule: 1, severity: error}]\n":                                          structure,
		"rules: [{rule: retry-forever, severity: error}]\n":                              meaning,
		"rules: [{rule: retry-for-ever, severity: 'off'}]\n":                             meaning,
		"rules: [{rule: retry-for-ever, severity: 'off', reason: ' '}]\n":                meaning,
		"rules: [{rule: retry-for-ever, severity: error, names: ['[']}]\n":               meaning,
		"rules: [{rule: retry-for-ever, severity: error, files: ['a[']}]\n":              meaning,
		"rules: [{rule: retry-for-ever, severity: error, files: [], names: [], x: 1}]\n": structure,
	} {
		v, err := manifest.Value([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); (err != nil) != (wrong == structure) {
			t.Errorf("the schema says of\n%s\n%v", in, err)
		}
		_, err = ParseConfig("c.yaml", []byte(in))
		if (err != nil) != (wrong != "") {
			t.Errorf("the decoder says of\n%s\n%v", in, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "c.yaml:") {
			t.Errorf("no position: %v", err)
		}
	}
}

// TestSeverity: of several entries that match, the last one wins; all conditions of an entry must hold.
func TestSeverity(t *testing.T) {
	rule, _ := Find("retry-for-ever")
	config, err := ParseConfig("c.yaml", []byte(`
rules:
- {rule: retry-for-ever, severity: error, files: [clusters/prod/, "*.yaml"]}
- {rule: retry-for-ever, severity: info, names: ["web-*"]}
- {rule: retry-for-ever, severity: off, files: [clusters/prod/old/], names: [web-a], reason: it goes}
- {rule: allow-empty, severity: off, reason: not this one}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file     string
		subjects []string
		want     plan.Severity
	}{
		{"clusters/dev/a.yaml", []string{"db"}, plan.Warning},
		{"clusters/prod/x/a.yaml", []string{"db"}, plan.Error},
		{"a.yaml", []string{"db"}, plan.Error},
		{"clusters/production/a.yaml", []string{"db"}, plan.Warning},
		{"a.yaml", []string{"db", "web-a"}, plan.Info},
		{"clusters/prod/old/a.yaml", []string{"web-b"}, plan.Info},
		{"clusters/prod/old/a.yaml", []string{"web-a"}, off},
	} {
		got, on := config.severity(Finding{Rule: rule, named: c.file, Subjects: c.subjects})
		if got != c.want || on != (c.want != off) {
			t.Errorf("%s %v: %s, %v", c.file, c.subjects, got, on)
		}
	}
}

// TestBaseline: a baseline leaves out as many findings as it has, wherever their lines are, and comes back from its file.
func TestBaseline(t *testing.T) {
	rule, _ := Find("retry-for-ever")
	at := func(file string, line int, message string) Finding {
		return Finding{Rule: rule, named: file, Line: line, Message: message, Subjects: []string{"x"}}
	}
	const hostile = "a\n- rule: x\n\x00\u2028 #: {\"'"
	old := &Report{Findings: []Finding{at("b.yaml", 1, "m"), at("a.yaml", 1, "m"), at("a.yaml", 2, "m"), at("a.yaml", 3, hostile)}}
	var b bytes.Buffer
	if err := NewBaseline(old).Write(&b); err != nil {
		t.Fatal(err)
	}
	parsed, err := ParseBaseline("b.yaml", b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	if diff := cmp.Diff(NewBaseline(old), parsed); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	known := parsed.counter()
	for i, c := range []struct {
		Finding
		want bool
	}{
		{at("a.yaml", 40, "m"), true},
		{at("a.yaml", 1, "m"), true},
		{at("a.yaml", 2, "m"), false},
		{at("b.yaml", 9, "m"), true},
		{at("b.yaml", 1, "n"), false},
		{at("c.yaml", 1, "m"), false},
		{at("a.yaml", 1, hostile), true},
	} {
		if got := known.has(c.Finding); got != c.want {
			t.Errorf("finding %d: %v", i, got)
		}
	}
	for in, want := range map[string]string{
		"findings: []\n": "",
		"{}\n":           "findings",
		"findings: [{rule: x, message: m, count: 0}]\n":          "b.yaml:1:41: count must be at least 1",
		"findings: [{rule: x, message: m, count: 1, line: 2}]\n": "line",
		"findings: [{rule: x, message: m, count: many}]\n":       "count",
	} {
		if _, err := ParseBaseline("b.yaml", []byte(in)); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}
