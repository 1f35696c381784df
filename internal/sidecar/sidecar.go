// Package sidecar is the process beside Argo CD's repo-server: the plugins appset and s3 on their sockets, with workers that evaluate what
// tenants wrote, the policy, health and metrics. If it has a cluster, it also publishes what applications read from S3, and refreshes
// Applications at each interval.
package sidecar

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/gitremote"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/refresher"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/worker"
)

// Config configures a sidecar.
type Config struct {
	// Plugins are appset, s3 or both.
	Plugins []string
	// PluginVersion is a part of the names of sockets, "" if applications name no version.
	PluginVersion string
	// SocketDir is where Argo CD looks for sockets.
	SocketDir string
	// WorkDir has what is fetched from Git, and large repositories while they are read. "" is the system's for temporary files.
	WorkDir string
	// Listen is the address for health and metrics; "none" is none.
	Listen string
	// Parallel is how many requests are answered at once. Zero follows from the number of workers.
	Parallel int
	extra    int // as cmp.Config has it
	// MaxUpload bounds a repository, packed, in MiB.
	MaxUpload int64
	// Timeout bounds a request, and Grace is how long requests may run on when the process is stopped.
	Timeout, Grace time.Duration
	Workers        Workers
	Policy         *serve.File[*policy.Policy]
	ArgoCD         ArgoCD
	AppSet         AppSetConfig
	// Cache opens the cache of the plugin s3; a nil cache is none.
	Cache func() (bucket.Cache, error)
	// Refresh keeps the interval, if there is a cluster. Nil does not.
	Refresh *refresher.Settings
	// Release is the version of this program.
	Release string
	Log     *slog.Logger
	Now     func() time.Time
}

// Sidecar is the process beside a repo-server.
type Sidecar struct {
	log     *slog.Logger
	metrics *sidecarMetrics
	policy  *serve.File[*policy.Policy]
	server  *cmp.Server
	git     *gitremote.Remote    // nil without the plugin appset
	reads   *publisher           // nil publishes nothing
	refresh *refresher.Refresher // nil does not keep the interval
	workers *worker.Pool         // nil evaluates in this process
	maxRead int64                // bytes of S3 for one request; 0 is the limit of readers
}

// New returns a sidecar without workers and without a cluster: plugins evaluate in this process.
func New(log *slog.Logger, p *serve.File[*policy.Policy]) *Sidecar {
	return &Sidecar{log: log, metrics: newMetrics(), policy: p}
}

// Run serves until the context ends.
func Run(ctx context.Context, cfg Config) error {
	s := New(cfg.Log, cfg.Policy)
	var err error
	if cfg.Workers, err = s.openWorkers(ctx, cfg); err != nil {
		return err
	}
	given := cfg.Parallel
	cfg.Parallel, cfg.extra = cfg.Workers.places(given, len(cfg.Plugins))
	if cfg.Parallel < given {
		s.log.Warn("fewer requests run at once than --parallel allows: each needs a worker, and some workers are kept free for projects "+
			"without a running request; raise --workers", "parallel", cfg.Parallel, "workers", cfg.Workers.Number)
	}
	if s.workers != nil {
		defer s.workers.Close()
	}
	if err := s.open(ctx, cfg); err != nil {
		return err
	}
	// The health endpoint works until the last request is answered.
	stop, err := s.serveHTTP(ctx, cfg)
	if err != nil {
		s.server.Close()
		return err
	}
	defer stop()
	err = s.serve(ctx, cfg.Grace)
	if s.git != nil {
		err = errors.Join(err, os.RemoveAll(s.git.Dir))
	}
	return err
}

