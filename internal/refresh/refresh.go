// Package refresh makes Argo CD refresh Applications: when a clock of theirs has ticked, and when what they read from S3
// has changed. It requests a refresh by an annotation, and Argo CD does the rest.
//
// Nothing is kept: whether an Application has seen a tick, or a bucket's content, is in its own status and in what the plugins
// have published, so another replica, a restart or the end of an outage goes on where it was, with one request for each
// Application and not one for each tick that was missed. Requests are spread over a window. An Application that is being
// deleted, is not to be reconciled, has a request already, or has changed since it was seen is not touched.
package refresh

import (
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/retry"
	"github.com/argosy-cd/argosy/internal/trigger"
	"github.com/argosy-cd/argosy/internal/turnstile"
)

// Kind is how Argo CD refreshes.
type Kind string

// Kinds of a refresh, as the annotation has them. Hard forgets generated manifests, too.
const (
	Soft Kind = "normal"
	Hard Kind = "hard"
)

// Results of a request that reached the API server.
var (
	ErrConflict = errors.New("it has changed meanwhile")
	ErrGone     = errors.New("it is gone")
	ErrRefused  = errors.New("refused")
)

// API sends the requests.
type API interface {
	// Refresh asks for a look at an application, if it is still the version that was seen. Errors are ErrConflict, ErrGone, ErrRefused;
	// any other is an API that is away.
	Refresh(ctx context.Context, app argo.Ref, version string, kind Kind) (newVersion string, err error)
	// Warn tells the users of an application.
	Warn(ctx context.Context, app App, w Warning) error
}

// Warning is a message for the users of an application. It is sent once for each ID.
type Warning struct {
	ID, Reason, Message string
	At                  time.Time
}

// Why is the trigger of an Event, in logs and metrics.
type Why string

// Triggers of refreshes, and other sources of Events.
const (
	ByClock  Why = "clock"
	ByS3     Why = "s3"     // content that a plugin has read from S3
	ByBucket Why = "bucket" // the content of a bucket repository
	OfLook   Why = "look"   // a look at S3 that failed
	OfEvent  Why = "event"  // an Event in the cluster that was not written
)

// Event is something that was done, or that has failed.
type Event struct {
	App  argo.Ref
	Kind Kind
	Why  Why
	What string // in words: the tick or the content, or how many others failed in the same way
	Late time.Duration
	Warn string
	Err  error
}

// Config configures a Controller.
type Config struct {
	API      API
	Triggers Triggers
	// Interval is the first pause between attempts; the next ones are longer. S3 is looked at when the clock of Triggers ticks.
	Interval time.Duration
	// Spread is the time that the requests for one tick are spread over.
	Spread  time.Duration
	Now     func() time.Time
	Observe func(Event)
	// Looks is how S3 is looked at.
	Looks Looks
	// Knows reports whether all Applications of a namespace are known. Nil is yes.
	Knows func(namespace string) bool
	// Hinted says that S3 is read only after a hint, not at the interval. A change is then requested once.
	Hinted bool
}

const (
	// grace is for clocks of other machines that are a little late.
	grace = time.Second
	// gap is the time between steps, and most is the number of requests of a step: no more than a hundred in a second.
	gap  = 250 * time.Millisecond
	most = 25
	// parallel requests to the API.
	parallel = 8
	// maxRetry is the patience with content that cannot be deployed.
	maxRetry = time.Hour
	// idle is how long Run waits where nothing is due.
	idle = 30 * time.Second
	// maxAge is how long a finding from a hint may cause a refresh without another look.
	maxAge = 2 * time.Second
)

// backoff is for an API that is away.
var backoff = retry.Backoff{First: time.Second, Last: 30 * time.Second}

// Controller knows Applications and requests refreshes of them. It is safe for concurrent use.
type Controller struct {
	cfg  Config
	wake chan struct{} // for Run
	look chan struct{} // for RunLooks

	looks sync.WaitGroup // that run
	slots *turnstile.Turnstile

	mu     sync.Mutex
	apps   map[argo.Ref]*entry
	since  time.Time // when it began to ask
	until  time.Time // when it may ask again
	away   int       // steps in a row of which no request had an answer
	hints  hints
	polled int64              // the latest tick that S3 was looked at for
	gone   map[Place]bool     // that the last look found
	busy   map[string]*hints  // projects whose looks run, with the hints that came since
	silent map[string]silence // looks that had no answer in time, by key
}

type entry struct {
	app    App
	drives []drive
	stale  string             // a version that is no longer there
	failed int                // requests in a row that had no answer
	until  time.Time          // when to ask again after that
	ticks  map[string]int64   // the latest that were asked for, by clock
	asked  map[string]asked   // the content that was asked for last, by place
	found  map[string]finding // content that was not seen yet, by place
}

// drive is the trigger of a source.
type drive struct {
	clock  *trigger.Clock
	known  bool // its commits are the source's revisions
	bucket bucket.URL
}

type asked struct {
	id    string
	at    time.Time
	times int
}

// finding is content that an application has not seen.
type finding struct {
	id     string // of the content
	where  string // it is
	source int    // whose revision it must become; -1 is one that a Hard refresh makes good
	at     time.Time
}

// New returns a controller without Applications.
func New(cfg Config) *Controller {
	return &Controller{
		cfg: cfg, wake: make(chan struct{}, 1), look: make(chan struct{}, 1), slots: newSlots(), apps: map[argo.Ref]*entry{}, polled: -1,
		busy: map[string]*hints{}, silent: map[string]silence{},
	}
}

