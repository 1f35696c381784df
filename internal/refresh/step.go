package refresh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
)

// request is what is asked for one application.
type request struct {
	app     App
	kind    Kind
	reasons []reason
}

// Run takes steps until the context ends.
func (c *Controller) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-c.wake:
		}
		next := c.Step(ctx)
		// What is told meanwhile waits, too: a thousand changes are one step.
		select {
		case <-ctx.Done():
			return
		case <-time.After(gap):
		}
		wait := maxBackoff
		if !next.IsZero() {
			wait = min(wait, next.Sub(c.cfg.Now()))
		}
		timer.Reset(max(wait, 0))
	}
}

// Step asks for what is due, and returns when the next step is; zero is when something is told.
func (c *Controller) Step(ctx context.Context) (next time.Time) {
	now := c.cfg.Now()
	requests, next := c.collect(now)
	results := make([]error, len(requests))
	versions := make([]string, len(requests))
	var group sync.WaitGroup
	free := make(chan struct{}, parallel)
	for i, r := range requests {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			versions[i], results[i] = c.cfg.API.Refresh(ctx, r.app.Ref, r.app.Version, r.kind)
		})
	}
	group.Wait()
	var away []int
	for i, r := range requests {
		if ctx.Err() != nil && results[i] != nil {
			return next // nobody waits for the answer
		}
		next = earlier(next, c.settle(r, now, versions[i], results[i]))
		if results[i] != nil && !settled(results[i]) {
			away = append(away, i)
			continue
		}
		c.report(ctx, r, now, results[i])
	}
	if len(away) > 0 {
		// An API that is away is one problem, however many applications have it.
		r := requests[away[0]]
		c.cfg.Observe(Event{App: r.app.Ref, Kind: r.kind, Why: r.reasons[0].why, What: fmt.Sprintf("and %d others", len(away)-1), Err: results[away[0]]})
	}
	return next
}

// settled reports whether an error is an answer, and not an API that is away.
func settled(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrGone) || errors.Is(err, ErrRefused)
}

// collect returns what is due, no more than may be asked for at once.
func (c *Controller) collect(now time.Time) (requests []request, next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.until) {
		return nil, c.until
	}
	for _, e := range c.apps {
		ripe, later := c.due(e, now)
		next = earlier(next, later)
		ripe = slices.DeleteFunc(ripe, func(r reason) bool { return c.passed(e, r, now) })
		if len(ripe) == 0 {
			continue
		}
		r := request{e.app, Soft, ripe}
		if slices.ContainsFunc(ripe, func(r reason) bool { return r.kind == Hard }) {
			r.kind = Hard
		}
		requests = append(requests, r)
	}
	// Who has waited longest is first.
	slices.SortFunc(requests, func(a, b request) int {
		if d := a.since().Compare(b.since()); d != 0 {
			return d
		}
		return strings.Compare(a.app.Ref.String(), b.app.Ref.String())
	})
	if len(requests) > most {
		requests, next = requests[:most], now
	}
	return requests, next
}

// passed deals with reasons that need no request.
func (c *Controller) passed(e *entry, r reason, now time.Time) bool {
	switch {
	case e.app.Pending && r.why == "clock":
		// Somebody else's request is answered after the tick.
		e.ticks[r.place] = r.tick
		return true
	case e.app.Pending:
		return true // when it is answered, it is told
	case c.cfg.Hinted && now.Sub(r.due) > maxAge:
		// It had to wait, and may be good by now.
		delete(e.found, r.place)
		c.hints.again(e.app.Ref, now)
		c.pokeLook()
		return true
	}
	return false
}

func (r request) since() time.Time {
	var t time.Time
	for _, x := range r.reasons {
		t = earlier(t, x.at)
	}
	return t
}

// settle takes note of the result of a request, and returns when to try again, if so.
func (c *Controller) settle(r request, now time.Time, version string, err error) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.apps[r.app.Ref]
	if e == nil {
		return time.Time{}
	}
	switch {
	case errors.Is(err, ErrConflict):
		e.stale = r.app.Version
		return time.Time{}
	case errors.Is(err, ErrGone):
		delete(c.apps, r.app.Ref)
		return time.Time{}
	case err != nil && !settled(err):
		if now.Before(c.until) {
			return c.until // all of one step are one failure
		}
		c.backoff = min(max(2*c.backoff, minBackoff), maxBackoff)
		c.until = now.Add(c.backoff)
		return c.until
	case err == nil:
		c.backoff = 0
		if e.app.Version == r.app.Version {
			e.app.Version, e.app.Pending = version, true
		}
	}
	// Refused ones wait as if they were asked for: the next tick is soon enough.
	for _, x := range r.reasons {
		if x.why == "clock" {
			e.ticks[x.place] = x.tick
			continue
		}
		a := e.asked[x.place]
		if a.id != x.id {
			a = asked{id: x.id}
		}
		a.at, a.times = now, a.times+1
		e.asked[x.place] = a
	}
	return now.Add(gap)
}

// report tells what was done.
func (c *Controller) report(ctx context.Context, r request, now time.Time, err error) {
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrGone) {
		return
	}
	for _, x := range r.reasons {
		event := Event{App: r.app.Ref, Kind: r.kind, Why: x.why, What: x.what(), Late: now.Sub(x.due), Err: err}
		if err == nil && x.kind == Hard && r.app.SyncsOnce {
			event.Warn = "what is in S3 has changed, but not the revision in Git, which is synced already; without selfHeal Argo CD will not deploy it by itself. Set spec.syncPolicy.automated.selfHeal, or use a bucket repository"
			if err := c.cfg.API.Warn(ctx, r.app, x.id, "NotDeployed", event.Warn); err != nil {
				c.cfg.Observe(Event{App: r.app.Ref, Why: "event", Err: err})
			}
		}
		c.cfg.Observe(event)
	}
}

// what says in words what is to be seen.
func (r reason) what() string {
	if r.why == "clock" {
		return fmt.Sprintf("%s tick %d", r.place, r.tick)
	}
	return fmt.Sprintf("%s is %.12s", r.place, r.id)
}

// Apps returns how many applications are known, and how many of them have a trigger of ours.
func (c *Controller) Apps() (all, driven int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.apps {
		if slices.ContainsFunc(e.drives, func(d drive) bool { return d.clock != nil || d.bucket.Bucket != "" }) {
			driven++
		}
	}
	return len(c.apps), driven
}

// known returns the applications that are known.
func (c *Controller) known() map[argo.Ref]App {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[argo.Ref]App, len(c.apps))
	for ref, e := range c.apps {
		out[ref] = e.app
	}
	return out
}
