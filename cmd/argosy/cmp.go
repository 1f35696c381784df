package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/refresh"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
	"github.com/argosy-cd/argosy/internal/worker"
)

type cmpOptions struct {
	cacheOptions
	appset    appsetPluginOptions
	refresh   refreshOptions
	workers   workerOptions
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
		Long: `Serve Argo CD's config management plugins appset and s3, as a sidecar of argocd-repo-server. It speaks the protocol of plugins
itself, on a Unix socket for each of them, in the place of argocd-cmp-server: no process is started for a request, and caches are shared.
Templates, manifests and charts are evaluated in workers: processes that are started ahead, have neither credentials nor network, and are
stopped at limits of memory and time, so that no application can do harm to others.

  appset   ApplicationSets, in the parameter spec or in the application's directory, become Applications that are deployed in their place
  s3       manifests, archives and charts in S3; an application whose directory has an s3-source.yaml finds it by itself

In a cluster it reads Argo CD's clusters and repositories if it may, and refuses an answer that would delete too many Applications.

It also keeps the interval: one of all replicas asks Argo CD for a refresh of an application when the clock of its trigger repository has
ticked, every --interval if it has the plugin appset and another repository, to see whether that has a new commit, and when what it reads from
S3 has changed.

/healthz, /readyz and /metrics are at --listen. Each request is a line on standard error.`,
		Example: `  argosy cmp
  argosy cmp --plugin appset --engine argocd --argocd-server argocd-server.argocd.svc`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(fromEnvironment(std, cmd.Flags()), opts.served(cmd.Flags())); err != nil {
				return err
			}
			return runCmp(cmd.Context(), std, opts)
		},
	}
	flags := cmd.Flags()
	opts.register(flags)
	opts.appset.register(flags)
	opts.refresh.register(flags)
	opts.refresh.registerClock(flags)
	opts.workers.register(flags)
	flags.BoolVar(&opts.refreshes, "refresh", true, "keep the interval, if there is access to a cluster")
	flags.StringVar(&opts.policy, "policy", "", usageOf("policy"))
	flags.StringSliceVar(&opts.plugins, "plugin", []string{"appset", "s3"}, "`PLUGINS` to serve")
	flags.StringVar(&opts.version, "plugin-version", "", "`VERSION` of the plugins; applications then name appset-VERSION and s3-VERSION")
	flags.StringVar(&opts.socketDir, "socket-dir", "/home/argocd/cmp-server/plugins", "`DIR` where Argo CD looks for sockets")
	flags.StringVar(&opts.workDir, "work-dir", "", "`DIR` for what is fetched from Git, and for large repositories while they are read; default: the system's for temporary files")
	flags.StringVar(&opts.listen, "listen", "127.0.0.1:8089", "`ADDRESS` for health and metrics, or none")
	flags.IntVar(&opts.parallel, "parallel", 0, "answer so many requests at once, the others wait; half as many more, in each plugin, for projects of which none is being answered; default: half as many as there are workers, and without workers four for each processor")
	flags.Int64Var(&opts.maxUpload, "max-repository", 1024, "refuse repositories of more than so many `MIB`, packed")
	flags.DurationVar(&opts.grace, "grace", 25*time.Second, "when it is stopped, give running requests so much time")
	flags.Var(&opts.log, "log-format", "format of the log, "+opts.log.usage())
	return cmd
}

// logFlag is how a server writes its log.
func logFlag() formatFlag { return formatFlag{value: "text", allowed: []string{"text", "json"}} }

// newLog writes a log to standard error.
func newLog(std stdio, format formatFlag) *slog.Logger {
	if format.value == "json" {
		return slog.New(slog.NewJSONHandler(std.err, nil))
	}
	return slog.New(slog.NewTextHandler(std.err, nil))
}

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
	return errors.Join(o.workers.check(), o.refresh.check(std))
}

