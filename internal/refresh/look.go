package refresh

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/trigger/triggerurl"
)

// Place is one source of an Application that reads from S3.
type Place struct {
	App    argo.Ref
	Origin string
}

// Looks is how S3 is looked at.
type Looks struct {
	// Reads returns the published reads of applications.
	Reads func(ctx context.Context) (map[Place]s3source.Reads, error)
	// Forget removes the published reads of sources that are gone. Nil keeps them.
	Forget func(ctx context.Context, places []Place) error
	// Open returns the reader of a bucket, the same one for the same access.
	Open   func(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error)
	Policy func() (*policy.Policy, error)
	// Head returns the commit of a bucket repository.
	Head func(ctx context.Context, url string) (string, error)
}

const (
	lookTimeout = 20 * time.Second
	hintTimeout = 8 * time.Second
)

// RunLooks looks at S3 at each tick of the interval, or where there are hints, until the context ends. It does not wait for looks that take
// long.
func (c *Controller) RunLooks(ctx context.Context) {
	defer c.looks.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-c.look:
		}
		wait := time.Hour
		if next := c.startLooks(ctx); !next.IsZero() {
			wait = min(wait, next.Sub(c.cfg.Now()))
		}
		timer.Reset(max(wait, 0))
	}
}

func (c *Controller) pokeLook() {
	select {
	case c.look <- struct{}{}:
	default:
	}
}

// LookStep runs the looks that are due, and returns the time of the next one; zero waits for a hint.
func (c *Controller) LookStep(ctx context.Context) (next time.Time) {
	next = c.startLooks(ctx)
	c.looks.Wait()
	return next
}

// startLooks is LookStep that does not wait for the looks.
func (c *Controller) startLooks(ctx context.Context) (next time.Time) {
	c.mu.Lock()
	now := c.cfg.Now()
	only, next := c.hints.take(now)
	all := false
	if clock, err := c.cfg.Triggers.Clocks.Open(triggerurl.Interval); err == nil && !c.cfg.Hinted {
		n, _ := clock.Tick()
		all = n > c.polled
		c.polled = max(n, c.polled)
		next = earlier(next, clock.Next())
	}
	c.mu.Unlock()
	if all {
		only = nil
	}
	if !all && only == nil {
		return next
	}
	if !c.lookAt(ctx, only) && ctx.Err() == nil {
		// The reads could not be loaded. A tick will come again, but a hint will not, so put the hints back.
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hints.back(only, c.cfg.Now())
		next = earlier(next, c.hints.at)
	}
	c.poke()
	return next
}

// lookAt starts to compare the content that applications have seen with the current one. It reports whether their reads are known.
func (c *Controller) lookAt(ctx context.Context, only *hints) bool {
	v := &view{
		c: c, ctx: ctx, only: only, apps: c.known(), now: c.cfg.Now(), tried: map[argo.Ref]map[string]bool{},
		batches: map[string]*batch{}, keys: map[string]bool{},
	}
	v.heads()
	known := v.reads()
	if ctx.Err() != nil {
		return known
	}
	if known {
		c.resume(v.keys)
	}
	if known && only == nil {
		c.sweep(v.tried)
	}
	c.reportLooks(&v.failures)
	for project, b := range v.batches {
		if c.begin(project, only) {
			c.looks.Go(func() { c.run(v, project, b) })
		}
	}
	return known
}

// reportLooks reports failed looks.
func (c *Controller) reportLooks(f *failures) {
	for _, text := range slices.Sorted(maps.Keys(f.by)) {
		f := f.by[text]
		c.cfg.Observe(Event{App: f.app, Why: OfLook, What: fmt.Sprintf("for %d applications", f.times), Err: f.err})
	}
}

// sweep drops findings in places that applications no longer read.
func (c *Controller) sweep(tried map[argo.Ref]map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ref, e := range c.apps {
		for place := range e.found {
			if !tried[ref][place] {
				delete(e.found, place)
				delete(e.asked, place)
			}
		}
	}
}
