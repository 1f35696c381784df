package refresh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/flight"
)

// request is a refresh of one application.
type request struct {
	app     App
	kind    Kind
	reasons []reason
	failed  int // times in a row
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
		// Changes during the gap are handled by the next step: a thousand changes are one step.
		select {
		case <-ctx.Done():
			return
		case <-time.After(gap):
		}
		wait := idle
		if !next.IsZero() {
			wait = min(wait, next.Sub(c.cfg.Now()))
		}
		timer.Reset(max(wait, 0))
	}
}

// Step requests the refreshes that are due, and returns the time of the next step; zero waits for a change.
func (c *Controller) Step(ctx context.Context) (next time.Time) {
	now := c.cfg.Now()
	requests, next := c.collect(now)
	results := make([]result, len(requests))
	_ = flight.Each(ctx, parallel, len(requests), func(ctx context.Context, i int) error {
		results[i] = c.ask(ctx, requests[i])
		return nil
	})
	answered := c.cfg.Now()
	var away []int
	for i, r := range requests {
		if ctx.Err() != nil && results[i].err != nil {
			return next // the caller has ended
		}
		next = earlier(next, c.settle(r, answered, results[i]))
		if results[i].away() {
			away = append(away, i)
			continue
		}
		c.report(r, now, results[i])
	}
	if len(away) > 0 {
		// An API that is away is one problem, however many applications have it.
		r := requests[away[0]]
		c.cfg.Observe(Event{
			App: r.app.Ref, Kind: r.kind, Why: r.reasons[0].why, What: fmt.Sprintf("and %d others", len(away)-1),
			Err: results[away[0]].err,
		})
	}
	return earlier(next, c.breathe(answered, len(requests), len(away)))
}

// ask asks for a refresh. A panic is an error of this request.
func (c *Controller) ask(ctx context.Context, r request) result {
	answer, err := flight.Safely(func() (out result, err error) {
		if out.version, err = c.cfg.API.Refresh(ctx, r.app.Ref, r.app.Version, r.kind); err == nil {
			out.warned = c.warn(ctx, r)
		}
		return out, err
	})
	answer.err = err
	return answer
}

// result is the outcome of a request.
type result struct {
	version string // of the application, from now on
	err     error
	warned  error // error from sending a warning about it
}

// away reports whether the API server did not answer.
func (r result) away() bool {
	return r.err != nil && !errors.Is(r.err, ErrConflict) && !errors.Is(r.err, ErrGone) && !errors.Is(r.err, ErrRefused)
}

// breathe backs off while the API server does not answer.
func (c *Controller) breathe(now time.Time, asked, away int) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case asked > 0 && away == asked:
		c.away++
		c.until = now.Add(backoff.After(c.away))
		return c.until
	case asked > 0:
		c.away = 0
	}
	return time.Time{}
}

// collect returns the due requests, at most as many as one step may send.
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
		r := request{e.app, Soft, ripe, e.failed}
		if slices.ContainsFunc(ripe, func(r reason) bool { return r.kind == Hard }) {
			r.kind = Hard
		}
		requests = append(requests, r)
	}
	// Order: fewest failures first, then longest wait.
	slices.SortFunc(requests, func(a, b request) int {
		return cmp.Or(cmp.Compare(a.failed, b.failed), a.since().Compare(b.since()), cmp.Compare(a.app.Ref.String(), b.app.Ref.String()))
	})
	if len(requests) > most {
		requests, next = requests[:most], now
	}
	return requests, next
}

// passed reports whether a reason needs no request now, and handles it.
func (c *Controller) passed(e *entry, r reason, now time.Time) bool {
	switch {
	case e.app.Pending && r.why == ByClock:
		// The pending refresh will be answered after the tick.
		e.ticks[r.place] = r.tick
		return true
	case e.app.Pending:
		return true // a watch event will tell its end
	case c.cfg.Hinted && now.Sub(r.due) > maxAge:
		// The finding is old; the application may have seen the content by now.
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

// settle records the result of a request, and returns when to retry; zero for never.
func (c *Controller) settle(r request, now time.Time, res result) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.apps[r.app.Ref]
	if e == nil {
		return time.Time{}
	}
	switch {
	case res.away():
		e.failed++
		e.until = now.Add(backoff.After(e.failed))
		return e.until
	case errors.Is(res.err, ErrConflict):
		e.stale = r.app.Version
		return time.Time{}
	case errors.Is(res.err, ErrGone):
		delete(c.apps, r.app.Ref)
		return time.Time{}
	case res.err == nil && e.app.Version == r.app.Version:
		e.app.Version, e.app.Pending = res.version, true
	}
	e.failed = 0
	// Refused ones wait as if they were asked for: the next tick is soon enough.
	for _, x := range r.reasons {
		if x.why == ByClock {
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

const notDeployed = "the content in S3 has changed, but the revision in Git has not. Argo CD does not sync the same revision twice " +
	"without selfHeal. Set spec.syncPolicy.automated.selfHeal, or use a bucket repository"

// bites reports whether a new look is all that happens.
func (r request) bites(x reason) bool { return x.kind == Hard && r.app.SyncsOnce }

// warn sends the users of an application the warnings that Argo CD does not.
func (c *Controller) warn(ctx context.Context, r request) error {
	for _, x := range r.reasons {
		if r.bites(x) {
			return c.cfg.API.Warn(ctx, r.app, Warning{x.id, "NotDeployed", notDeployed, c.cfg.Now()})
		}
	}
	return nil
}

// report logs and counts a request.
func (c *Controller) report(r request, now time.Time, res result) {
	if errors.Is(res.err, ErrConflict) || errors.Is(res.err, ErrGone) {
		return
	}
	for _, x := range r.reasons {
		event := Event{App: r.app.Ref, Kind: r.kind, Why: x.why, What: x.what(), Late: now.Sub(x.due), Err: res.err}
		if res.err == nil && r.bites(x) {
			event.Warn = notDeployed
		}
		c.cfg.Observe(event)
	}
	if res.warned != nil {
		c.cfg.Observe(Event{App: r.app.Ref, Why: OfEvent, Err: res.warned})
	}
}

// what describes a reason in words.
func (r reason) what() string {
	if r.why == ByClock {
		return fmt.Sprintf("%s tick %d", r.place, r.tick)
	}
	return fmt.Sprintf("%s is %.12s", r.where, r.id)
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