func runCmp(ctx context.Context, std stdio, opts cmpOptions) error {
	if err := opts.check(std); err != nil {
		return err
	}
	s := &sidecar{log: newLog(std, opts.log), metrics: newCmpMetrics()}
	var err error
	if opts.workers, err = s.openWorkers(ctx, opts); err != nil {
		return err
	}
	if opts.parallel == 0 {
		// With those for projects of which none is being answered, there are as many as workers: requests wait where projects are told apart, and not
		// for a worker.
		opts.parallel = (opts.workers.workers + 1) / 2
	}
	if s.workers != nil {
		defer s.workers.Close()
	}
	server, err := s.open(ctx, std, opts)
	if err != nil {
		return err
	}
	if std.linger != nil {
		std.linger(opts.grace + 3*time.Second)
	}
	web, err := s.serveHTTP(ctx, opts.listen)
	if err != nil {
		server.Close()
		return err
	}
	if web != nil {
		defer web.Close() //nolint:errcheck // it has no requests that matter
	}
	background := s.background(ctx)
	err = server.Serve(ctx, opts.grace)
	background.Wait()
	if s.git != nil {
		err = errors.Join(err, os.RemoveAll(s.git.Dir))
	}
	s.log.Info("stopped")
	return err
}

// sidecar is the process beside a repo-server.
type sidecar struct {
	log     *slog.Logger
	metrics *cmpMetrics
	server  *cmp.Server
	git     *gitsource.Remote // nil without the plugin appset
	policy  *watchedFile[*policy.Policy]
	reads   *publisher   // nil is nobody to tell
	refresh *refresher   // nil does not keep the interval
	workers *worker.Pool // nil evaluates in this process
}

// openWorkers starts the workers, and returns how many of which size.
func (s *sidecar) openWorkers(ctx context.Context, opts cmpOptions) (workerOptions, error) {
	o := opts.workers.sized(opts.parallel, containerMemory())
	var err error
	if s.workers, err = o.open(ctx, s.workerEnded); err != nil {
		return o, fmt.Errorf("%w; --workers 0 evaluates in this process, where one request can end it for all", err)
	}
	if s.workers == nil {
		s.log.Warn("templates, manifests and charts are evaluated in this process: one request can end it for all (--workers 0)")
		return o, nil
	}
	c := s.workers.Confinement()
	s.metrics.workers(s.workers)
	s.log.Info("workers", "number", o.workers, "memory", fmt.Sprintf("%d MiB", o.memory), "memoryLimit", c.Memory, "callFilter", c.Calls)
	if c.Missing != "" {
		s.log.Warn("workers are not confined completely", "missing", c.Missing)
	}
	return o, nil
}

// workerEnded counts a worker that has ended, and logs one that did not end by itself.
func (s *sidecar) workerEnded(e worker.Ended) {
	s.metrics.ended.WithLabelValues(e.Reason).Inc()
	switch e.Reason {
	case worker.ReasonUsed, worker.ReasonIdle, worker.ReasonClosed:
	default:
		line, _, _ := strings.Cut(e.Output, "\n")
		s.log.Warn("worker stopped", "reason", e.Reason, "job", e.Job, "doing", e.Doing, "output", line)
	}
}

// background does what is not asked for, until the context ends.
func (s *sidecar) background(ctx context.Context) *sync.WaitGroup {
	var group sync.WaitGroup
	if s.reads != nil {
		group.Go(func() { s.reads.run(ctx) })
	}
	if s.refresh != nil {
		group.Go(func() { s.refresh.lead(ctx) })
	}
	return &group
}

