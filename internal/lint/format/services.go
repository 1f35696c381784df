package format

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// levels are the severities of SARIF and of GitHub's commands.
var levels = map[plan.Severity][2]string{
	plan.Error: {"error", "error"}, plan.Warning: {"warning", "warning"}, plan.Info: {"note", "notice"},
}

// sarif is a report in SARIF 2.1.0.
func sarif(r *lint.Report) map[string]any {
	rules, index := []any{}, map[string]int64{}
	for _, rule := range lint.Rules() {
		index[rule.Name] = int64(len(rules))
		rules = append(rules, map[string]any{
			"id": rule.Name, "shortDescription": map[string]any{"text": rule.Title()},
			"fullDescription":      map[string]any{"text": rule.Means},
			"help":                 map[string]any{"text": rule.Cure},
			"defaultConfiguration": map[string]any{"level": levels[rule.Severity][0]},
			"properties":           map[string]any{"family": string(rule.Family)},
		})
	}
	results, notes, seen := []any{}, []any{}, prints{}
	for _, f := range r.Findings {
		result := map[string]any{
			"ruleId": f.Rule.Name, "ruleIndex": index[f.Rule.Name], "level": levels[f.Severity][0],
			"message":             map[string]any{"text": message(f)},
			"partialFingerprints": map[string]any{"argosy/v1": seen.of(f)},
		}
		if f.File != "" {
			uri := url.URL{Path: filepath.ToSlash(f.File)}
			location := map[string]any{"artifactLocation": map[string]any{"uri": uri.String()}}
			if f.Line > 0 {
				location["region"] = map[string]any{"startLine": int64(f.Line), "startColumn": int64(max(f.Column, 1))}
			}
			result["locations"] = []any{map[string]any{"physicalLocation": location}}
		}
		results = append(results, result)
	}
	for _, n := range r.NotChecked {
		notes = append(notes, map[string]any{
			"level": "note", "message": map[string]any{"text": "not checked: " + reason(n)},
			"associatedRule": map[string]any{"id": n.Rule.Name, "index": index[n.Rule.Name]},
		})
	}
	return map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []any{map[string]any{
			"tool":        map[string]any{"driver": map[string]any{"name": "argosy", "rules": rules}},
			"columnKind":  "unicodeCodePoints",
			"results":     results,
			"invocations": []any{map[string]any{"executionSuccessful": true, "toolExecutionNotifications": notes}},
		}},
	}
}

// prints are fingerprints of findings: they do not change if a line moves, and differ between findings.
type prints map[string]int

func (p prints) of(f lint.Finding) string {
	text := strings.Join([]string{f.Rule.Name, f.File, f.Subject(), f.Message}, "\x00")
	n := p[text]
	p[text]++
	if n > 0 {
		text += "\x00" + strconv.Itoa(n)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

type testSuite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Cases    []testCase `xml:"testcase"`
}

type testCase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Skipped *outcome `xml:"skipped"`
	Failure *outcome `xml:"failure"`
	Output  string   `xml:"system-out,omitempty"`
}

type outcome struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// junit prints a report as tests: a finding that counts as a failure is a failed test, any other one is the output of a passed test. A rule
// that was not checked is a skipped test.
func junit(w io.Writer, r *lint.Report, failOn string) error {
	suite := testSuite{Name: "argosy lint"}
	for _, f := range r.Findings {
		c := testCase{Name: f.Rule.Name + " " + where(f), Class: f.Rule.Name}
		text := strings.TrimPrefix(line(f)+"\nfix: "+f.Rule.Cure, "\n")
		if f.Fails(failOn) {
			suite.Failures++
			c.Failure = &outcome{message(f), string(f.Severity), text}
		} else {
			c.Output = string(f.Severity) + ": " + message(f) + "\n" + text
		}
		suite.Cases = append(suite.Cases, c)
	}
	for _, n := range r.NotChecked {
		suite.Skipped++
		suite.Cases = append(suite.Cases, testCase{Name: n.Rule.Name, Class: n.Rule.Name, Skipped: &outcome{Message: reason(n)}})
	}
	suite.Tests = len(suite.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// github writes workflow commands, which GitHub shows beside the lines.
func github(w io.Writer, r *lint.Report) {
	for _, f := range r.Findings {
		var at []string
		if f.File != "" {
			at = append(at, "file="+escapeProperty.Replace(words.Harmless(filepath.ToSlash(f.File))))
		}
		if f.Line > 0 {
			at = append(at, "line="+strconv.Itoa(f.Line), "col="+strconv.Itoa(max(f.Column, 1)))
		}
		at = append(at, "title="+escapeProperty.Replace(f.Rule.Name))
		fmt.Fprintf(w, "::%s %s::%s\n", levels[f.Severity][1], strings.Join(at, ","),
			escapeData.Replace(words.Printable(message(f))+"\nfix: "+f.Rule.Cure))
	}
	for _, n := range r.NotChecked {
		fmt.Fprintf(w, "::notice title=%s::%s\n", escapeProperty.Replace(n.Rule.Name),
			escapeData.Replace("not checked: "+words.Printable(reason(n))))
	}
}

// gitlab writes a report of code quality. It has no place for rules that were not checked.
func gitlab(w io.Writer, r *lint.Report) error {
	severities := map[plan.Severity]string{plan.Error: "major", plan.Warning: "minor", plan.Info: "info"}
	list, seen := []any{}, prints{}
	for _, f := range r.Findings {
		list = append(list, map[string]any{
			"check_name": f.Rule.Name, "description": message(f), "severity": severities[f.Severity], "fingerprint": seen.of(f),
			"location": map[string]any{"path": cmp.Or(filepath.ToSlash(f.File), "."), "lines": map[string]any{"begin": max(f.Line, 1)}},
		})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(list)
}