// Begin says that from now on this controller sends the requests.
func (c *Controller) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since, c.until, c.away, c.polled = c.cfg.Now(), time.Time{}, 0, -1
}

// Seen is told each new state of an Application.
func (c *Controller) Seen(a App) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.apps[a.Ref]
	if e == nil || e.app.UID != a.UID {
		e = &entry{ticks: map[string]int64{}, asked: map[string]asked{}, found: map[string]finding{}}
		c.apps[a.Ref] = e
	}
	if !slices.Equal(e.app.Sources, a.Sources) || e.drives == nil {
		clear(e.found)
		clear(e.asked)
		e.drives = make([]drive, len(a.Sources))
		for i, s := range a.Sources {
			e.drives[i].clock, e.drives[i].known = c.cfg.Triggers.clock(s)
			e.drives[i].bucket, _ = c.cfg.Triggers.bucket(s)
		}
	}
	e.app = a
	c.poke()
}

// Gone is told that an Application is not there any more.
func (c *Controller) Gone(ref argo.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.apps, ref)
}

// poke makes Run take a step.
func (c *Controller) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// offset is an application's place in the window.
func offset(ref argo.Ref, window time.Duration) time.Duration {
	if window <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(ref.String()))
	return time.Duration(h.Sum64() % uint64(window))
}

// reason is why an application is worth a look.
type reason struct {
	why   Why    // ByClock, ByBucket, ByS3
	place string // the clock, or the source
	where string // the content is
	id    string // of the content
	tick  int64
	kind  Kind
	due   time.Time // since when
	at    time.Time // not before
}

// reasons returns the reasons to refresh an application, now or later, and the time of its clocks' next tick.
func (c *Controller) reasons(e *entry) (out []reason, next time.Time) {
	for i, d := range e.drives {
		if d.clock == nil || c.cfg.Hinted {
			continue
		}
		if r, ok := c.ticked(e, d, i); ok {
			out = append(out, r)
		}
		wait, window := c.pace(d.clock)
		next = earlier(next, d.clock.Next().Add(wait+offset(e.app.Ref, window)))
	}
	for _, place := range slices.Sorted(maps.Keys(e.found)) {
		if r, ok := c.changed(e, place); ok {
			out = append(out, r)
		}
	}
	return out, next
}

// pace is how long after a tick of a clock the first request is, and over which time the others are spread: all come before the
// next tick.
func (c *Controller) pace(clock *trigger.Clock) (wait, window time.Duration) {
	wait = min(grace, clock.Interval()/4)
	return wait, min(c.cfg.Spread, clock.Interval()-2*wait)
}

// ticked returns the reason for a refresh if the application has not seen the latest tick of a clock.
func (c *Controller) ticked(e *entry, d drive, source int) (reason, bool) {
	n, at := d.clock.Tick()
	wait, window := c.pace(d.clock)
	r := reason{why: ByClock, place: d.clock.Name(), tick: n, kind: Soft, due: at, at: at.Add(wait)}
	if last, ok := e.ticks[r.place]; ok && last >= n {
		return r, false
	}
	if d.known {
		head, err := d.clock.Head(context.Background())
		if err == nil && e.app.revision(source) == head.String() {
			return r, false
		}
	}
	// The previous leader may have refreshed for this tick; without a revision, reconciledAt shows it.
	if (!d.known || e.app.Failed) && at.Before(c.since) && !e.app.Looked.Before(at) {
		return r, false
	}
	if r.at.Before(c.since) {
		r.at = c.since
	}
	r.at = r.at.Add(offset(e.app.Ref, window))
	return r, true
}

// changed returns the reason for a refresh until the application has seen the new content.
func (c *Controller) changed(e *entry, place string) (reason, bool) {
	f := e.found[place]
	r := reason{why: ByS3, place: place, where: f.where, id: f.id, kind: Hard, due: f.at, at: f.at}
	if f.source >= 0 {
		r.why, r.kind = ByBucket, Soft
		if e.app.revision(f.source) == f.id {
			return r, false
		}
	}
	if !c.cfg.Hinted {
		r.at = f.at.Add(offset(e.app.Ref, c.cfg.Spread))
	}
	if a := e.asked[place]; a.id == f.id {
		// A refresh did not help: the content may be broken. Back off; with hints, do not retry.
		r.at = a.at.Add(min(c.cfg.Interval<<min(a.times-1, 10), max(maxRetry, c.cfg.Interval)))
		return r, !c.cfg.Hinted
	}
	return r, true
}

// due returns why an application is to be asked for now, and when to see about it again.
func (c *Controller) due(e *entry, now time.Time) (ripe []reason, next time.Time) {
	if e.app.Leave || e.app.Looked.IsZero() || e.stale != "" && e.stale == e.app.Version {
		return nil, time.Time{} // never compared, or a watch event will follow
	}
	if e.until.After(now) {
		return nil, e.until
	}
	all, next := c.reasons(e)
	for _, r := range all {
		switch {
		case r.at.After(now):
			next = earlier(next, r.at)
		case e.app.Pending && r.kind == Hard:
			// The pending refresh may be Soft, or may have begun before. A watch event tells its end.
		default:
			ripe = append(ripe, r)
		}
	}
	return ripe, next
}

// earlier is the earlier of two times; zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
