package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// writeFindings prints the findings of a plan by kind, counted; findings that differ only in the Application are printed once.
func writeFindings(w io.Writer, title string, p *plan.Plan) {
	if len(p.Findings) == 0 {
		return
	}
	fmt.Fprintln(w, title)
	for _, kind := range []plan.Kind{plan.Broken, plan.Unknown, plan.Ordering, plan.Advice} {
		lines := findingLines(p, kind)
		if len(lines) > 0 {
			fmt.Fprintf(w, "  %s (%d)\n", kind, len(lines))
		}
		for _, line := range lines {
			fmt.Fprintf(w, "    %s\n", line)
		}
	}
}

func findingLines(p *plan.Plan, kind plan.Kind) []string {
	type group struct {
		rule, text string
		subjects   []string
		more       int // of the same subject
	}
	var groups []*group
	by, told := map[[2]string]*group{}, map[[2]string]*group{}
	for _, f := range p.Findings {
		if f.Rule.Kind != kind {
			continue
		}
		// Further unknown parts of an Application are only counted.
		if kind == plan.Unknown {
			if g := told[[2]string{f.Rule.Name, f.Subject}]; g != nil {
				g.more++
				continue
			}
		}
		key := [2]string{f.Rule.Name, f.Message}
		g := by[key]
		if g == nil {
			g = &group{rule: f.Rule.Name, text: Located(f)}
			by[key] = g
			groups = append(groups, g)
		}
		g.subjects = append(g.subjects, f.Subject)
		told[[2]string{f.Rule.Name, f.Subject}] = g
	}
	var out []string
	for _, g := range groups {
		text := words.Printable(g.text)
		if g.more > 0 {
			text += fmt.Sprintf("; and %d more (-o json)", g.more)
		}
		out = append(out, fmt.Sprintf("%s: %s [%s]", words.Printable(words.Some(g.subjects)), text, g.rule))
	}
	return out
}

// Located is a message of a finding with its position in front, if that is not there already.
func Located(f plan.Finding) string {
	at := f.Position.String()
	switch {
	case f.Position.File == "" || strings.HasPrefix(f.Message, f.Position.Name()):
	case f.Origin != "":
		return fmt.Sprintf("%s (%s, %s)", f.Message, at, f.Origin)
	default:
		return fmt.Sprintf("%s (%s)", f.Message, at)
	}
	return f.Message
}

// findingObject is a finding for programs.
func findingObject(f plan.Finding) map[string]any {
	o := map[string]any{
		"rule": f.Rule.Name, "kind": string(f.Rule.Kind), "severity": string(f.Rule.Severity), "subject": f.Subject,
		"message": f.Message,
	}
	if f.Position.File != "" {
		o["file"] = f.Position.Name()
	}
	if f.Position.Line > 0 {
		o["line"] = int64(f.Position.Line)
	}
	if f.Origin != "" {
		o["origin"] = f.Origin
	}
	return o
}

// summaryLine counts the content of a plan, and its unknown parts.
func summaryLine(p *plan.Plan) string {
	s := p.Summary()
	line := fmt.Sprintf("%s, %s, %s", words.Count(s.Applications, "Application"), words.Count(s.Sets, "ApplicationSet"),
		words.Count(s.Objects, "object"))
	if len(s.Broken) > 0 {
		line += fmt.Sprintf("; %d broken", len(s.Broken))
	}
	if len(s.Unknown) > 0 {
		line += fmt.Sprintf("; %d not known completely", len(s.Unknown))
	}
	if len(s.Hiding) > 0 {
		line += fmt.Sprintf(", of which %d may hide Applications", len(s.Hiding))
	}
	return line
}
