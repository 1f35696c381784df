// Package format prints reports of the linter: for people, for programs, and for services that show findings beside code: SARIF, JUnit,
// GitHub and GitLab.
//
// Names and messages are from files of users. No format lets them do anything to a terminal, to a workflow command or to XML. The same
// report makes the same bytes.
package format

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// Names returns the names of the formats.
func Names() []string { return []string{"text", "json", "sarif", "junit", "github", "gitlab"} }

// Printer prints reports. All fields are needed.
type Printer struct {
	// Out is for the report, Err for messages that are not part of it.
	Out, Err io.Writer
	// FailOn is the lowest severity that is a failure, or lint.Never.
	FailOn string
}

// Write prints a report in a format.
func (p Printer) Write(name string, r *lint.Report) error {
	b := bufio.NewWriter(p.Out)
	var err error
	switch name {
	case "text":
		text(b, r)
	case "json":
		err = manifest.WriteJSON(b, object(r))
	case "sarif":
		err = manifest.WriteJSON(b, sarif(r))
	case "junit":
		err = junit(b, r, p.FailOn)
	case "github":
		github(b, r)
	case "gitlab":
		err = gitlab(b, r)
		for _, n := range r.NotChecked { // the report has no place for them
			fmt.Fprintln(p.Err, notChecked(n))
		}
	default:
		err = fmt.Errorf("there is no format %q", name)
	}
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// where returns file:line:column, without unknown parts.
func where(f lint.Finding) string {
	switch {
	case f.File == "":
		return "-"
	case f.Line == 0:
		return f.File
	case f.Column == 0:
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

// Most bytes of a message and of a line of a file in reports for people.
const (
	mostMessage = 2000
	mostLine    = 200
)

// message names the subject, too.
func message(f lint.Finding) string { return words.Shorten(f.Subject()+": "+f.Message, mostMessage) }

// line is the line of a finding.
func line(f lint.Finding) string { return words.Shorten(strings.TrimSpace(f.Text), mostLine) }

// Line is a finding on one line.
func Line(f lint.Finding) string {
	return fmt.Sprintf("%s: %s: %s [%s]", words.Printable(where(f)), f.Severity, words.Printable(message(f)), f.Rule.Name)
}

func text(w io.Writer, r *lint.Report) {
	last := ""
	for _, f := range r.Findings {
		fmt.Fprintln(w, Line(f))
		if line := line(f); line != "" {
			fmt.Fprintf(w, "    %s\n", words.Printable(line))
		}
		if f.Rule.Name != last {
			fmt.Fprintf(w, "    fix: %s\n", f.Rule.Cure)
		}
		last = f.Rule.Name
	}
	if len(r.Findings) > 0 && len(r.NotChecked) > 0 {
		fmt.Fprintln(w)
	}
	for _, n := range r.NotChecked {
		fmt.Fprintln(w, notChecked(n))
	}
	if len(r.Findings)+len(r.NotChecked) > 0 {
		fmt.Fprintln(w)
	}
	if often := often(r); often != "" {
		fmt.Fprintln(w, often)
	}
	fmt.Fprintln(w, summary(r))
}

// many findings have a line that says which rules they are of.
const many = 30

// often are the rules that have most of many findings.
func often(r *lint.Report) string {
	if len(r.Findings) < many {
		return ""
	}
	number := map[string]int{}
	for _, f := range r.Findings {
		number[f.Rule.Name]++
	}
	rules := slices.SortedFunc(maps.Keys(number), func(a, b string) int { return cmp.Or(number[b]-number[a], cmp.Compare(a, b)) })
	var parts []string
	for _, name := range rules[:min(len(rules), 5)] {
		parts = append(parts, fmt.Sprintf("%d [%s]", number[name], name))
	}
	return "most findings: " + strings.Join(parts, ", ") +
		"; --explain RULE explains one, --write-baseline FILE accepts those of today"
}

func notChecked(n lint.NotChecked) string {
	return fmt.Sprintf("not checked: %s [%s]", words.Printable(reason(n)), n.Rule.Name)
}

func reason(n lint.NotChecked) string {
	text := words.Shorten(n.Reason, 300)
	if n.More > 0 {
		text += fmt.Sprintf("; and %d more", n.More)
	}
	return text
}

func count(r *lint.Report, s plan.Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// summary counts findings, and what was left out.
func summary(r *lint.Report) string {
	parts := []string{
		words.Count(count(r, plan.Error), "error"), words.Count(count(r, plan.Warning), "warning"),
		fmt.Sprintf("%d for information", count(r, plan.Info)),
	}
	for _, left := range []struct {
		n    int
		text string
	}{{r.Silenced, "silenced"}, {r.Off, "off"}, {r.Known, "in the baseline"}} {
		if left.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", left.n, left.text))
		}
	}
	if n := len(r.NotChecked); n > 0 {
		parts = append(parts, words.Count(n, "rule")+" not checked completely")
	}
	return strings.Join(parts, ", ")
}

// object is a report for programs.
func object(r *lint.Report) map[string]any {
	findings, unchecked := []any{}, []any{}
	for _, f := range r.Findings {
		o := map[string]any{
			"rule": f.Rule.Name, "family": string(f.Rule.Family), "severity": string(f.Severity), "message": f.Message,
			"subjects": texts(f.Subjects), "fix": f.Rule.Cure, "fixable": f.Fixable(),
		}
		for name, n := range map[string]int{"line": f.Line, "column": f.Column} {
			if n > 0 {
				o[name] = int64(n)
			}
		}
		for name, s := range map[string]string{"file": f.File, "text": f.Text} {
			if s != "" {
				o[name] = s
			}
		}
		findings = append(findings, o)
	}
	for _, n := range r.NotChecked {
		unchecked = append(unchecked, map[string]any{"rule": n.Rule.Name, "reason": n.Reason, "more": int64(n.More)})
	}
	return map[string]any{
		"findings": findings, "notChecked": unchecked,
		"left": map[string]any{"silenced": int64(r.Silenced), "off": int64(r.Off), "baseline": int64(r.Known)},
	}
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
