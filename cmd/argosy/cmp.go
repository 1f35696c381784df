package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/sidecar"
)

type cmpOptions struct {
	sidecar.Config
	cache     option.Cache
	appset    option.AppSetPlugin
	refresh   option.Refresh
	refreshes bool
	policy    string
	log       cli.Choice
}

func newCmpCommand(std stdio) *cobra.Command {
	var opts cmpOptions
	cmd := &cobra.Command{
		Use:   "cmp",
		Short: "Serve the plugins appset and s3 to Argo CD's repo-server",
		Long: `Serve Argo CD's config management plugins appset and s3, as a sidecar of argocd-repo-server. It speaks the
protocol of plugins itself, on a Unix socket for each of them, in the place of argocd-cmp-server: no process
is started for a request, and caches are shared. Templates, manifests and charts are evaluated in workers:
processes that are started ahead, have neither credentials nor network, and are stopped at limits of memory
and time, so that no application can do harm to others.

  appset   ApplicationSets, in the parameter spec or in the application's directory, become Applications that are deployed in their place
  s3       manifests, archives and charts in S3; an application whose directory has an s3-source.yaml finds it by itself

In a cluster it reads Argo CD's clusters and repositories if it may, and refuses an answer that would delete
too many Applications. The cluster is that of --kubeconfig, or the one that the process runs in. With
--refresh, --argocd-namespace or --argocd-secrets on the command line, $KUBECONFIG counts as for kubectl;
without them it is not used, so that a sidecar that you try out does not refresh the Applications of the
cluster that you happen to work with.

It also refreshes applications, in one of all replicas. An application is refreshed when the clock of its trigger
repository ticks, and when the objects that it reads from S3 change. An application with the plugin appset and
without a trigger repository is refreshed every --interval, so that Argo CD sees new commits.

/healthz, /readyz and /metrics are at --listen. Each request is a line on standard error.`,
		Example: `  argosy cmp
  argosy cmp --plugin appset --engine argocd --argocd-server argocd-server.argocd.svc`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(option.Fill(std, cmd.Flags()), opts.served(cmd.Flags())); err != nil {
				return err
			}
			return runCmp(cmd.Context(), std, opts, opts.asked(cmd.Flags()))
		},
	}
	flags := cmd.Flags()
	opts.cache.Register(flags)
	opts.appset.Register(flags)
	opts.refresh.Register(flags)
	opts.refresh.RegisterClock(flags)
	option.RegisterWorkers(&opts.Workers, flags)
	flags.BoolVar(&opts.refreshes, "refresh", true, "refresh Applications at each --interval; needs access to a cluster")
	flags.StringVar(&opts.policy, "policy", "", option.Usage("policy"))
	flags.StringSliceVar(&opts.Plugins, "plugin", []string{argo.PluginAppSet, argo.PluginS3}, "`PLUGINS` to serve")
	flags.StringVar(&opts.PluginVersion, "plugin-version", "",
		"`VERSION` of the plugins; applications then name appset-VERSION and s3-VERSION")
	flags.StringVar(&opts.SocketDir, "socket-dir", "/home/argocd/cmp-server/plugins", "`DIR` where Argo CD looks for sockets")
	flags.StringVar(&opts.WorkDir, "work-dir", "",
		"`DIR` for commits fetched from Git, and for large repositories while they are read; default: the system's temporary directory")
	flags.StringVar(&opts.Listen, "listen", "127.0.0.1:8089", "`ADDRESS` for health and metrics, or none")
	flags.IntVar(&opts.Parallel, "parallel", 0,
		"number of requests answered at once; others wait. Each plugin has half as many extra places for projects with no running "+
			"request. Default and maximum: half of --workers, but all if there are three or fewer; with --workers 0, four per processor")
	flags.Int64Var(&opts.MaxUpload, "max-repository", 1024, "refuse repositories larger than this, packed, in `MIB`")
	flags.DurationVar(&opts.Grace, "grace", 25*time.Second, "time for running requests to finish when the sidecar stops")
	option.RegisterLog(flags, &opts.log)
	return cmd
}

// served refuses flags of a plugin that is not served: they would have no effect.
func (o *cmpOptions) served(flags *pflag.FlagSet) error {
	for plugin, names := range map[string][]string{
		argo.PluginAppSet: {
			"engine", "argocd-version", "argocd-server", "argocd-token-file", "argocd-ca", "argocd-plaintext",
			"argocd-insecure",
		},
		argo.PluginS3: {"cache-dir", "cache-size"},
	} {
		for _, name := range names {
			if flags.Changed(name) && !slices.Contains(o.Plugins, plugin) {
				return usagef("--%s is for the plugin %s, which is not served", name, plugin)
			}
		}
	}
	for _, s := range option.RefreshSettings() {
		if flags.Changed(s.Flag) && !o.refreshes {
			return usagef("--%s and --refresh=false exclude each other", s.Flag)
		}
	}
	return nil
}

// asked reports whether the command line asks for a cluster.
func (o *cmpOptions) asked(flags *pflag.FlagSet) bool {
	return o.refreshes && flags.Changed("refresh") || flags.Changed("argocd-namespace") || flags.Changed("argocd-secrets")
}

func runCmp(ctx context.Context, std stdio, opts cmpOptions, asked bool) error {
	cfg := opts.Config
	cfg.Timeout = opts.cache.Timeout
	if err := errors.Join(cfg.Check(), opts.refresh.Check(std.Now)); err != nil {
		return err
	}
	files := option.Kubeconfigs(std)
	if !asked {
		files = nil
	}
	api, err := opts.appset.OpenCluster(files)
	if err != nil {
		return err
	}
	if api == nil && len(option.Kubeconfigs(std)) > 0 {
		std.Note("$KUBECONFIG is not used, because no flag asks for a cluster: --refresh, --argocd-namespace, --argocd-secrets")
	}
	cfg.Policy = serve.Watch(opts.policy, "the policy", policy.Parse)
	cfg.Release, cfg.Log, cfg.Now = version(), serve.Log(std.Err, opts.log.Value), std.Now
	cfg.ArgoCD = opts.appset.ArgoCD(api)
	if cfg.AppSet, err = opts.appset.PluginConfig(std, slices.Contains(opts.Plugins, argo.PluginAppSet)); err != nil {
		return err
	}
	cfg.Cache = func() (bucket.Cache, error) { return opts.cache.Open(std) }
	if opts.refreshes {
		cfg.Refresh = &opts.refresh.Settings
	}
	if std.Linger != nil {
		std.Linger(opts.Grace + 3*time.Second)
	}
	return sidecar.Run(ctx, cfg)
}
