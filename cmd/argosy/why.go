package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/follow"
)

type whyOptions struct {
	option.Live
	output cli.Choice
}

func newWhyCommand(std stdio) *cobra.Command {
	opts := whyOptions{output: cli.OneOf("text", "json", "markdown")}
	cmd := &cobra.Command{
		Use:   "why [[NAMESPACE/]APP]",
		Short: "Explain why an Application, or the boot, waits: from the wave down to the object and its condition",
		Long: `Explain why an Application of a live cluster is not healthy and synced: the chain from what waits, through waves
and Applications, down to the object, its condition or its Event. The most likely cause is first. Each cause has
a fix where one is known, and a command where there is one.

APP is an Application; the default is everything that is not healthy and synced. The command only reads. Objects
that it could not read, for lack of rights or because they are in another cluster, are listed under NOT READ. It
never reads Secrets.

Exit code 0: everything is healthy and synced. 3: something is not healthy or not synced, or, without APP, some
Applications cannot be watched. 1: the cluster cannot be read. See docs/live.md.`,
		Example: `  argosy why
  argosy why longhorn
  argosy why root -o markdown`,
		Args: cli.AtMostOneApplication,
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.WithBoot(std, cmd, opts.output, func(ctx context.Context, b *follow.Boot) error {
				return b.Why(ctx, cli.First(args))
			})
		},
	}
	opts.Register(cmd.Flags())
	cmd.Flags().VarP(&opts.output, "output", "o", "output format, "+opts.output.Usage())
	opts.CompleteApplication(std, cmd)
	return cmd
}
