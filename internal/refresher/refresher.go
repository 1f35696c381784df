// Package refresher follows the Applications of a cluster and asks Argo CD for a refresh of those that package refresh finds due. It
// writes the log and the metrics of that, and makes sure that only one of several replicas does it.
package refresher

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/gitremote"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/metrics"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/refresh"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/trigger"
)

// Settings are the user's settings.
type Settings struct {
	// Interval is the time between ticks of appset.git, and of all sources without their own schedule.
	Interval time.Duration
	// Spread is the time over which the refreshes of one tick are spread. Zero is a quarter of the interval, at most a minute.
	Spread time.Duration
	// Hosts serve trigger repositories; * stands for any characters. Nil is the Service appset-repo in Argo CD's namespace.
	Hosts []string
	// Namespaces have Applications, beside Argo CD's own; * stands for any characters.
	Namespaces []string
}

// Config configures a Refresher.
type Config struct {
	Settings
	API *kube.Client
	// Open opens a bucket that applications read.
	Open func(context.Context, triggerfile.Access) (*bucket.Reader, error)
	// Policy returns what projects may do now.
	Policy  func() (*policy.Policy, error)
	Log     *slog.Logger
	Metrics *metrics.Registry
	Now     func() time.Time
	// Env has the proxies for trigger repositories.
	Env environ.Environ
	// Hinted checks S3 when there is a hint, and not at the interval.
	Hinted bool
	// Forget removes the published reads of deleted applications.
	Forget bool
	// Ready is called each time that all Applications are known. Nil is not called.
	Ready func()
}

// Refresher asks Argo CD to refresh applications.
type Refresher struct {
	cfg     Config
	current atomic.Pointer[refresh.Controller] // nil while Applications are not known
	heads   bucketHeads

	requests  metrics.Counter
	unwatched metrics.Counter
	late      metrics.Histogram
	leading   metrics.Gauge
}

// New returns a refresher, and registers its metrics. Work starts it.
func New(cfg Config) *Refresher {
	r := &Refresher{cfg: cfg, heads: bucketHeads{
		api: cfg.API, now: cfg.Now,
		remote: &gitremote.Remote{Now: cfg.Now, Env: cfg.Env, KnownHosts: cfg.API.KnownHosts, CA: cfg.API.CA},
	}}
	m := cfg.Metrics
	r.requests = m.Counter("argosy_refresh_requests_total",
		"Refreshes that were requested, by reason (why), kind and result; why=look counts listings of S3 that failed.",
		"why", "kind", "result")
	r.late = m.Histogram("argosy_refresh_late_seconds", "Time from a tick, or from when a change was found, to the request.",
		metrics.Buckets{First: 0.25, Factor: 2, Number: 10}, "why")
	r.leading = m.Gauge("argosy_refresh_leading", "1 if this process is the leader, which keeps the interval.")
	r.unwatched = m.Counter("argosy_refresh_watch_failures_total", "Attempts to watch Applications that failed.")
	m.Read("argosy_refresh_applications", "Applications that are followed.", func() int { all, _ := r.apps(); return all })
	m.Read("argosy_refresh_applications_driven", "Followed Applications with a trigger repository or the plugin appset.", func() int {
		_, driven := r.apps()
		return driven
	})
	return r
}

func (r *Refresher) apps() (all, driven int) {
	if c := r.current.Load(); c != nil {
		return c.Apps()
	}
	return 0, 0
}

// Known reports whether Applications are known. Until then, hints have no effect.
func (r *Refresher) Known() bool { return r.current.Load() != nil }

// Hint says that an object may have changed. It reports false, without effect, until Applications are known.
func (r *Refresher) Hint(bucket, key string) bool {
	c := r.current.Load()
	if c != nil {
		c.Hint(bucket, key)
	}
	return c != nil
}

// controller returns a new controller without Applications.
func (r *Refresher) controller(knows func(namespace string) bool) *refresh.Controller {
	spread := r.cfg.Spread
	if spread == 0 {
		spread = min(r.cfg.Interval/4, time.Minute)
	}
	hosts := r.cfg.Hosts
	if len(hosts) == 0 {
		hosts = refresh.DefaultHosts(r.cfg.API.Namespace)
	}
	looks := refresh.Looks{Reads: r.cfg.API.Reads, Open: r.cfg.Open, Policy: r.cfg.Policy, Head: r.heads.head}
	if r.cfg.Forget {
		looks.Forget = r.cfg.API.Forget
	}
	return refresh.New(refresh.Config{
		API: r.cfg.API, Triggers: refresh.Triggers{Hosts: hosts, Clocks: &trigger.Clocks{Interval: r.cfg.Interval, Now: r.cfg.Now}},
		Interval: r.cfg.Interval, Spread: spread, Now: r.cfg.Now, Observe: r.observe, Looks: looks, Hinted: r.cfg.Hinted, Knows: knows,
	})
}