// openWorkers starts the workers, and returns their number and size.
func (s *Sidecar) openWorkers(ctx context.Context, cfg Config) (Workers, error) {
	container := worker.ContainerMemory()
	o := cfg.Workers.sized(cfg.Parallel, container)
	o.limitHost(container)
	var err error
	if s.workers, err = o.open(ctx, s.workerEnded); err != nil {
		return o, fmt.Errorf("%w; --workers 0 evaluates in this process, where one request can end it for all", err)
	}
	if s.workers == nil {
		s.log.Warn("templates, manifests and charts are evaluated in this process: one request can end it for all (--workers 0)")
		return o, nil
	}
	s.maxRead = o.Memory << 20 / 3
	c := s.workers.Confinement()
	s.metrics.workers(s.workers)
	s.log.Info("workers", "number", o.Number, "memory", fmt.Sprintf("%d MiB", o.Memory), "memoryLimit", c.Memory, "callFilter", c.Calls)
	if c.Missing != "" {
		s.log.Warn("workers are not confined completely", "missing", c.Missing)
	}
	return o, nil
}

// workerEnded counts a worker that has ended, and logs one that did not end by itself.
func (s *Sidecar) workerEnded(e worker.Ended) {
	s.metrics.ended.Add(1, string(e.Reason))
	switch e.Reason {
	case worker.ReasonUsed, worker.ReasonIdle, worker.ReasonClosed:
	default:
		line, _, _ := strings.Cut(e.Output, "\n")
		s.log.Warn("worker stopped", "reason", e.Reason, "job", e.Job, "doing", e.Doing, "output", line)
	}
}

// serve answers requests, publishes reads and refreshes Applications, until ctx ends or a socket fails.
func (s *Sidecar) serve(ctx context.Context, grace time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	background := s.background(ctx)
	err := s.server.Serve(ctx, grace)
	cancel()
	background.Wait()
	return err
}

// background publishes reads and refreshes Applications until ctx ends.
func (s *Sidecar) background(ctx context.Context) *sync.WaitGroup {
	var group sync.WaitGroup
	if s.reads != nil {
		group.Go(func() { s.reads.run(ctx) })
	}
	if s.refresh != nil {
		group.Go(func() { s.refresh.Lead(ctx) })
	}
	return &group
}

// open makes the plugins and their sockets.
func (s *Sidecar) open(ctx context.Context, cfg Config) error {
	if _, err := s.policy.Current(); err != nil {
		return err
	}
	if info, err := os.Stat(cfg.SocketDir); err != nil {
		return fmt.Errorf("--socket-dir: %w", problem.Path(err))
	} else if !info.IsDir() {
		return problem.Usagef("--socket-dir: %s is not a directory", cfg.SocketDir)
	}
	cfg.AppSet.Note = func(line string) { s.log.Warn(line) }
	cfg.AppSet.VersionChanged = s.versionChanged
	s.openRefresh(cfg)
	sockets := cmp.Config{
		Dir: cfg.SocketDir, Timeout: cfg.Timeout, Parallel: cfg.Parallel, Extra: cfg.extra, MaxUpload: cfg.MaxUpload << 20,
		TempDir: cfg.WorkDir,
		Now:     cfg.Now, Observe: s.observe,
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(cfg.Plugins))) {
		plugin, err := s.plugin(ctx, cfg, name)
		if err != nil {
			return err
		}
		plugin.Version = cfg.PluginVersion
		sockets.Plugins = append(sockets.Plugins, plugin)
	}
	var err error
	if s.server, err = cmp.Listen(ctx, sockets); err != nil {
		return err
	}
	if s.git != nil {
		if err := s.git.Open(); err != nil {
			s.server.Close()
			return err
		}
	}
	s.metrics.load(s.server)
	return nil
}

// openRefresh opens the refresher, if it is configured and there is a cluster.
func (s *Sidecar) openRefresh(cfg Config) {
	if cfg.ArgoCD.API == nil || cfg.Refresh == nil {
		return
	}
	// Looks only list objects, so they need no cache.
	looks := &buckets.Pool{Now: cfg.Now, Asked: s.metrics.asked}
	s.refresh = refresher.New(refresher.Config{
		Settings: *cfg.Refresh, API: cfg.ArgoCD.API, Open: looks.Reader, Policy: s.policy.Current, Log: s.log,
		Metrics: s.metrics.registry, Now: cfg.Now, Env: cfg.AppSet.Env, Forget: true,
	})
}

