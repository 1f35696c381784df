// Package cli is what every command line needs, whatever its commands do: groups of commands, help, arguments that are counted,
// suggestions, completion, and settings that come from flags or from variables. The commands themselves are in cmd/argosy.
//
// Every mistake of a user is a problem.UsageError.
package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// Group returns a command that has only subcommands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: NoArgs, RunE: help}
	cmd.AddCommand(commands...)
	return cmd
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// AddHelp adds cobra's help command, except that help for a command that does not exist is an error.
func AddHelp(root *cobra.Command) {
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return problem.Usagef("there is no command %q%s", strings.Join(args, " "), didYouMean(cmd, rest))
			}
			return cmd.Help()
		},
	})
}

// NoArgs refuses arguments of commands that have none, which for a group of commands are unknown commands.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return problem.Usagef("unknown command %q for %q%s", args[0], cmd.CommandPath(), didYouMean(cmd, args))
	}
	return nil
}

// Exactly demands a number of arguments.
func Exactly(n int, names string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return problem.Usagef("needed: %s", names)
		}
		return nil
	}
}

// AtMostOne demands no argument or one, a directory.
func AtMostOne(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return problem.Usagef("at most one directory, not %d arguments", len(args))
	}
	return nil
}

// AtMostOneApplication demands no argument or one, the name of an Application.
func AtMostOneApplication(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return problem.Usagef("at most one Application may be named")
	}
	return nil
}

// First is the first argument, "" if there is none.
func First(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// didYouMean names the commands of a group that are close to the first of the words that were typed.
func didYouMean(group *cobra.Command, typed []string) string {
	if group == nil || len(typed) == 0 || typed[0] == "" {
		return ""
	}
	var names []string
	for _, cmd := range group.Commands() {
		if cmd.IsAvailableCommand() {
			names = append(names, cmd.Name())
		}
	}
	return words.DidYouMean(words.Similar(typed[0], names)...)
}
