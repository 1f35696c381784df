package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
)

type demoOptions struct {
	speed  float64
	fail   []string
	repair time.Duration
	once   bool
	repos  []string
	// settings are about the Argo CD of the user's own repository.
	settings planInput
}

func newDemoCommand(std stdio) *cobra.Command {
	var opts demoOptions
	cmd := &cobra.Command{
		Use:   "demo [ROOT...]",
		Short: "Boot the example cluster, or your own repository, without a cluster",
		Long: `Boot a cluster that does not exist. The example cluster, which is in the program, is planned and booted wave by wave, faster than it would be.

What is real: an S3 server in this process that CI has left something in, a Git server with the repository and with trigger repositories that tick,
both plugins on the sockets that Argo CD would talk to, and a client that does what its repo-server does: it fetches with Git, and asks the plugins
for the manifests of each Application when its sync begins. What they answer is compared with the plan. What is not real is the cluster:
when what becomes healthy is that of argosy simulate.

With --repo it is your own repository, as it lies on disk, with all ApplicationSets rendered by the plugin. ROOT is then the file of the root
Application, if it is not to be found. Charts, remote bases and other repositories are fetched as by argosy plan, unless --offline.

On a terminal it goes on after the boot until you stop it: at each tick of the trigger repository, the plugins render again, and changes are
printed. With --once, and where there is no terminal, it ends with the boot. The exit code is 3 if the boot does not end, or if the plan is broken or
incomplete.`,
		Example: `  argosy demo
  argosy demo --fail longhorn --repair-after 20s
  argosy demo --repo . --speed 100`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(opts.check(args), opts.onlyOwn(cmd.Flags())); err != nil {
				return err
			}
			return runDemo(cmd.Context(), std, opts, args)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&opts.speed, "speed", 20, "how many times as fast as a real boot")
	flags.StringSliceVar(&opts.fail, "fail", nil, "`NAMES` of Applications whose workloads become Degraded")
	flags.DurationVar(&opts.repair, "repair-after", 0, "a commit mends them so long after they became Degraded, in the time of the boot")
	flags.BoolVar(&opts.once, "once", false, "exit when the boot is over; default where there is no terminal")
	flags.StringArrayVar(&opts.repos, "repo", nil, "boot your own repository, `PATH`, or URL=PATH if its Applications do not say its URL; repeatable, also s3://BUCKET=PATH")
	opts.settings.registerSettings(flags)
	cmd.AddCommand(newSweepCommand(std))
	return cmd
}

func (o *demoOptions) check(args []string) error {
	switch {
	case !(o.speed >= 0.1 && o.speed <= 10_000): // also not a number
		return usagef("--speed must be 0.1 to 10000, it is %g", o.speed)
	case o.repair < 0 || o.repair > 24*time.Hour:
		return usagef("--repair-after must be 0 to 24h, it is %s", o.repair)
	case len(slices.Compact(slices.Sorted(slices.Values(o.fail)))) < len(o.fail):
		return usagef("--fail names an Application twice")
	case o.repair > 0 && len(o.fail) == 0:
		return usagef("--repair-after goes with --fail")
	case len(args) > 0 && len(o.repos) == 0:
		return usagef("ROOT goes with --repo")
	}
	return nil
}

// onlyOwn refuses flags about the user's own repository if there is none.
func (o *demoOptions) onlyOwn(flags *pflag.FlagSet) error {
	var own pflag.FlagSet
	new(planInput).registerSettings(&own)
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if own.Lookup(f.Name) != nil && len(o.repos) == 0 {
			err = usagef("--%s goes with --repo", f.Name)
		}
	})
	return err
}

// runDemo boots.
func runDemo(ctx context.Context, std stdio, opts demoOptions, args []string) (err error) {
	defer func() {
		if errors.Is(err, context.Canceled) {
			err = errors.New("stopped before the boot")
		}
	}()
	x, err := opts.exhibit(ctx, std, args)
	if err != nil {
		return err
	}
	if x.elsewhere != nil {
		defer x.elsewhere.Close() //nolint:errcheck // only read from
	}
	dir, err := newDemoDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.remove()) }()
	clock := &bootClock{base: std.now().Truncate(demoInterval), speed: opts.speed}
	s := &stage{exhibit: x, settings: opts.settings, dir: dir.path, now: clock.now}
	if err := openStage(ctx, std, s); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	p, err := s.plan(ctx)
	if err != nil {
		return err
	}
	show := newShow(std, s, p, clock)
	show.line("PLAN of %s\n", x.title)
	var table strings.Builder
	if err := planTable(&table, p, false); err != nil {
		return err
	}
	show.table(table.String())
	if names := unnamed(p); len(names) > 0 {
		does := "does"
		if len(names) > 1 {
			does = "do"
		}
		show.line("\n%s %s not name the plugin appset, which renders its sets here; without it no wave waits for them, see argosy plan", words.Some(names), does)
	}
	var faults []simulate.Fault
	for _, name := range opts.fail {
		faults = append(faults, simulate.Fault{App: name, Kind: simulate.Fail, Mended: opts.repair})
	}
	boot, err := patientBoot(p, opts.repair, faults)
	if err != nil {
		return problem.Usage(err)
	}
	show.line("\nBOOT, %g times as fast\n", opts.speed)
	if err := show.run(ctx, boot); err != nil {
		return err
	}
	if !opts.once && std.size != nil {
		show.stay(ctx)
	}
	if !boot.Done() {
		return errFound
	}
	return opts.settings.verdict.exit(std, p)
}

// patientBoot boots until nothing happens any more, or until it is clear that nothing else will: a sync can be tried for ever.
func patientBoot(p *plan.Plan, repair time.Duration, faults []simulate.Fault) (*simulate.Boot, error) {
	model := simulate.DefaultModel()
	usual, err := simulate.Simulate(p, model)
	if err != nil {
		return nil, err
	}
	model.Horizon = 2*min(usual.Total, model.Horizon) + repair + 15*time.Minute
	return simulate.Simulate(p, model, faults...)
}

// unnamed are Applications with sets in Git that do not name the plugin which renders them here.
func unnamed(p *plan.Plan) []string {
	var out []string
	for _, app := range p.Applications {
		if slices.ContainsFunc(app.Sources, func(s plan.Source) bool { return s.Kind == source.AppSet && namedPlugin(s) == "" }) {
			out = append(out, words.Printable(app.Name))
		}
	}
	return out
}

func (o *demoOptions) exhibit(ctx context.Context, std stdio, args []string) (*exhibit, error) {
	if len(o.repos) == 0 {
		return exampleCluster()
	}
	return ownCluster(ctx, std, *o, args)
}

// bootClock is the time of a boot. It goes on only while nothing is done, so what is done takes no time of the boot, and every demo is the
// same.
type bootClock struct {
	base  time.Time // when the boot begins
	speed float64
	gone  atomic.Int64
}

// passed is how long the boot takes by now.
func (c *bootClock) passed() time.Duration { return time.Duration(c.gone.Load()) }

func (c *bootClock) now() time.Time { return c.base.Add(c.passed()) }

// wait lets time pass, so much at most in ours, up to a time of the boot.
func (c *bootClock) wait(ctx context.Context, to, most time.Duration) {
	left := to - c.passed()
	ours := time.Duration(float64(left) / c.speed)
	if ours > most {
		ours, left = most, time.Duration(float64(most)*c.speed)
	}
	select {
	case <-ctx.Done():
	case <-time.After(ours):
		c.gone.Add(int64(left))
	}
}
