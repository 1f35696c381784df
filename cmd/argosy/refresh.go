package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/refresh"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
	"github.com/argosy-cd/argosy/internal/trigger"
)

// refreshSettings are those of processes that ask Argo CD to look at applications.
var refreshSettings = []setting{
	{"interval", intervalVariable, "how often /appset.git ticks, and everything else that has no schedule of its own"},
	{"spread", "ARGOSY_SPREAD", "spread the refreshes of one tick over this time; 0 is a quarter of the interval, at most a minute"},
	{"trigger-hosts", "ARGOSY_TRIGGER_HOSTS", "`HOSTS` that serve trigger repositories (argosy repo), with or without a port; * stands for any characters"},
	{"application-namespaces", "ARGOCD_APPLICATION_NAMESPACES", "`NAMESPACES` beside Argo CD's own whose Applications it serves; * stands for any characters"},
}

// clusterOptions say which cluster Argo CD is in.
type clusterOptions struct {
	namespace, kubeconfig string
	secrets               []string
}

func (o *clusterOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.namespace, "argocd-namespace", "", usageOf("argocd-namespace"))
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", usageOf("kubeconfig"))
	flags.StringSliceVar(&o.secrets, "argocd-secrets", nil, usageOf("argocd-secrets"))
}

// open returns the client of the cluster, nil if there is none.
func (o *clusterOptions) open() (*kube.Client, error) {
	api, err := kube.Open(kube.Config{Kubeconfig: o.kubeconfig, Namespace: o.namespace, Secrets: o.secrets})
	if errors.Is(err, kube.ErrNoCluster) {
		return nil, nil
	}
	return api, err
}

// argocd is Argo CD's own namespace.
func (o *clusterOptions) argocd(api *kube.Client) string {
	if api != nil {
		return api.Namespace
	}
	return cmp.Or(o.namespace, kube.DefaultNamespace)
}

// refreshOptions are the flags of processes that ask Argo CD to look at applications.
type refreshOptions struct {
	interval   time.Duration
	spread     time.Duration
	hosts      []string
	namespaces []string
}

func (o *refreshOptions) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.hosts, "trigger-hosts", []string{"appset-repo", "appset-repo.*"}, usageOf("trigger-hosts"))
	flags.StringSliceVar(&o.namespaces, "application-namespaces", nil, usageOf("application-namespaces"))
}

// registerClock adds the flags of a process that has a clock.
func (o *refreshOptions) registerClock(flags *pflag.FlagSet) {
	flags.DurationVar(&o.interval, "interval", defaultInterval, usageOf("interval"))
	flags.DurationVar(&o.spread, "spread", 0, usageOf("spread"))
}

const defaultInterval = 3 * time.Minute

func (o *refreshOptions) check(std stdio) error {
	for _, p := range o.hosts {
		if _, err := path.Match(p, ""); err != nil || p == "" || strings.Contains(p, "/") {
			return usagef("--trigger-hosts: %q is not a host or a pattern of hosts", p)
		}
	}
	for _, p := range o.namespaces {
		if err := kube.CheckNamespace(p); err != nil {
			return problem.Usage(fmt.Errorf("--application-namespaces: %w", err))
		}
	}
	if o.spread < 0 || o.spread > o.interval {
		return usagef("--spread must be 0 to %s, the interval; it is %s", o.interval, o.spread)
	}
	if _, err := trigger.NewClock("appset", o.interval, false, std.now); err != nil {
		return problem.Usage(fmt.Errorf("--interval: %w", err))
	}
	return nil
}

// refresher asks Argo CD to look at applications.
type refresher struct {
	options refreshOptions
	api     *kube.Client
	buckets *buckets.Pool
	policy  func() (*policy.Policy, error)
	log     *slog.Logger
	metrics *refreshMetrics
	now     func() time.Time
	hinted  bool
	forget  bool // what is published of applications that are gone

	current atomic.Pointer[refresh.Controller]
	heads   bucketHeads
	ready   func() // is called when Applications are known; nil is nobody
}

// controller returns one that knows nothing yet.
func (r *refresher) controller(knows func(namespace string) bool) *refresh.Controller {
	spread := r.options.spread
	if spread == 0 {
		spread = min(r.options.interval/4, time.Minute)
	}
	looks := refresh.Looks{Reads: r.api.Reads, Open: r.buckets.Reader, Policy: r.policy, Head: r.heads.head}
	if r.forget {
		looks.Forget = r.api.Forget
	}
	return refresh.New(refresh.Config{
		API: r.api, Triggers: refresh.Triggers{Hosts: r.options.hosts, Clocks: &trigger.Clocks{Interval: r.options.interval, Now: r.now}},
		Interval: r.options.interval, Spread: spread, Now: r.now, Observe: r.observe, Looks: looks, Hinted: r.hinted, Knows: knows,
	})
}

