package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/sidecar"
)

type cmpOptions struct {
	cacheOptions
	appset    appsetPluginOptions
	refresh   refreshOptions
	workers   sidecar.Workers
	refreshes bool
	policy    string
	plugins   []string
	version   string
	socketDir string
	workDir   string
	listen    string
	parallel  int
	maxUpload int64
	grace     time.Duration
	log       formatFlag
}

func newCmpCommand(std stdio) *cobra.Command {
	opts := cmpOptions{log: logFlag()}
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

It also keeps the interval: one of all replicas asks Argo CD for a refresh of an application when the clock of
its trigger repository has ticked, every --interval if it has the plugin appset and another repository, to see
whether that has a new commit, and when what it reads from S3 has changed.

/healthz, /readyz and /metrics are at --listen. Each request is a line on standard error.`,
		Example: `  argosy cmp
  argosy cmp --plugin appset --engine argocd --argocd-server argocd-server.argocd.svc`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(fromEnvironment(std, cmd.Flags()), opts.served(cmd.Flags())); err != nil {
				return err
			}
			return runCmp(cmd.Context(), std, opts, opts.asked(cmd.Flags()))
		},
	}
	flags := cmd.Flags()
	opts.register(flags)
	opts.appset.register(flags)
	opts.refresh.register(flags)
	opts.refresh.registerClock(flags)
	registerWorkers(&opts.workers, flags)
	flags.BoolVar(&opts.refreshes, "refresh", true, "keep the interval, if there is access to a cluster")
	flags.StringVar(&opts.policy, "policy", "", usageOf("policy"))
	flags.StringSliceVar(&opts.plugins, "plugin", []string{"appset", "s3"}, "`PLUGINS` to serve")
	flags.StringVar(&opts.version, "plugin-version", "", "`VERSION` of the plugins; applications then name appset-VERSION and s3-VERSION")
	flags.StringVar(&opts.socketDir, "socket-dir", "/home/argocd/cmp-server/plugins", "`DIR` where Argo CD looks for sockets")
	flags.StringVar(&opts.workDir, "work-dir", "",
		"`DIR` for what is fetched from Git, and for large repositories while they are read; default: the system's for temporary files")
	flags.StringVar(&opts.listen, "listen", "127.0.0.1:8089", "`ADDRESS` for health and metrics, or none")
	flags.IntVar(&opts.parallel, "parallel", 0,
		"answer so many requests at once, the others wait; half as many more, in each plugin, for projects of which none is being "+
			"answered; default, and most: half as many as there are workers; without workers four for each processor")
	flags.Int64Var(&opts.maxUpload, "max-repository", 1024, "refuse repositories of more than so many `MIB`, packed")
	flags.DurationVar(&opts.grace, "grace", 25*time.Second, "when it is stopped, give running requests so much time")
	flags.Var(&opts.log, "log-format", "format of the log, "+opts.log.usage())
	return cmd
}

// logFlag is how a server writes its log.
func logFlag() formatFlag { return formatFlag{value: "text", allowed: []string{"text", "json"}} }

// served refuses flags of a plugin that is not served: they would mean nothing.
func (o *cmpOptions) served(flags *pflag.FlagSet) error {
	for plugin, names := range map[string][]string{
		"appset": {"engine", "argocd-version", "argocd-server", "argocd-token-file", "argocd-ca", "argocd-plaintext", "argocd-insecure"},
		"s3":     {"cache-dir", "cache-size"},
	} {
		for _, name := range names {
			if flags.Changed(name) && !slices.Contains(o.plugins, plugin) {
				return usagef("--%s is for the plugin %s, which is not served", name, plugin)
			}
		}
	}
	for _, s := range refreshSettings {
		if flags.Changed(s.flag) && !o.refreshes {
			return usagef("--%s means nothing with --refresh=false", s.flag)
		}
	}
	return nil
}

// asked reports whether the command line asks for a cluster.
func (o *cmpOptions) asked(flags *pflag.FlagSet) bool {
	return o.refreshes && flags.Changed("refresh") || flags.Changed("argocd-namespace") || flags.Changed("argocd-secrets")
}

func (o *cmpOptions) check(std stdio) error {
	for _, name := range o.plugins {
		if name != "appset" && name != "s3" {
			return usagef("--plugin must be appset or s3, it is %q", name)
		}
	}
	switch {
	case len(o.plugins) == 0:
		return usagef("--plugin must name a plugin")
	case o.timeout <= 0:
		return usagef("--timeout must be more than 0")
	case o.parallel < 0:
		return usagef("--parallel must not be negative")
	case o.maxUpload < 1 || o.maxUpload > 1<<20:
		return usagef("--max-repository must be 1 to %d MiB, it is %d", 1<<20, o.maxUpload)
	case o.grace < 0:
		return usagef("--grace must not be negative")
	case o.version != "" && filepath.Base(o.version) != o.version:
		return usagef("--plugin-version: %q cannot be part of a file's name", o.version)
	}
	return errors.Join(o.workers.Check(), o.refresh.check(std))
}

func runCmp(ctx context.Context, std stdio, opts cmpOptions, asked bool) error {
	if err := opts.check(std); err != nil {
		return err
	}
	files := kubeconfigs(std)
	if !asked {
		files = nil
	}
	api, err := opts.appset.clusterOptions.open(files)
	if err != nil {
		return err
	}
	if api == nil && len(kubeconfigs(std)) > 0 {
		std.note("$KUBECONFIG is not used, because no flag asks for a cluster: --refresh, --argocd-namespace, --argocd-secrets")
	}
	cfg := sidecar.Config{
		Plugins: opts.plugins, PluginVersion: opts.version, SocketDir: opts.socketDir, WorkDir: opts.workDir, Listen: opts.listen,
		Parallel: opts.parallel, MaxUpload: opts.maxUpload << 20,
		Timeout: opts.timeout, Grace: opts.grace, Workers: opts.workers, Policy: serve.Watch(opts.policy, "the policy", policy.Parse),
		Release: version(), Log: serve.Log(std.err, opts.log.value), Now: std.now,
	}
	if cfg.AppSet, err = opts.appset.config(std, api, slices.Contains(opts.plugins, "appset")); err != nil {
		return err
	}
	cfg.Buckets = func(cached bool, asked func(string, error)) (sidecar.Open, error) {
		b := &buckets.Pool{Now: std.now, Asked: asked}
		if cached {
			if b.Cache, err = opts.open(std); err != nil {
				return nil, err
			}
		}
		return b.Reader, nil
	}
	if opts.refreshes {
		cfg.Refresh = opts.refresh.config()
	}
	if std.linger != nil {
		std.linger(opts.grace + 3*time.Second)
	}
	return sidecar.Run(ctx, cfg)
}
