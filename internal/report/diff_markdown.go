package report

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// maxComment is how many bytes a report in Markdown may have: GitHub refuses comments over 65,536 characters.
const maxComment = 60_000

// comment is a text of limited size. Parts that do not fit are left out and counted.
type comment struct {
	strings.Builder
	room, parts, cut int
}

// add adds a part if there is room, and reports whether there was.
func (c *comment) add(part string) bool {
	c.parts++
	if len(part) > c.room {
		c.cut++
		return false
	}
	c.room -= len(part)
	c.WriteString(part)
	return true
}

// markdown prints a report for a comment on a pull request. It names the command that prints the parts that did not fit.
func (d *Difference) markdown(out io.Writer) error {
	last := ""
	if line, names := d.notCompared(); len(names) > 0 {
		last = fmt.Sprintf("\n%s: %s\n", line, codes(strings.Split(words.Shorten(strings.Join(names, "\n"), 2000), "\n")))
	}
	missing := func(cut, parts int) string {
		return fmt.Sprintf("\n%d of %d entries do not fit into a comment; this command prints them: %s\n", cut, parts, codeSpan(d.Command))
	}
	const many = 999_999_999
	c := &comment{room: maxComment - len(last) - len(missing(many, many))}
	sections := d.sections()
	switch {
	case !d.complete():
		c.add(fmt.Sprintf("**The comparison is incomplete:** %s\n", codeSpan(d.incomplete())))
	case len(sections) == 0 && len(d.Diff.Manifests) == 0 && len(d.Diff.NotCompared) > 0:
		c.add(fmt.Sprintf("**Nothing that is known changes since %s.**\n", codeSpan(d.Revision)))
	case len(sections) == 0 && len(d.Diff.Manifests) == 0:
		c.add(fmt.Sprintf("**The boot is the same as at %s.**\n", codeSpan(d.Revision)))
	default:
		c.add(fmt.Sprintf("**What changes in the boot since %s**\n", codeSpan(d.Revision)))
	}
	if len(sections) == 0 && !d.complete() {
		c.add("\nNothing that is known changes.\n")
	}
	for _, s := range sections {
		s.markdown(c)
	}
	if d.Manifests {
		for _, m := range d.Diff.Manifests {
			manifestsMarkdown(c, m)
		}
	}
	c.WriteString(last)
	if c.cut > 0 {
		c.WriteString(missing(c.cut, c.parts))
	}
	if _, err := io.WriteString(out, c.String()); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

func (s section) markdown(c *comment) {
	if s.names != nil {
		if !c.add(fmt.Sprintf("\n%s: %s\n", s.title, codes(s.names))) {
			c.add(fmt.Sprintf("\n%s.\n", s.title))
		}
		return
	}
	head := fmt.Sprintf("\n| %s | |\n|---|---|\n", s.title)
	for _, row := range s.rows {
		if c.add(head + fmt.Sprintf("| %s | %s |\n", codeSpan(row[0]), codeSpan(words.Shorten(row[1], 1000)))) {
			head = ""
		}
	}
}

// manifestsMarkdown adds the objects of an Application, folded.
func manifestsMarkdown(c *comment, m plan.Manifests) {
	const end = "\n</details>\n"
	c.room -= len(end)
	if !c.add(fmt.Sprintf("\n<details><summary>%s: %s</summary>\n\n", html.EscapeString(manifestsTitle(m)),
		words.Count(len(m.Objects), "object"))) {
		c.room += len(end)
		c.parts, c.cut = c.parts+len(m.Objects), c.cut+len(m.Objects)
		return
	}
	for _, o := range m.Objects {
		line := fmt.Sprintf("- %s\n", codeSpan(objectLine(o)))
		lines := objectDiff(o, maxObjectLines)
		if len(lines) == 0 {
			c.add(line)
			continue
		}
		if text := strings.Join(lines, "\n"); !c.add(line + fenced(text)) {
			c.add(fmt.Sprintf("- %s: %d lines of difference\n", codeSpan(objectLine(o)), len(lines)))
		}
	}
	c.WriteString(end)
}

// fenced is a difference in a block that its content cannot end.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fmt.Sprintf("\n%sdiff\n%s\n%s\n\n", fence, text, fence)
}

// codeSpan returns a text as a code span, so that Markdown in it has no effect; it also fits into a table.
func codeSpan(s string) string {
	return "`" + strings.NewReplacer("`", "'", "|", "\\|").Replace(words.Harmless(strings.ReplaceAll(s, "\n", " "))) + "`"
}

func codes(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = codeSpan(name)
	}
	return strings.Join(out, ", ")
}
