package format

import (
	"fmt"
	"io"
	"strings"

	"github.com/argosy-cd/argosy/internal/lint"
	"github.com/argosy-cd/argosy/internal/words"
)

// List prints all rules by family.
func List(w io.Writer) error {
	var b strings.Builder
	for _, family := range lint.Families() {
		fmt.Fprintf(&b, "%s: %s\n", strings.ToUpper(string(family)), family.About())
		for _, r := range lint.Rules() {
			if r.Family == family {
				fmt.Fprintf(&b, "  %-30s %-8s %-5s %s\n", r.Name, severity(r, "off"), byFix(r, "--fix"), r.Title())
			}
		}
	}
	return words.Line(w, "%s", strings.TrimSuffix(b.String(), "\n"))
}

// Explain prints all about a rule.
func Explain(w io.Writer, r lint.Rule) error {
	text := fmt.Sprintf("%s: %s, %s%s\n\n%s\n", r.Name, severity(r, byDefault), r.Family, versionsOf(r), r.Means)
	if r.Why != "" {
		text += "\nwhy: " + r.Why + "\n"
	}
	return words.Line(w, "%s\nfix: %s%s", text, r.Cure, byFix(r, fixNote))
}

// fixNote says that --fix cures a rule.
const fixNote = " argosy lint --fix does so where it is obvious how."

// byFix is a note about a rule that --fix cures, "" for another one.
func byFix(r lint.Rule, note string) string {
	if r.Fixable() {
		return note
	}
	return ""
}

const byDefault = "off by default"

// severity is that of a rule's findings, or the given word for a rule that must be turned on.
func severity(r lint.Rule, off string) string {
	if r.Off {
		return off
	}
	return string(r.Severity)
}

// versionsOf says in which versions of Argo CD it is so.
func versionsOf(r lint.Rule) string {
	switch {
	case r.Since > 0 && r.Until > 0:
		return fmt.Sprintf(", Argo CD %s to before %s", r.Since, r.Until)
	case r.Since > 0:
		return fmt.Sprintf(", since Argo CD %s", r.Since)
	case r.Until > 0:
		return fmt.Sprintf(", before Argo CD %s", r.Until)
	}
	return ""
}

// Index is the page of the docs that names all rules.
func Index() string {
	var b strings.Builder
	b.WriteString("# Findings\n\n`argosy plan`, `simulate`, `demo` and `lint` report these findings. Each has a rule, whose name " +
		"does not change, a severity and a\nposition in your files. " +
		"In a plan, broken findings, and unknown ones that may hide Applications, make the " +
		"exit code 3.\n[lint](lint.md) has more rules than the plan; the page of each family says which.\n")
	for _, family := range lint.Families() {
		fmt.Fprintf(&b,
			"\n## [%s](lint/%s.md)\n\n%s\n\n| rule | severity | what happens |\n|---|---|---|\n", family, family, family.About())
		for _, r := range lint.Rules() {
			if r.Family == family {
				fmt.Fprintf(&b, "| [`%s`](lint/%s.md#%s) | %s | %s |\n", r.Name, family, r.Name, severity(r, "off"), noHTML(r.Title()))
			}
		}
	}
	return b.String()
}

// Page is the page of a family in the docs. Example returns what changes in a rule's example from the tree that fails to the one that
// passes, "" for none.
func Page(family lint.Family, example func(rule string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Lint: %s\n\n%s\n", family, family.About())
	for _, r := range lint.Rules() {
		if r.Family != family {
			continue
		}
		by := "`argosy lint`"
		if r.OfPlanner() {
			by = "`argosy plan`, `simulate`, `demo` and `lint`"
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s%s; found by %s.\n\n%s\n", r.Name, severity(r, byDefault), versionsOf(r), by, noHTML(r.Means))
		if r.Why != "" {
			fmt.Fprintf(&b, "\nWhy: %s\n", noHTML(r.Why))
		}
		fmt.Fprintf(&b, "\nFix: %s%s\n", r.Cure, byFix(r, strings.Replace(fixNote, "argosy lint --fix", "`argosy lint --fix`", 1)))
		b.WriteString(shownOf(r.Shown))
		if diff := example(r.Name); diff != "" {
			fmt.Fprintf(&b, "\n```diff\n%s```\n", diff)
		}
	}
	return b.String()
}

// noHTML keeps a text such as <no value> from being a tag, which pages do not show.
func noHTML(text string) string { return strings.ReplaceAll(text, "<", `\<`) }

// shownOf says how a rule was verified on real Argo CD, "" if unknown.
func shownOf(s lint.Shown) string {
	switch {
	case s.Example:
		return "\nSeen on Argo CD 3.2.11: `" + s.Test + "` in `lab/e2e` boots the tree that fails.\n"
	case s.Test != "":
		return "\nSeen on Argo CD 3.2.11: `" + s.Test + "` in `lab/e2e`.\n"
	case s.Not != "":
		return "\nNot shown by a test, because " + s.Not + ".\n"
	}
	return ""
}
