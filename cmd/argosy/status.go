package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/follow"
)

type statusOptions struct {
	option.Live
	watch  bool
	output cli.Choice
}

func newStatusCommand(std stdio) *cobra.Command {
	opts := statusOptions{output: cli.OneOf("text", "json")}
	cmd := &cobra.Command{
		Use:   "status [[NAMESPACE/]ROOT]",
		Short: "Show where the boot of a cluster stands: waves, health, sync, and what waits for what",
		Long: `Show where the boot of a live cluster stands: the Applications in the order of their waves, their health and
sync, since when they have that health, and what each of them waits for. Applications that their parent has not
created yet are listed, too.

ROOT is an Application, and everything below it is shown; the default is all Applications. The command only
reads: it watches Applications and ApplicationSets. Everything it has no right to read is listed under NOT READ.
See docs/live.md.`,
		Example: `  argosy status
  argosy status root --watch
  argosy status root -o json`,
		Args: cli.AtMostOneApplication,
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.WithBoot(std, cmd, opts.output, func(ctx context.Context, b *follow.Boot) error {
				if opts.watch {
					return b.Watch(ctx, cli.First(args))
				}
				return b.Status(cli.First(args))
			})
		},
	}
	flags := cmd.Flags()
	opts.Register(flags)
	flags.BoolVarP(&opts.watch, "watch", "w", false, "print the status again at each change; with -o json one line for each state")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.Usage())
	opts.CompleteApplication(std, cmd)
	return cmd
}