// open makes the plugins and their sockets.
func (s *sidecar) open(ctx context.Context, std stdio, opts cmpOptions) (*cmp.Server, error) {
	s.policy = watchPolicy(opts.policy)
	p, err := s.policy.current()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(opts.socketDir); err != nil {
		return nil, fmt.Errorf("--socket-dir: %w", pathError(err))
	} else if !info.IsDir() {
		return nil, usagef("--socket-dir: %s is not a directory", opts.socketDir)
	}
	cfg := cmp.Config{
		Dir: opts.socketDir, Timeout: opts.timeout, Parallel: opts.parallel, MaxUpload: opts.maxUpload << 20, TempDir: opts.workDir, Now: std.now, Observe: s.observe,
	}
	work := opts.workDir
	if work == "" {
		work = os.TempDir()
	}
	note := func(line string) { s.log.Warn(line) }
	api, err := opts.appset.clusterOptions.open()
	if err != nil {
		return nil, err
	}
	// What is looked at is not what is read: a cache would be of no use.
	looks := &buckets.Pool{Now: std.now, Asked: s.metrics.asked}
	if api != nil && opts.refreshes {
		s.refresh = &refresher{
			options: opts.refresh, api: api, buckets: looks, policy: s.policy.current, log: s.log, now: std.now, forget: true,
			heads: bucketHeads{api: api, now: std.now, remote: &gitsource.Remote{Now: std.now, KnownHosts: api.KnownHosts, CA: api.CA}},
		}
		s.refresh.metrics = newRefreshMetrics(s.metrics.registry, s.refresh)
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(opts.plugins))) {
		var plugin cmp.Plugin
		switch name {
		case "appset":
			// Of the socket, which no other process has: what one that was killed has left is found again.
			sum := sha256.Sum256([]byte(filepath.Join(opts.socketDir, opts.version)))
			a, err := opts.appset.open(std, p, api, filepath.Join(work, "argosy-git-"+hex.EncodeToString(sum[:8])), note)
			if err != nil {
				return nil, err
			}
			s.git = a.remote
			if a.server == nil {
				a.versionChanged = s.versionChanged
				a.version(ctx)
			}
			plugin = s.appset(a)
		case "s3":
			cache, err := opts.open(std)
			if err != nil {
				return nil, err
			}
			if api != nil {
				s.reads = &publisher{api: api, now: std.now, failed: func(err error) { note(err.Error()) }, pending: map[refresh.Place]s3source.Reads{}, wake: make(chan struct{}, 1)}
			}
			namespace := opts.appset.argocd(api)
			plugin = s.s3(&buckets.Pool{Cache: cache, Now: std.now, Asked: s.metrics.asked}, func(c argo.Call) policy.Parent { return policy.ParentOf(c, namespace, opts.appset.admins) })
		}
		plugin.Version = opts.version
		cfg.Plugins = append(cfg.Plugins, plugin)
	}
	if s.server, err = cmp.Listen(ctx, cfg); err != nil {
		return nil, err
	}
	if s.git != nil {
		if err := s.git.Open(); err != nil {
			s.server.Close()
			return nil, err
		}
	}
	s.metrics.load(s.server)
	return s.server, nil
}

// versionChanged says as which version of Argo CD sets are rendered.
func (s *sidecar) versionChanged(v versions.Version, from string) {
	s.metrics.argocd.Reset()
	s.metrics.argocd.WithLabelValues(v.String(), from).Set(1)
	s.log.Info("ApplicationSets are rendered as Argo CD does", "argocd", v.String(), "from", from)
}

// observe writes the log, and counts.
func (s *sidecar) observe(e cmp.Event) {
	s.metrics.observe(e)
	fields := []any{"plugin", e.Plugin, "method", e.Method, "application", e.App, "revision", e.Revision, "took", e.Took.Round(time.Microsecond).String(), "bytes", e.Bytes}
	if e.Method == "generate" && e.Err == nil {
		fields = append(fields, "objects", e.Objects, "waited", e.Waited.Round(time.Microsecond).String(), "shared", e.Shared)
	}
	switch {
	case e.Err == nil && e.Method != "generate": // for every application of every kind
	case e.Err == nil:
		s.log.Info("answered", fields...)
	case len(e.Stack) > 0:
		s.log.Error("panic", append(fields, "error", cmp.Message(e.Err), "stack", string(e.Stack))...)
	default:
		s.log.Warn("refused", append(fields, "code", e.Code.String(), "error", cmp.Message(e.Err))...)
	}
}

// serveHTTP serves health and metrics.
func (s *sidecar) serveHTTP(ctx context.Context, address string) (*http.Server, error) {
	if address == "none" {
		return nil, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, innermost(err))
	}
	check := func(w http.ResponseWriter, _ *http.Request) {
		if err := s.server.Healthy(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		if text := s.server.Degraded(); text != "" {
			fmt.Fprintln(w, "degraded:", text)
			return
		}
		fmt.Fprintln(w, "ok")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", check)
	mux.HandleFunc("GET /readyz", check)
	mux.Handle("GET /metrics", s.metrics.handler())
	web := repoHTTP(mux, 10*time.Second)
	go func() { _ = web.Serve(listener) }()
	s.log.Info("listening", "address", listener.Addr().String(), "sockets", s.server.Paths(), "version", version())
	return web, nil
}