// Work follows Applications and asks for what is due, until the context ends.
func (r *Refresher) Work(ctx context.Context) {
	var listed, told sync.Map
	c := r.controller(func(namespace string) bool {
		_, one := listed.Load(namespace)
		_, all := listed.Load("")
		return one || all
	})
	var group sync.WaitGroup
	r.cfg.API.Watch(ctx, r.cfg.Namespaces, kube.Watcher{
		Seen: c.Seen, Gone: c.Gone, Listed: func(namespace string) {
			listed.Store(namespace, true)
			told.Clear()
		},
		Synced: func() {
			c.Begin()
			r.current.Store(c)
			all, driven := c.Apps()
			r.cfg.Log.Info("refreshing", "applications", all, "driven", driven)
			if r.cfg.Ready != nil {
				r.cfg.Ready()
			}
			group.Go(func() { c.Run(ctx) })
			group.Go(func() { c.RunLooks(ctx) })
		},
		Failed: func(err error) {
			r.unwatched.Add(1)
			// Once, however often it is tried.
			if _, again := told.LoadOrStore(err.Error(), true); !again {
				r.cfg.Log.Warn("watching", "error", err.Error())
			}
		},
	})
	group.Wait()
	r.current.CompareAndSwap(c, nil)
}

// Lead calls Work while this process is the leader of its replicas.
func (r *Refresher) Lead(ctx context.Context) {
	host, _ := os.Hostname()
	var id [4]byte
	_, _ = rand.Read(id[:])
	lease := &kube.Lease{
		Client: r.cfg.API, Name: kube.RefreshLease, Holder: host + "_" + hex.EncodeToString(id[:]), Duration: 6 * time.Second,
		Patience: 4 * time.Second, Pause: time.Second,
		Now: r.cfg.Now, After: time.After, Failed: func(err error) { r.cfg.Log.Warn("leading", "error", err.Error()) },
	}
	lease.Hold(ctx, func(ctx context.Context) {
		r.cfg.Log.Info("leading", "holder", lease.Holder)
		r.leading.Set(1)
		defer r.leading.Set(0)
		r.Work(ctx)
	})
}

// observe writes the log, and counts.
func (r *Refresher) observe(e refresh.Event) {
	result := "ok"
	if e.Err != nil {
		result = "error"
	}
	r.requests.Add(1, string(e.Why), string(e.Kind), result)
	fields := []any{"application", e.App.String(), "kind", string(e.Kind), "why", string(e.Why), "what", e.What}
	if panicked := new(flight.PanicError); errors.As(e.Err, &panicked) {
		r.cfg.Log.Error("panic", append(fields, "error", e.Err.Error(), "stack", string(panicked.Stack))...)
		return
	}
	if e.Err != nil {
		r.cfg.Log.Warn("not refreshed", append(fields, "error", e.Err.Error())...)
		return
	}
	r.late.Observe(e.Late.Seconds(), string(e.Why))
	r.cfg.Log.Info("refresh", append(fields, "late", e.Late.Round(time.Millisecond).String())...)
	if e.Warn != "" {
		r.cfg.Log.Warn("not deployed", "application", e.App.String(), "warning", e.Warn)
	}
}

// bucketHeads asks bucket repositories for their commit.
type bucketHeads struct {
	api    *kube.Client
	remote *gitremote.Remote
	now    func() time.Time

	mu          sync.Mutex
	credentials []gitremote.Credential
	read        time.Time
}

func (b *bucketHeads) head(ctx context.Context, url string) (string, error) {
	return b.remote.Commit(ctx, url, "", gitremote.FindCredential(b.known(ctx), url, ""))
}

// known returns Argo CD's credentials, and reads them again after a minute. Without the right to read them, there are none.
func (b *bucketHeads) known(ctx context.Context) []gitremote.Credential {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.read.IsZero() || b.now().Sub(b.read) > time.Minute {
		if list, err := b.api.Credentials(ctx); err == nil || errors.Is(err, kube.ErrForbidden) {
			b.credentials, b.read = list, b.now()
		}
	}
	return b.credentials
}
