package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/tree"
)

// ManualMarker begins every page of the manual.
const ManualMarker = `.\" Written by argosy man.`

// Manual returns a manual page, such as argosy-s3-push.1, for each command that help lists. It has no date, so equal commands have equal
// pages.
func Manual(root *cobra.Command) []tree.File {
	var pages []tree.File
	for _, cmd := range Listed(root) {
		pages = append(pages, tree.File{Name: manualName(cmd) + ".1", Data: manualPage(cmd)})
	}
	return pages
}

// Listed returns a command and all that help lists below it.
func Listed(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, Listed(sub)...)
		}
	}
	return all
}

func manualName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func manualPage(cmd *cobra.Command) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n.TH %s 1 \"\" Argosy \"Argosy Manual\"\n", ManualMarker, roff(strings.ToUpper(manualName(cmd))))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manualName(cmd)), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	if cmd.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(cmd.Long))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
	}
	if flags := cmd.LocalFlags(); flags.HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				fmt.Fprintf(&b, ".TP\n%s\n", manualFlag(f))
			}
		})
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	if cmd.HasParent() {
		others := []string{manualName(cmd.Parent())}
		for _, other := range cmd.Parent().Commands() {
			if other != cmd && other.IsAvailableCommand() && cmd.Parent().HasParent() {
				others = append(others, manualName(other))
			}
		}
		slices.Sort(others)
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s(1)\n", roff(strings.Join(others, "(1), ")))
	}
	return []byte(b.String())
}

func manualFlag(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	name := strings.TrimSpace("--" + f.Name + " " + value)
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" {
		usage += fmt.Sprintf(" (default %s)", f.DefValue)
	}
	return fmt.Sprintf(".B %s\n%s", roff(name), roff(usage))
}

// roff escapes text: no line of it is a request, and a hyphen can be copied.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