// work follows Applications and asks for what is due, until the context ends.
func (r *refresher) work(ctx context.Context) {
	var listed, told sync.Map
	c := r.controller(func(namespace string) bool {
		_, one := listed.Load(namespace)
		_, all := listed.Load("")
		return one || all
	})
	var group sync.WaitGroup
	r.api.Watch(ctx, r.options.namespaces, kube.Watcher{
		Seen: func(o manifest.Object) { c.Seen(refresh.NewApp(o)) },
		Gone: c.Gone, Listed: func(namespace string) {
			listed.Store(namespace, true)
			told.Clear()
		},
		Synced: func() {
			c.Begin()
			r.current.Store(c)
			all, driven := c.Apps()
			r.log.Info("refreshing", "applications", all, "driven", driven)
			if r.ready != nil {
				r.ready()
			}
			group.Go(func() { c.Run(ctx) })
			group.Go(func() { c.RunLooks(ctx) })
		},
		// Once, however often it is tried.
		Failed: func(err error) {
			if _, again := told.LoadOrStore(err.Error(), true); !again {
				r.log.Warn("watching", "error", err.Error())
			}
		},
	})
	group.Wait()
	r.current.CompareAndSwap(c, nil)
}

// lead works while this process is the one of its kind that does.
func (r *refresher) lead(ctx context.Context) {
	host, _ := os.Hostname()
	var id [4]byte
	_, _ = rand.Read(id[:])
	lease := &kube.Lease{
		Client: r.api, Name: "argosy-refresh", Holder: host + "_" + hex.EncodeToString(id[:]), Duration: 6 * time.Second, Patience: 4 * time.Second, Pause: time.Second,
		Now: r.now, After: time.After, Failed: func(err error) { r.log.Warn("leading", "error", err.Error()) },
	}
	lease.Hold(ctx, func(ctx context.Context) {
		r.log.Info("leading", "holder", lease.Holder)
		r.metrics.leading.Set(1)
		defer r.metrics.leading.Set(0)
		r.work(ctx)
	})
}

// observe writes the log, and counts.
func (r *refresher) observe(e refresh.Event) {
	result := "ok"
	if e.Err != nil {
		result = "error"
	}
	r.metrics.requests.WithLabelValues(e.Why, string(e.Kind), result).Inc()
	fields := []any{"application", e.App.String(), "kind", string(e.Kind), "why", e.Why, "what", e.What}
	if e.Err != nil {
		r.log.Warn("not refreshed", append(fields, "error", e.Err.Error())...)
		return
	}
	r.metrics.late.WithLabelValues(e.Why).Observe(e.Late.Seconds())
	r.log.Info("refresh", append(fields, "late", e.Late.Round(time.Millisecond).String())...)
	if e.Warn != "" {
		r.log.Warn("not deployed", "application", e.App.String(), "warning", e.Warn)
	}
}

// refreshMetrics are what a refresher tells about itself.
type refreshMetrics struct {
	requests *prometheus.CounterVec
	late     *prometheus.HistogramVec
	leading  prometheus.Gauge
}

func newRefreshMetrics(registry *prometheus.Registry, r *refresher) *refreshMetrics {
	m := &refreshMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "argosy_refresh_requests_total", Help: "Refreshes that were asked for, by why, kind and result; why look is a look at S3 that failed."}, []string{"why", "kind", "result"}),
		late: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "argosy_refresh_late_seconds", Help: "Time from a tick, or from when a change was found, to the request.", Buckets: prometheus.ExponentialBuckets(0.25, 2, 10),
		}, []string{"why"}),
		leading: prometheus.NewGauge(prometheus.GaugeOpts{Name: "argosy_refresh_leading", Help: "1 if this process is the one that keeps the interval."}),
	}
	count := func(which func(all, driven int) int) func() float64 {
		return func() float64 {
			if c := r.current.Load(); c != nil {
				return float64(which(c.Apps()))
			}
			return 0
		}
	}
	registry.MustRegister(m.requests, m.late, m.leading,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "argosy_refresh_applications", Help: "Applications that are followed."}, count(func(all, _ int) int { return all })),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "argosy_refresh_applications_driven", Help: "Those of them with a trigger repository, or the plugin appset."}, count(func(_, driven int) int { return driven })),
	)
	return m
}

// bucketHeads asks bucket repositories for their commit.
type bucketHeads struct {
	api    *kube.Client
	remote *gitsource.Remote
	now    func() time.Time

	mu          sync.Mutex
	credentials []gitsource.Credential
	read        time.Time
}

func (b *bucketHeads) head(ctx context.Context, url string) (string, error) {
	return b.remote.Commit(ctx, url, "", gitsource.FindCredential(b.known(ctx), url, ""))
}

// known returns Argo CD's credentials, which are read again after a minute. Who may not read them asks without.
func (b *bucketHeads) known(ctx context.Context) []gitsource.Credential {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.read.IsZero() || b.now().Sub(b.read) > time.Minute {
		if list, err := b.api.Credentials(ctx); err == nil || errors.Is(err, kube.ErrForbidden) {
			b.credentials, b.read = list, b.now()
		}
	}
	return b.credentials
}
