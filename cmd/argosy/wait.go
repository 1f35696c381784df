package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/follow"
	"github.com/argosy-cd/argosy/internal/live"
)

type waitOptions struct {
	option.Live
	goals   []string
	timeout time.Duration
}

func newWaitCommand(std stdio) *cobra.Command {
	opts := waitOptions{Live: option.Live{Patience: 30 * time.Second}}
	cmd := &cobra.Command{
		Use:   "wait [NAMESPACE/]ROOT",
		Short: "Wait until an Application, and everything below it, is healthy, synced or at a revision",
		Long: `Wait until an Application of a live cluster reaches a state, for pipelines. With several --for, all must be
reached at the same time.

  --for healthy        ROOT and everything below it exist and are Healthy, and no sync runs
  --for synced         ROOT and everything below it exist and are Synced, and no sync runs
  --for revision=SHA   ROOT is Synced to this commit; the first 7 characters are enough

After a push, everything can still be healthy from the old commit: wait for the revision, too. The
command also waits for an Application that does not exist yet.

Exit code 0: reached. 1: the cluster cannot be read, or the command was interrupted. 2: usage. 3: not reached
within --timeout; standard error then lists the Applications that did not reach it, and the causes, as argosy why
prints them.
See docs/live.md.`,
		Example: `  argosy wait root --for healthy --timeout 20m
  argosy wait root --for revision=$(git rev-parse HEAD) --for healthy`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("the name of one Application is needed")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.timeout <= 0 {
				return usagef("--timeout must be more than 0, it is %s", opts.timeout)
			}
			var goals []live.Goal
			for _, text := range opts.goals {
				g, err := live.ParseGoal(text)
				if err != nil {
					return usagef("--for: %v", err)
				}
				goals = append(goals, g)
			}
			return opts.WithBoot(std, cmd, cli.Choice{Value: "text"}, func(ctx context.Context, b *follow.Boot) error {
				return b.Wait(ctx, args[0], goals, opts.timeout)
			})
		},
	}
	flags := cmd.Flags()
	opts.Register(flags)
	flags.StringArrayVar(&opts.goals, "for", []string{"healthy"}, "`STATE` to wait for: healthy, synced or revision=SHA; repeatable")
	flags.DurationVar(&opts.timeout, "timeout", 10*time.Minute, "give up after this time, with exit code 3")
	opts.CompleteApplication(std, cmd)
	return cmd
}
