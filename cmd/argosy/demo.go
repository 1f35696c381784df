package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/bucket/transfer"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/demo"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/parent"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/sidecar"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/workspace"
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
		Long: `Boot a cluster that does not exist. The example cluster, which is in the program, is planned and booted wave
by wave, faster than it would be.

What is real: an S3 server in this process that CI has left something in, a Git server with the repository and
with trigger repositories that tick, both plugins on the sockets that Argo CD would talk to, and a client that
does what its repo-server does: it fetches with Git, and asks the plugins for the manifests of each
Application when its sync begins. What they answer is compared with the plan. What is not real is the cluster:
when what becomes healthy is that of argosy simulate.

With --repo it is your own repository, as it lies on disk, with all ApplicationSets rendered by the plugin.
ROOT is then the file of the root Application, if it is not to be found. Charts, remote bases and other
repositories are fetched as by argosy plan, unless --offline.

On a terminal it goes on after the boot until you stop it: at each tick of the trigger repository, the plugins
render again, and changes are printed. With --once, and where there is no terminal, it ends with the boot. The
exit code is 3 if the boot does not end, or if the plan is broken or incomplete.`,
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
	flags.StringArrayVar(&opts.repos, "repo", nil,
		"boot your own repository, `PATH`, or URL=PATH if its Applications do not say its URL; repeatable, also s3://BUCKET=PATH")
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
	defer x.Close() //nolint:errcheck // only read from
	term := std.getenv("TERM")
	p, err := demo.Run(ctx, demo.Config{
		Exhibit: x, Program: os.Args[0], Speed: opts.speed, Fail: opts.fail, Repair: opts.repair, Stay: !opts.once && std.size != nil,
		Screen:    demo.Screen{Out: std.out, Size: std.size, Dumb: term == "dumb" || term == "", Color: std.getenv("NO_COLOR") == ""},
		Namespace: opts.settings.namespace, Now: std.now, Plan: opts.settings.config,
		Table:   func(w io.Writer, p *plan.Plan) error { return report.Plan(w, report.Table, p, false) },
		Plugins: func(at demo.Place) (demo.Plugins, error) { return demoPlugins(std, at) },
		HTTP:    func(h http.Handler) *http.Server { return serve.Bounded(h, 10*time.Second) },
	})
	if err != nil {
		return err
	}
	return opts.settings.verdict.exit(std, p)
}

func (o *demoOptions) exhibit(ctx context.Context, std stdio, args []string) (*demo.Exhibit, error) {
	if len(o.repos) == 0 {
		return demo.Example()
	}
	own := demo.Own{
		Roots: args, Env: std.env, Named: workspace.NamedMost,
		Note:    func(line string) { fmt.Fprintln(std.err, "note:", line) },
		ReadDir: func(dir string) ([]tree.File, error) { return transfer.ReadDir(dir, std.note) },
		Find: func(ctx context.Context, local []gitsource.Local, args []string) ([]manifest.Document, *demo.Elsewhere, error) {
			return o.find(ctx, std, local, args)
		},
	}
	for _, flag := range o.repos {
		local, err := workspace.ParseRepo(flag)
		if err != nil {
			return nil, err
		}
		own.Local = append(own.Local, local)
	}
	return own.Exhibit(ctx)
}

// find finds the roots in the user's own directories, as argosy plan does.
func (o *demoOptions) find(ctx context.Context, std stdio, local []gitsource.Local,
	args []string,
) ([]manifest.Document, *demo.Elsewhere, error) {
	input := o.settings
	input.sets = plan.SetsByPlugin
	repos, _ := userRepositories(std, nil)
	repos.Offline, repos.Charts, repos.Alone, repos.Local = input.offline, input.charts, true, local
	cfg, err := input.config(nil)
	if err != nil {
		return nil, nil, err
	}
	planner := &workspace.Planner{Repositories: workspace.New(repos), Config: cfg, All: input.all, Stdin: std.in}
	roots, err := planner.Roots(ctx, args)
	if err != nil {
		return nil, nil, errors.Join(err, planner.Close())
	}
	return roots.Documents, &demo.Elsewhere{Git: roots.Repositories, Loader: roots.Repositories.Loader(), Close: planner.Close}, nil
}

// demoPlugins opens the plugins as argosy cmp does.
func demoPlugins(std stdio, at demo.Place) (demo.Plugins, error) {
	side := sidecar.New(slog.New(slog.DiscardHandler), serve.Watch("", "the policy", policy.Parse))
	plugin := sidecar.NewAppSet(sidecar.AppSetConfig{Namespace: at.Namespace, Now: std.now, Note: func(string) {}})
	plugin.Remote = at.Git
	stores := &buckets.Pool{Now: std.now, Local: at.S3, Asked: func(string, error) { at.Read() }}
	admin := func(c argo.Call) policy.Parent { return policy.Parent{Project: c.Project, Admin: true} }
	return demo.Plugins{
		Served: []cmp.Plugin{side.AppSet(plugin), side.S3(stores.Reader, admin)},
		Planned: func(f demo.Facts) {
			plugin.Clusters, plugin.Version = f.Clusters, func(context.Context) versions.Version { return f.Version }
			plugin.APIs = func(parent.For) generator.APIs { return f.APIs }
			for _, project := range f.Projects {
				if !slices.Contains(plugin.Config.Admins, project) {
					plugin.Config.Admins = append(plugin.Config.Admins, project)
				}
			}
		},
	}, nil
}

// newSweepCommand removes the directory of a demo when its standard input ends.
func newSweepCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use: "sweep DIR", Hidden: true, Short: "Remove what a demo has left", Args: exactly(1, "DIR"),
		RunE: func(_ *cobra.Command, args []string) error { return demo.Sweep(std.in, args[0]) },
	}
}
