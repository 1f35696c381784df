package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/preview"
	"github.com/argosy-cd/argosy/internal/report"
)

type simulateOptions struct {
	option.Plan
	simulation preview.Simulation
	output     cli.Choice
}

func newSimulateCommand(std stdio) *cobra.Command {
	opts := simulateOptions{output: cli.OneOf("table", "json", "svg")}
	cmd := &cobra.Command{
		Use:   "simulate [ROOT...]",
		Short: "Run a boot before it happens: when each Application becomes healthy, and what a failure blocks",
		Long: `Run the boot of a root Application by Argo CD's rules, without a cluster: a wave starts when all objects of the
wave before are healthy, where objects without a health check do not count; a Degraded object fails the sync,
which is retried with a backoff and then given up; a sync does not wait for its last wave.

ROOT and the flags about repositories are those of argosy plan. A model has the time that each kind takes;
--model, --duration and --learn change it. --jitter lengthens each time randomly; the same --seed gives the same
times. It prints a time line, the critical path, the waves that a single slow Application holds up, and, if the
boot does not end, what waits for what. The exit code is 3 if the boot does not end, or if the plan is broken or
incomplete.

  --fail x              its workloads become Degraded
  --never x             they never become healthy
  --degrade x@30s..2m   they are Degraded from 30 s to 2 min after the beginning
  --each                what each Application blocks if it never becomes healthy
  --compare stock       the same boot with the applicationset-controller, whose sets no wave waits for
  --update main         no boot: what your work tree does to a cluster that has booted from main`,
		Example: `  argosy simulate --repo https://git.example.com/home/cluster.git=. root.yaml
  argosy simulate --never longhorn root.yaml
  argosy simulate --duration longhorn=5m --compare stock root.yaml
  argosy simulate --update main --never longhorn root.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("seed") && opts.simulation.Times.Jitter == 0 {
				return usagef("--seed requires --jitter")
			}
			opts.simulation.Times.Read, opts.simulation.Times.Note = input.File, std.Note
			return runSimulate(cmd.Context(), std, opts, args)
		},
	}
	flags, times, faults := cmd.Flags(), &opts.simulation.Times, &opts.simulation.Faults
	opts.Register(flags)
	opts.RegisterCluster(flags)
	flags.StringArrayVar(&times.Durations, "duration", nil, "set how long the workloads of an Application take, `NAME=TIME`; repeatable")
	flags.StringVar(&times.Model, "model", "", "`FILE` with times by kind and by Application, such as argosy boot --learn writes")
	flags.StringVar(&times.Learn, "learn", "",
		"take times from a boot in `FILE`: the output of kubectl get applications -A -o json after it, or of argosy simulate -o json; "+
			"a file of argosy boot --learn is for --model")
	flags.StringSliceVar(&faults.Fail, "fail", nil,
		"`NAMES` of Applications whose workloads become Degraded, with * for any characters")
	flags.StringSliceVar(&faults.Never, "never", nil,
		"`NAMES` of Applications whose workloads never become healthy, with * for any characters")
	flags.StringArrayVar(&faults.Degrade, "degrade", nil,
		"workloads are Degraded for a time, `NAME@FROM..TO`, or NAME@FROM for ever, with * for any characters in NAME; repeatable")
	flags.Float64Var(&times.Jitter, "jitter", 0, "lengthen each workload randomly, by up to this fraction")
	flags.Uint64Var(&times.Seed, "seed", 1, "random seed for --jitter")
	flags.BoolVar(&opts.simulation.Each, "each", false, "rank Applications by what they block, instead of a time line")
	flags.StringVar(&opts.simulation.Against, "compare", "", "stock: compare with the applicationset-controller")
	flags.StringVar(&opts.simulation.Since, "update", "", "simulate what the work tree does to a healthy cluster that runs a `REVISION`")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.Usage())
	opts.CompleteNames(std, cmd, option.Arguments, map[string]string{
		"allow-unknown": "", "fail": "", "never": "", "degrade": "@",
		"duration": "=",
	})
	return cmd
}

func runSimulate(ctx context.Context, std stdio, opts simulateOptions, args []string) error {
	s := opts.simulation
	s.Format = report.Format(opts.output.Value)
	err := s.Check()
	if err != nil {
		return err
	}
	if s.Preview, err = opts.Prepare(std, args, opts.output); err != nil {
		return err
	}
	defer s.Planner.Close() //nolint:errcheck // only read from
	return s.Run(ctx)
}
