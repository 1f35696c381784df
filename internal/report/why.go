package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/words"
)

// maxCauses is how many causes fit on one screen.
const maxCauses = 8

// Why prints why Applications wait, as text, JSON or Markdown. Now is the time that ages are counted to.
func Why(w io.Writer, f Format, s *live.Snapshot, r *cause.Report, now time.Time) error {
	switch f {
	case Text:
		return whyText(w, s, r, now)
	case Markdown:
		return whyMarkdown(w, s, r, now)
	case JSON:
		return Object(w, WhyObject(r))
	}
	return f.refused("why")
}

// whyHead summarizes the causes in one line.
func whyHead(s *live.Snapshot, r *cause.Report) string {
	var names []string
	for _, n := range r.Asked {
		names = append(names, s.Title(n))
	}
	switch who := words.Some(names); {
	case len(r.Asked) == 0 && r.Blind:
		return "no Application can be seen"
	case len(r.Asked) == 0:
		return "there are no Applications"
	case r.Good() && len(names) == 1:
		return who + " is healthy and synced, with everything below it"
	case r.Good():
		return "everything is healthy and synced: " + who
	case len(r.Causes) == 0:
		return who + ": no problem was found in what could be read"
	case len(names) > 1:
		return fmt.Sprintf("%s are not healthy and synced: %s", words.Count(len(names), "root"), who)
	default:
		return fmt.Sprintf("%s: %s", who, r.Causes[0].Text)
	}
}

func whyText(w io.Writer, s *live.Snapshot, r *cause.Report, now time.Time) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, words.Harmless(whyHead(s, r)))
	for i, c := range r.Causes {
		if i == maxCauses {
			fmt.Fprintf(out, "\n  and %d more; -o json has all\n", len(r.Causes)-maxCauses)
			break
		}
		note := ""
		if !c.Blocks {
			note = " (nothing waits for it)"
		}
		fmt.Fprintf(out, "\n%3d. %s%s\n", i+1, words.Harmless(c.Text), note)
		line := func(text string) { fmt.Fprintf(out, "     %s\n", words.Harmless(text)) }
		if len(c.Path) > 1 {
			line(strings.Join(c.Path, " → "))
		}
		if detail := causeDetail(c, now); detail != "" {
			line(detail)
		}
		if c.Fix != "" {
			line("fix: " + c.Fix)
		}
		if len(c.Command) > 0 {
			line("  $ " + words.Shell(c.Command))
		}
	}
	if len(r.NotRead()) > 0 {
		fmt.Fprintln(out, "\nNOT READ")
		for i, line := range r.NotRead() {
			if i == maxCauses {
				fmt.Fprintf(out, "  and %d more; -o json has all\n", len(r.NotRead())-maxCauses)
				break
			}
			fmt.Fprintln(out, "  "+words.Harmless(line))
		}
	}
	return flush(out)
}

// causeDetail is the cluster's message, and how long the problem exists.
func causeDetail(c cause.Cause, now time.Time) string {
	detail := c.Detail
	if strings.Contains(c.Text, detail) {
		detail = ""
	}
	detail = words.Shorten(detail, 400)
	if c.Since.IsZero() {
		return detail
	}
	if detail == "" {
		return "for " + words.Age(now.Sub(c.Since))
	}
	return fmt.Sprintf("%s (for %s)", detail, words.Age(now.Sub(c.Since)))
}

func whyMarkdown(w io.Writer, s *live.Snapshot, r *cause.Report, now time.Time) error {
	const last = "\nMore causes do not fit.\n"
	c := &comment{room: maxComment - len(last)}
	c.add(fmt.Sprintf("**Why it waits:** %s\n", codeSpan(whyHead(s, r))))
	for i, x := range r.Causes {
		var b strings.Builder
		fmt.Fprintf(&b, "\n%d. %s\n", i+1, codeSpan(x.Text))
		if len(x.Path) > 1 {
			fmt.Fprintf(&b, "   - where: %s\n", codeSpan(strings.Join(x.Path, " → ")))
		}
		if detail := causeDetail(x, now); detail != "" {
			fmt.Fprintf(&b, "   - says: %s\n", codeSpan(detail))
		}
		if x.Fix != "" {
			fmt.Fprintf(&b, "   - fix: %s\n", codeSpan(x.Fix))
		}
		if len(x.Command) > 0 {
			fmt.Fprintf(&b, "   - command: %s\n", codeSpan(words.Shell(x.Command)))
		}
		c.add(b.String())
	}
	if len(r.NotRead()) > 0 {
		c.add(fmt.Sprintf("\nNot read: %s\n", codes(r.NotRead()[:min(len(r.NotRead()), 20)])))
	}
	if c.cut > 0 {
		c.WriteString(last)
	}
	if _, err := io.WriteString(w, c.String()); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// WhyObject is why Applications wait, for programs.
func WhyObject(r *cause.Report) map[string]any {
	asked, causes := []any{}, []any{}
	for _, n := range r.Asked {
		asked = append(asked, map[string]any{"namespace": n.Namespace, "name": n.Name, "good": n.Good()})
	}
	for _, c := range r.Causes {
		o := map[string]any{
			"kind": string(c.Kind), "application": map[string]any{"namespace": c.App.Namespace, "name": c.App.Name}, "path": Texts(c.Path),
			"text": c.Text, "since": moment(c.Since), "blocks": c.Blocks,
		}
		if c.Detail != "" {
			o["detail"] = c.Detail
		}
		if c.Fix != "" {
			o["fix"] = c.Fix
		}
		if len(c.Command) > 0 {
			o["command"] = Texts(c.Command)
		}
		causes = append(causes, o)
	}
	return map[string]any{"good": r.Good(), "asked": asked, "causes": causes, "notLookedAt": Texts(r.NotRead())}
}
