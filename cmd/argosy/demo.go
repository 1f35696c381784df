package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/demo"
	"github.com/argosy-cd/argosy/internal/preview"
	"github.com/argosy-cd/argosy/internal/screen"
	"github.com/argosy-cd/argosy/internal/workspace"
)

type demoOptions struct {
	demo.Config
	once  bool
	repos []string
	// settings are about the Argo CD of the user's own repository.
	settings option.Plan
}

func newDemoCommand(std stdio) *cobra.Command {
	var opts demoOptions
	cmd := &cobra.Command{
		Use:   "demo [ROOT...]",
		Short: "Boot the example cluster, or your own repository, without a cluster",
		Long: `Boot a cluster that does not exist. The example cluster, which is in the program, is planned and booted wave
by wave, faster than in real time.

These parts are real: an S3 server in this process with artifacts of a CI, a Git server with the repository and
with trigger repositories that tick, both plugins on the sockets that Argo CD would use, and a client that does
what Argo CD's repo-server does: it fetches with Git, and asks the plugins for the manifests of each Application
when its sync begins. Their answers are compared with the plan. The cluster is not real: an Application becomes
healthy when argosy simulate says so.

With --repo it boots your own repository, as it is on disk, with all ApplicationSets rendered by the plugin.
ROOT is then the file of the root Application; without it, the root is searched for. Charts, remote bases and other
repositories are fetched as by argosy plan, unless --offline.

On a terminal, or with --listen, a page shows the boot, too (see argosy board): its address is printed, and the
page can change the speed, and break and repair Applications.

Then the demo goes on after the boot until you stop it: at each tick of the trigger repository, the plugins
render again, and changes are printed. With --once, and where there is neither a terminal nor --listen, it ends
with the boot. The exit code is 3 if the boot does not end, or if the plan is broken or incomplete.`,
		Example: `  argosy demo
  argosy demo --fail longhorn --repair-after 20s
  argosy demo --repo . --speed 100`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(opts.Check(), opts.onlyOwn(cmd.Flags(), args)); err != nil {
				return err
			}
			return runDemo(cmd.Context(), std, opts, args)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&opts.Speed, "speed", 20, "speed, as a multiple of a real boot")
	flags.StringSliceVar(&opts.Fail, "fail", nil,
		"`NAMES` of Applications whose workloads become Degraded, with * for any characters")
	flags.DurationVar(&opts.Repair, "repair-after", 0,
		"repair the Applications of --fail this long after they became Degraded (simulated time)")
	flags.StringVar(&opts.Listen, "listen", "",
		"`ADDRESS` of the page that shows the boot, on loopback; default: 127.0.0.1:0 on a terminal")
	flags.BoolVar(&opts.once, "once", false, "exit when the boot is over; the default where there is no terminal and no --listen")
	flags.StringArrayVar(&opts.repos, "repo", nil,
		"boot your own repository, `PATH`, or URL=PATH if its Applications do not name its URL; repeatable, also s3://BUCKET=PATH")
	opts.settings.RegisterOwn(flags)
	cmd.AddCommand(newSweepCommand(std))
	return cmd
}

// onlyOwn refuses roots and flags of the user's own repository if there is none.
func (o *demoOptions) onlyOwn(flags *pflag.FlagSet, roots []string) error {
	if len(roots) > 0 && len(o.repos) == 0 {
		return usagef("ROOT requires --repo")
	}
	var own pflag.FlagSet
	new(option.Plan).RegisterOwn(&own)
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if own.Lookup(f.Name) != nil && len(o.repos) == 0 {
			err = usagef("--%s requires --repo", f.Name)
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
	defer x.Close() //nolint:errcheck // only read from
	cfg := opts.Config
	cfg.Exhibit, cfg.Program, cfg.Stay = x, os.Args[0], !opts.once && (std.Size != nil || cfg.Listen != "")
	if cfg.Listen == "" && cfg.Stay {
		cfg.Listen = "127.0.0.1:0"
	}
	cfg.Screen = screen.Config{Out: std.Out, Size: std.Size, Dumb: std.Dumb(), Color: std.Getenv("NO_COLOR") == ""}
	cfg.Namespace, cfg.Now, cfg.Plan = opts.settings.Namespace, std.Now, opts.settings.PlanConfig
	p, err := demo.Run(ctx, cfg)
	if err != nil {
		return err
	}
	return preview.Judge(std.Err, opts.settings.Verdict, p)
}

func (o *demoOptions) exhibit(ctx context.Context, std stdio, roots []string) (*demo.Exhibit, error) {
	if len(o.repos) == 0 {
		return demo.Example()
	}
	cfg, err := option.Repositories(std, o.repos)
	if err != nil {
		return nil, err
	}
	return demo.NewOwn(cfg, roots, func(repos workspace.Config) (*workspace.Planner, error) {
		return o.settings.Planner(std, repos)
	}).Exhibit(ctx)
}

// newSweepCommand removes the directory of a demo when its standard input ends.
func newSweepCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use: "sweep DIR", Hidden: true, Short: "Remove what a demo has left", Args: cli.Exactly(1, "DIR"),
		RunE: func(_ *cobra.Command, args []string) error { return demo.Sweep(std.In, args[0]) },
	}
}