// plugin makes a plugin by its name.
func (s *Sidecar) plugin(ctx context.Context, cfg Config, name string) (cmp.Plugin, error) {
	if name == argo.PluginS3 {
		cache, err := cfg.Cache()
		if err != nil {
			return cmp.Plugin{}, err
		}
		pool := &buckets.Pool{Cache: cache, Now: cfg.Now, Asked: s.metrics.asked}
		if cfg.ArgoCD.API != nil {
			s.reads = newPublisher(cfg.ArgoCD.API, cfg.Now, func(err error) { cfg.AppSet.Note(err.Error()) })
		}
		parentOf := func(c argo.Call) policy.Parent { return policy.ParentOf(c, cfg.ArgoCD.Namespace, cfg.ArgoCD.Admins) }
		return s.S3(pool.Reader, parentOf), nil
	}
	work := cfg.WorkDir
	if work == "" {
		work = os.TempDir()
	}
	// The name derives from the socket directory, so a restarted sidecar finds the files of a killed one, and removes them.
	sum := sha256.Sum256([]byte(filepath.Join(cfg.SocketDir, cfg.PluginVersion)))
	cfg.AppSet.Dir = filepath.Join(work, "argosy-git-"+hex.EncodeToString(sum[:8]))
	a := NewAppSet(cfg.ArgoCD, cfg.AppSet)
	s.git = a.Remote
	if cfg.AppSet.Server == nil {
		a.Version(ctx)
	}
	return s.AppSet(a), nil
}

// versionChanged logs the version of Argo CD whose rules sets are rendered by, and sets the metric.
func (s *Sidecar) versionChanged(v versions.Version, from string) {
	s.metrics.argocd.Only(1, v.String(), from)
	s.log.Info("ApplicationSets are rendered as Argo CD does", "argocd", v.String(), "from", from)
}

// observe writes the log, and counts.
func (s *Sidecar) observe(e cmp.Event) {
	s.metrics.observe(e)
	fields := []any{
		"plugin", e.Plugin, "method", e.Method, "application", e.App, "revision", e.Revision, "took",
		e.Took.Round(time.Microsecond).String(), "bytes", e.Bytes,
	}
	if e.Method == cmp.MethodGenerate && e.Err == nil {
		fields = append(fields, "objects", e.Objects, "waited", e.Waited.Round(time.Microsecond).String(), "shared", e.Shared)
	}
	switch {
	case e.Err == nil && e.Method != cmp.MethodGenerate: // for every application of every kind
	case e.Err == nil:
		s.log.Info("answered", fields...)
	case len(e.Stack) > 0:
		s.log.Error("panic", append(fields, "error", cmp.Message(e.Err), "stack", string(e.Stack))...)
	default:
		s.log.Warn("refused", append(fields, "code", e.Code.String(), "error", cmp.Message(e.Err))...)
	}
}

// serveHTTP begins to serve health and metrics, and returns what ends that.
func (s *Sidecar) serveHTTP(ctx context.Context, cfg Config) (stop func(), err error) {
	fields := []any{"sockets", s.server.Paths(), "version", cfg.Release}
	if cfg.Listen == "none" {
		s.log.Info("listening", fields...)
		return func() { s.log.Info("stopped") }, nil
	}
	mux := http.NewServeMux()
	serve.Probes{Healthy: s.health, Ready: s.health, Metrics: s.metrics.registry.Handler()}.Handle(mux)
	web, err := serve.Listen(ctx, serve.Config{Address: cfg.Listen, Log: s.log, Fields: fields}, mux)
	if err != nil {
		return nil, err
	}
	end := web.Start(ctx)
	return func() { _ = end() }, nil // it has no requests that matter
}

func (s *Sidecar) health() (string, error) {
	if err := s.server.Healthy(); err != nil {
		return "", err
	}
	if text := s.server.Degraded(); text != "" {
		return "degraded: " + text, nil
	}
	return "", nil
}
