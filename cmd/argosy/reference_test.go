package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const referenceDir = "../../docs/cli"

// TestReference holds docs/cli to the commands: a page for each, made of what --help says. UPDATE=1 writes them.
func TestReference(t *testing.T) {
	pages := map[string]string{}
	reference(newRootCommand(stdio{Out: os.Stdout, Err: os.Stderr}), pages)
	for name, want := range pages {
		file := filepath.Join(referenceDir, name)
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(have)); diff != "" {
			t.Errorf("%s: run 'make generate' (-want +have):\n%s", file, diff)
		}
	}
	files, err := filepath.Glob(filepath.Join(referenceDir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, ok := pages[filepath.Base(file)]; !ok {
			t.Errorf("%s: there is no such command", file)
		}
	}
}

func reference(cmd *cobra.Command, pages map[string]string) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n", cmd.CommandPath())
	long := cmd.Long
	if long == "" {
		long = cmd.Short
	}
	fmt.Fprintf(&b, "%s\n", tables(long))
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n```\n%s\n```\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(&b, "\n| command | does |\n|---|---|\n")
	}
	for _, sub := range cmd.Commands() {
		if sub.Hidden {
			continue
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s |\n", sub.CommandPath(), page(sub), sub.Short)
		reference(sub, pages)
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\n## Examples\n\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n"))
	}
	if cmd.LocalFlags().HasAvailableFlags() {
		fmt.Fprint(&b, "\n## Flags\n\n| flag | default | meaning |\n|---|---|---|\n")
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, usage := pflag.UnquoteUsage(f)
			name := strings.TrimSpace("--" + f.Name + " " + value)
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			def := f.DefValue
			if def == "[]" || def == "false" {
				def = ""
			}
			cell := strings.NewReplacer("|", `\|`)
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", cell.Replace(name), cell.Replace(def), cell.Replace(usage))
		})
	}
	pages[page(cmd)] = b.String()
}

// tables keeps the lines of a help text that are indented, such as tables, as they are.
func tables(text string) string {
	return regexp.MustCompile(`(?m)(^  +\S.*\n?)+`).ReplaceAllStringFunc(text, func(lines string) string {
		return "```text\n" + strings.ReplaceAll("\n"+strings.TrimRight(lines, "\n"), "\n  ", "\n")[1:] + "\n```\n"
	})
}

func page(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md"
}
