package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/boot"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/screen"
)

type bootOptions struct {
	option.Plan
	live   option.Live
	boot   boot.Config
	output cli.Choice
}

func newBootCommand(std stdio) *cobra.Command {
	opts := bootOptions{output: cli.OneOf("text", "json")}
	cmd := &cobra.Command{
		Use:   "boot [ROOT...]",
		Short: "Boot a cluster: check it, apply the root, follow the waves to the end, say what blocks",
		Long: `Boot a cluster from a root Application. The root is planned and checked as by argosy plan and argosy lint, the
cluster is checked, the root is applied (server-side, field manager argosy), and the waves are followed until
everything is healthy and synced. After --timeout it prints what blocks and why, as argosy why does. In the end
the boot is compared with the plan.

ROOT and the flags about repositories are those of argosy plan. The plan uses what the cluster has: its version
of Argo CD, its settings, its kinds, namespaces and projects.

Each check is ok, failed or unknown, and a failed one has a fix; --fix applies those that are safe: the health
check of Applications in argocd-cm. A failed check ends the boot before the root is applied, unless --force
is set; with --strict, an unknown check does, too. If the command is interrupted or killed, the cluster stays as
it is, and the next boot continues from there. A boot after a complete one finds nothing to do.

Exit code 0: everything is healthy and synced. 1: the cluster cannot be reached or refuses the root, or
the boot was interrupted. 3: a check has failed, or the boot is not done within --timeout. See docs/live.md.`,
		Example: `  argosy boot
  argosy boot apps/root.yaml --dry-run
  argosy boot apps/root.yaml --fix --timeout 1h --record boot.jsonl
  argosy boot apps/root.yaml --install argocd/ -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.boot.Check(); err != nil {
				return err
			}
			opts.live.Namespace = opts.Namespace
			cfg, done, err := opts.live.Follow(std, cmd)
			if err != nil {
				return err
			}
			defer done()
			opts.boot.Follow = cfg
			return runBoot(cmd.Context(), std, opts, args)
		},
	}
	flags, b := cmd.Flags(), &opts.boot
	opts.Register(flags)
	opts.RegisterCluster(flags)
	opts.live.RegisterLive(flags)
	flags.Lookup("namespace").Usage = "Argo CD's namespace; default argocd, or in a pod its own"
	flags.DurationVar(&b.Timeout, "timeout", 30*time.Minute, "give up after this time, with exit code 3")
	flags.BoolVar(&b.DryRun, "dry-run", false, "change nothing: plan, check, and ask the API server whether it would accept the root")
	flags.BoolVar(&b.Fix, "fix", false,
		"repair what a check finds, where that is safe: write the health check of Applications to argocd-cm")
	flags.BoolVar(&b.Unwedge, "unwedge", false,
		"end a sync of an old revision, and sync the new one, if the old sync has failed and is retried, or has waited for 5 minutes")
	flags.BoolVar(&b.Force, "force", false, "boot even if a check fails; Argo CD must be installed")
	flags.BoolVar(&b.ForceConflicts, "force-conflicts", false, "take fields of applied objects from other field managers")
	flags.StringVar(&b.Install, "install", "",
		"install Argo CD first, from a file of manifests, or a directory of manifests, a kustomization or a chart: `PATH`")
	flags.StringVar(&b.Record, "record", "", "write a recording of the boot to `FILE`, for argosy status and why --recording")
	flags.StringVar(&b.Learn, "learn", "", "write the measured times to `FILE`, for argosy simulate --model")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.Usage()+"; json is a line for each event")
	opts.CompleteNames(std, cmd, option.Arguments, map[string]string{"allow-unknown": ""})
	return cmd
}

func runBoot(ctx context.Context, std stdio, opts bootOptions, args []string) (err error) {
	b := opts.boot
	if b.Lint.Preview, err = opts.Prepare(std, args, opts.output); err != nil {
		return err
	}
	defer b.Lint.Planner.Close() //nolint:errcheck // only read from
	b.Follow.Format = report.Format(opts.output.Value)
	b.Screen = screen.Config{Size: std.Size, Dumb: std.Dumb(), Color: std.Getenv("NO_COLOR") == ""}
	return boot.Run(ctx, b)
}
