package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// stdio is what a command has from outside: data on out, talk on err.
type stdio struct {
	in       io.Reader
	out, err io.Writer
	env      []string
	now      func() time.Time
	terminal bool // err is one
	// size is that of the terminal that out is. Nil is none.
	size func() (width, height int)
	// quiet takes standard error from libraries, which cannot be told to be silent otherwise. Nil cannot.
	quiet func()
	// linger makes the process wait longer for a command to end after it was told to. Nil cannot.
	linger func(time.Duration)
}

// getenv returns a variable of the environment, "" if it is not set.
func (s stdio) getenv(name string) string {
	for _, v := range slices.Backward(s.env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// note says something that the user should know.
func (s stdio) note(line string) { fmt.Fprintln(s.err, "note:", line) }

// warn says that something is probably wrong.
func (s stdio) warn(line string) { fmt.Fprintln(s.err, "warning:", line) }

// Exit codes of every command.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitFound  = 3
)

var errFound = problem.ErrFound

func usagef(format string, args ...any) error { return problem.Usagef(format, args...) }

// execute runs a command line and returns its exit code.
func execute(ctx context.Context, std stdio, args []string) int {
	root := newRootCommand(std)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errFound):
		return exitFound
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(std.err, "error:", words.Harmless(strings.TrimSuffix(line, "\n")))
	}
	var usage problem.UsageError
	if errors.As(err, &usage) {
		fmt.Fprintf(std.err, "Run '%s --help' for usage.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
}

func newRootCommand(std stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "argosy",
		Short:         "Boot an Argo CD cluster in order, from whatever its manifests are stored in",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetIn(std.in)
	cmd.SetOut(std.out)
	cmd.SetErr(std.err)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return problem.Usage(err) })
	cmd.AddCommand(newRepoCommand(std), newCmpCommand(std),
		newPlanCommand(std), newLintCommand(std), newSimulateCommand(std), newDemoCommand(std), newEventsCommand(std),
		newStatusCommand(std), newWaitCommand(std), newWhyCommand(std), newVersionCommand(std),
		newGroup("app", "One Application, as Argo CD deploys it", newAppRenderCommand(std)),
		newGroup("appset", "ApplicationSets without the applicationset-controller",
			newAppsetGenerateCommand(std), newAppsetConvertCommand(std), newAppsetHandoverCommand(std)),
		newGroup("health", "Health of objects, as Argo CD sees it", newHealthCheckCommand(std), newHealthScriptCommand(std)),
		newGroup("s3", "Manifests, archives and charts in S3",
			newS3DiscoverCommand(std), newS3InitCommand(std), newS3GenerateCommand(std), newS3ValidateCommand(std),
			newS3PushCommand(std), newS3PullCommand(std), newS3DiffCommand(std)))
	cmd.SetHelpCommand(newHelpCommand(cmd))
	addCompletion(cmd)
	return cmd
}

// newGroup is a command that has nothing but others.
func newGroup(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// newHelpCommand is cobra's, except that help for a command that does not exist is an error.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("there is no command %q%s", strings.Join(args, " "), didYouMean(cmd, rest))
			}
			return cmd.Help()
		},
	}
}

// noArgs refuses arguments of commands that have none, which for a group of commands are unknown commands.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unknown command %q for %q%s", args[0], cmd.CommandPath(), didYouMean(cmd, args))
	}
	return nil
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
	if names = similar(typed[0], names); len(names) == 0 {
		return ""
	}
	return "; did you mean " + words.Some(names) + "?"
}

// similar returns those of names that are close to one that was typed, as cobra does for commands.
func similar(typed string, names []string) []string {
	list := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range names {
		list.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	out := list.SuggestionsFor(typed)
	slices.Sort(out)
	return slices.Compact(out)
}
