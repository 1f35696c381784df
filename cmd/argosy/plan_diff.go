package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

// runPlanDiff says what changes from a revision to the plan of the work tree.
func runPlanDiff(ctx context.Context, std stdio, opts planOptions, repos *repositories, file string, after *plan.Plan) error {
	data, err := repos.file(ctx, file)
	if err != nil {
		return err
	}
	docs, err := manifest.Decode(file, data)
	if err != nil {
		return err
	}
	root, err := oneRoot(file, docs)
	if err != nil {
		return err
	}
	before, err := opts.plan(ctx, repos, root)
	if err != nil {
		return err
	}
	changes := plan.Diff(before, after)
	switch opts.output.value {
	case "json":
		err = jsonChanges(std.out, changes)
	case "markdown":
		err = markdownChanges(std.out, opts.diff, changes)
	default:
		err = tableChanges(std.out, opts.diff, changes)
	}
	if err != nil {
		return err
	}
	for _, c := range changes {
		if c.Kind == plan.Stops || c.Kind == plan.Found {
			return errFound
		}
	}
	return nil
}

// sections are the changes by what happens, in the order of a report.
var sections = []struct{ kind, title, sign string }{
	{plan.Stops, "Waves that the next one does not wait for", "!"},
	{plan.Waits, "Waves that the next one waits for now", "+"},
	{plan.Added, "New Applications", "+"},
	{plan.Removed, "Applications that go", "-"},
	{plan.Moved, "Applications that move", "~"},
	{plan.Sourced, "Applications with another source", "~"},
	{plan.Found, "New findings", "!"},
}

func changeText(c plan.Change) string {
	switch {
	case c.Old != "" && c.New != "":
		return c.Old + " → " + c.New
	case c.Kind == plan.Waits:
		return "before: " + c.Old
	default:
		return c.Old + c.New
	}
}

func tableChanges(out io.Writer, revision string, changes []plan.Change) error {
	w := bufio.NewWriter(out)
	if len(changes) == 0 {
		fmt.Fprintf(w, "The boot is the same as at %s.\n", printable(revision))
	}
	for _, s := range sections {
		first := true
		for _, c := range changes {
			if c.Kind != s.kind {
				continue
			}
			if first {
				fmt.Fprintln(w, strings.ToUpper(s.title))
				first = false
			}
			fmt.Fprintf(w, "  %s %s: %s\n", s.sign, printable(c.Subject), printable(changeText(c)))
		}
	}
	return flush(w)
}

func markdownChanges(out io.Writer, revision string, changes []plan.Change) error {
	w := bufio.NewWriter(out)
	// What is in a repository is text, and not Markdown of ours.
	code := func(s string) string {
		return "`" + strings.NewReplacer("`", "'", "\n", " ", "|", "\\|").Replace(s) + "`"
	}
	if len(changes) == 0 {
		fmt.Fprintf(w, "**The boot is the same as at %s.**\n", code(revision))
	} else {
		fmt.Fprintf(w, "**What changes in the boot since %s**\n", code(revision))
	}
	for _, s := range sections {
		first := true
		for _, c := range changes {
			if c.Kind != s.kind {
				continue
			}
			if first {
				fmt.Fprintf(w, "\n| %s | |\n|---|---|\n", s.title)
				first = false
			}
			fmt.Fprintf(w, "| %s | %s |\n", code(c.Subject), code(changeText(c)))
		}
	}
	return flush(w)
}

func jsonChanges(w io.Writer, changes []plan.Change) error {
	list := make([]any, len(changes))
	for i, c := range changes {
		list[i] = map[string]any{"kind": c.Kind, "subject": c.Subject, "old": c.Old, "new": c.New}
	}
	return writeJSON(w, map[string]any{"changes": list})
}
