package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/preview"
	"github.com/argosy-cd/argosy/internal/simulate"
)

type simulateOptions struct {
	planInput
	times   simulate.Times
	faults  simulate.Faults
	each    bool
	compare string
	update  string
	output  formatFlag
}

func newSimulateCommand(std stdio) *cobra.Command {
	opts := simulateOptions{output: formatFlag{value: "table", allowed: []string{"table", "json", "svg"}}}
	cmd := &cobra.Command{
		Use:   "simulate [ROOT...]",
		Short: "Run a boot before it happens: when each Application becomes healthy, and what a failure blocks",
		Long: `Run the boot of a root Application by Argo CD's rules, without a cluster: a wave starts when everything of the
one before that has a health check is healthy; what is Degraded fails a sync, which is tried again with a
backoff and then given up; the last wave is not waited for.

ROOT and the flags about repositories are those of argosy plan. How long things take is a small model by kind,
which --model, --duration and --learn change; with --jitter each takes longer by chance, the same for the same
--seed. It prints a time line, the critical path, where waves cost time that one Application alone needs, and,
if the boot does not end, what waits for what; then, or if the plan is broken or incomplete, the exit code is
3.

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
			if cmd.Flags().Changed("seed") && opts.times.Jitter == 0 {
				return usagef("--seed goes with --jitter")
			}
			opts.times.Read, opts.times.Note = input.File, std.note
			return runSimulate(cmd.Context(), std, opts, args)
		},
	}
	flags := cmd.Flags()
	opts.register(flags)
	opts.registerCluster(flags)
	flags.StringArrayVar(&opts.times.Durations, "duration", nil, "the workloads of an Application take so long, `NAME=TIME`; repeatable")
	flags.StringVar(&opts.times.Model, "model", "", "`FILE` with times by kind and by Application")
	flags.StringVar(&opts.times.Learn, "learn", "",
		"`FILE` with a boot, to take the times of its Applications from: kubectl get applications -A -o json of a cluster that has "+
			"booted, or -o json")
	flags.StringSliceVar(&opts.faults.Fail, "fail", nil,
		"`NAMES` of Applications whose workloads become Degraded, with * for any characters")
	flags.StringSliceVar(&opts.faults.Never, "never", nil,
		"`NAMES` of Applications whose workloads never become healthy, with * for any characters")
	flags.StringArrayVar(&opts.faults.Degrade, "degrade", nil,
		"workloads are Degraded for a time, `NAME@FROM..TO`, or NAME@FROM for ever, with * for any characters in NAME; repeatable")
	flags.Float64Var(&opts.times.Jitter, "jitter", 0, "lengthen each workload randomly, by up to this fraction")
	flags.Uint64Var(&opts.times.Seed, "seed", 1, "random seed for --jitter")
	flags.BoolVar(&opts.each, "each", false, "rank Applications by what they block, instead of a time line")
	flags.StringVar(&opts.compare, "compare", "", "stock: compare with the applicationset-controller")
	flags.StringVar(&opts.update, "update", "", "simulate what the work tree does to a healthy cluster that runs a `REVISION`")
	flags.VarP(&opts.output, "output", "o", "output format, "+opts.output.usage())
	opts.completeNames(std, cmd, arguments, map[string]string{
		"allow-unknown": "", "fail": "", "never": "", "degrade": "@",
		"duration": "=",
	})
	return cmd
}

func (o *simulateOptions) check() error {
	switch {
	case !(o.times.Jitter >= 0 && o.times.Jitter <= 10): // also not a number
		return usagef("--jitter must be 0 to 10, it is %g", o.times.Jitter)
	case o.compare != "" && o.compare != "stock":
		return usagef("--compare must be stock, it is %q", o.compare)
	case o.update != "" && (o.each || o.compare != ""):
		return usagef("--update goes without --each and --compare")
	case o.each && o.output.value == "svg":
		return usagef("--each goes with -o table and json")
	case o.each && len(o.faults.Fail)+len(o.faults.Never)+len(o.faults.Degrade) > 0:
		return usagef("--each goes without --fail, --never and --degrade")
	}
	return nil
}

func runSimulate(ctx context.Context, std stdio, opts simulateOptions, args []string) error {
	if err := opts.check(); err != nil {
		return err
	}
	faults, err := opts.faults.Parse()
	if err != nil {
		return err
	}
	v, err := opts.preview(std, args, opts.output)
	if err != nil {
		return err
	}
	defer v.Planner.Close() //nolint:errcheck // only read from
	s := preview.Simulation{Preview: v, Times: opts.times, Faults: faults}
	switch {
	case opts.update != "":
		return s.Update(ctx, opts.update)
	case opts.compare != "" && opts.each:
		return s.CompareBlast(ctx)
	case opts.compare != "":
		return s.Compare(ctx)
	case opts.each:
		return s.Blast(ctx)
	}
	return s.Boot(ctx)
}
