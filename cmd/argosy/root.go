package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// stdio holds the inputs and outputs of a command.
type stdio = cli.Std

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
		fmt.Fprintln(std.Err, "error:", words.Harmless(strings.TrimSuffix(line, "\n")))
	}
	var usage problem.UsageError
	if errors.As(err, &usage) {
		fmt.Fprintf(std.Err, "Run '%s --help' for usage.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
}

func newRootCommand(std stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "argosy",
		Short:         "Boot an Argo CD cluster in the order of its waves, from Git, charts or S3",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args:          cli.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetIn(std.In)
	cmd.SetOut(std.Out)
	cmd.SetErr(std.Err)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return problem.Usage(err) })
	cmd.AddCommand(newRepoCommand(std), newCmpCommand(std),
		newPlanCommand(std), newLintCommand(std), newSimulateCommand(std), newDemoCommand(std), newEventsCommand(std),
		newBootCommand(std), newStatusCommand(std), newWaitCommand(std), newWhyCommand(std), newBoardCommand(std), newInstallCommand(std),
		newVersionCommand(std), newManCommand(),
		cli.Group("app", "One Application, as Argo CD deploys it", newAppRenderCommand(std)),
		cli.Group("appset", "ApplicationSets without the applicationset-controller",
			newAppsetGenerateCommand(std), newAppsetConvertCommand(std), newAppsetHandoverCommand(std)),
		cli.Group("health", "Health of objects, as Argo CD sees it", newHealthCheckCommand(std), newHealthScriptCommand(std)),
		cli.Group("s3", "Manifests, archives and charts in S3",
			newS3DiscoverCommand(std), newS3InitCommand(std), newS3GenerateCommand(std), newS3ValidateCommand(std),
			newS3PushCommand(std), newS3PullCommand(std), newS3DiffCommand(std)))
	cli.AddHelp(cmd)
	cli.AddCompletion(cmd)
	return cmd
}
