package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
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
	switch {
	case opts.compare != "":
		return opts.runCompare(ctx, std, args, faults)
	case opts.update != "":
		return opts.runUpdate(ctx, std, args, faults)
	}
	p, err := opts.planned(ctx, std, args, "")
	if err != nil {
		return err
	}
	if faults, err = simulate.Match(p, faults); err != nil {
		return err
	}
	model, err := opts.times.Load(p)
	if err != nil {
		return err
	}
	if opts.each {
		radii, err := simulate.Blast(p, model)
		if err != nil {
			return err
		}
		if err := report.Blast(std.out, opts.output.format(), radii); err != nil {
			return err
		}
		return opts.verdict.exit(std, p)
	}
	boot, err := simulate.Simulate(p, model, faults...)
	if err != nil {
		return problem.Usage(err)
	}
	return opts.print(std, p, boot)
}

// print prints a boot, and says by the exit code whether it ends.
func (o *simulateOptions) print(std stdio, p *plan.Plan, boot *simulate.Boot) error {
	err := report.Boot(std.out, o.output.format(), p, boot)
	if err == nil && !boot.Done() {
		err = errFound
	}
	if err == nil {
		err = o.verdict.exit(std, p)
	}
	return err
}

// runUpdate simulates what the work tree does to a cluster that runs a revision.
func (o *simulateOptions) runUpdate(ctx context.Context, std stdio, args []string, faults []simulate.Fault) error {
	planner, err := o.planner(std)
	if err != nil {
		return err
	}
	defer planner.Close() //nolint:errcheck // only read from
	before, after, err := planner.Both(ctx, o.update, args)
	switch {
	case err != nil:
		return err
	case before.Root == nil:
		return fmt.Errorf("there is no such root at %s, so there is no cluster to update; name no ROOT if it had another name then",
			words.Printable(o.update))
	case after.Root == nil:
		return fmt.Errorf("there is no root now, only at %s", words.Printable(o.update))
	}
	if faults, err = simulate.Match(after, faults); err != nil {
		return err
	}
	model, err := o.times.Load(after)
	if err != nil {
		return err
	}
	boot, err := simulate.Update(before, after, model, faults...)
	if err != nil {
		return problem.Usage(err)
	}
	for _, f := range faults {
		if r := boot.Find(f.App); !r.Touched && r.Created < 0 {
			fmt.Fprintf(std.err, "note: the update does not change %s, so it cannot go wrong\n", words.Printable(f.App))
		}
	}
	if names := notCompared(before, after); len(names) > 0 {
		fmt.Fprintf(std.err, "note: parts of %s are not known, so the update may change more of them than is shown: %s\n",
			words.Count(len(names), "Application"), words.Harmless(words.Some(names)))
	}
	err = o.print(std, after, boot)
	// A cluster that runs a broken revision is not healthy.
	for i, g := range o.verdict.rules().Gaps(before) {
		if i < 5 {
			fmt.Fprintf(std.err, "at %s, %s; it is taken for healthy\n", words.Printable(o.update), report.GapText(g))
		}
		if err == nil {
			err = errFound
		}
	}
	return err
}

// notCompared are the Applications of which parts are not known on a side.
func notCompared(before, after *plan.Plan) []string {
	var names []string
	for _, ref := range plan.Diff(before, after).NotCompared {
		names = append(names, ref.Name)
	}
	return names
}

// planned makes the plan, with sets as they are or rendered by somebody else.
func (o *simulateOptions) planned(ctx context.Context, std stdio, args []string, sets string) (*plan.Plan, error) {
	planner, err := o.planner(std)
	if err != nil {
		return nil, err
	}
	defer planner.Close() //nolint:errcheck // only read from
	planner.Config.Sets = sets
	roots, err := planner.Roots(ctx, args)
	if err != nil {
		return nil, err
	}
	return planner.Plan(ctx, roots)
}

// runCompare boots twice: with sets rendered by the controller, and by the plugin.
func (o *simulateOptions) runCompare(ctx context.Context, std stdio, args []string, faults []simulate.Fault) error {
	var c report.Comparison
	var model simulate.Model
	for i, sets := range []string{plan.SetsByController, plan.SetsByPlugin} {
		p, err := o.planned(ctx, std, args, sets)
		if err != nil {
			return err
		}
		if i == 0 {
			if model, err = o.times.Load(p); err != nil {
				return err
			}
		}
		c.Plans[i] = p
		if o.each {
			if c.Radii[i], err = simulate.Blast(p, model); err != nil {
				return fmt.Errorf("with the %s: %w", report.Renderers()[i], err)
			}
			continue
		}
		matched, err := simulate.Match(p, faults)
		if err != nil {
			return err
		}
		if c.Boots[i], err = simulate.Simulate(p, model, matched...); err != nil {
			return problem.Usage(err)
		}
	}
	if o.each {
		if err := c.WriteBlast(std.out, o.output.format()); err != nil {
			return err
		}
		return o.verdict.exit(std, c.Plans[1])
	}
	if err := c.Write(std.out, o.output.format()); err != nil {
		return err
	}
	if !c.Boots[1].Done() {
		return errFound
	}
	return o.verdict.exit(std, c.Plans[1])
}
