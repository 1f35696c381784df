package refresh

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/retry"
	"github.com/argosy-cd/argosy/internal/turnstile"
)

// Looks go to hosts that tenants name, and some of these never answer. So projects do not wait for each other: each has its own batch of
// looks, which may take longer than the interval, and its own slots.
const (
	// perProject, perHost and looking are how many looks run at once: of one project, at one host, and in all.
	perProject = 8
	perHost    = 16
	looking    = 32
	// maxPause is the longest pause after looks that had no answer in time; it begins with one interval.
	maxPause = 10 * time.Minute
)

// batch is the looks of one project.
type batch struct {
	failures
	tasks []task
}

// task is one look.
type task struct {
	key  string // of the pause after it
	host string
	look func(ctx context.Context) error
	fail func(err error)
}

// silence is the pause after a look without an answer in time.
type silence struct {
	times int
	until time.Time
}

// failures are errors by their text: each is reported once, however many applications have it.
type failures struct {
	mu sync.Mutex
	by map[string]*failure
}

type failure struct {
	app   argo.Ref
	times int
	err   error
}

func (f *failures) add(app argo.Ref, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[string]*failure{}
	}
	one := f.by[err.Error()]
	if one == nil {
		one = &failure{app: app, err: err}
		f.by[err.Error()] = one
	}
	one.times++
}

// newSlots returns the slots of looks: in all and by host. Every look may wait for one: a project has at most perProject that do.
func newSlots() *turnstile.Turnstile {
	return &turnstile.Turnstile{All: looking, Each: perHost, Queue: math.MaxInt, QueueEach: math.MaxInt}
}

// begin reports whether the looks of a project may begin. If earlier ones still run, the hints are kept until these have ended; a tick
// comes again.
func (c *Controller) begin(project string, only *hints) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if late := c.busy[project]; late != nil {
		late.back(only, c.cfg.Now())
		return false
	}
	c.busy[project] = &hints{}
	return true
}

func (c *Controller) run(v *view, project string, b *batch) {
	_ = flight.Each(v.ctx, perProject, len(b.tasks), func(_ context.Context, i int) error {
		t := b.tasks[i]
		leave, err := c.slots.Enter(v.ctx, t.host)
		if err != nil {
			return nil // the context has ended
		}
		defer leave()
		if _, err := flight.Safely(func() (any, error) { c.do(v, t); return nil, nil }); err != nil { // a panic
			t.fail(err)
		}
		return nil
	})
	if v.ctx.Err() == nil {
		c.reportLooks(&b.failures)
	}
	c.mu.Lock()
	late := c.busy[project]
	delete(c.busy, project)
	if !late.at.IsZero() {
		c.hints.back(late, c.cfg.Now())
		c.pokeLook()
	}
	c.mu.Unlock()
	c.poke()
}

// do looks, unless there was no answer lately.
func (c *Controller) do(v *view, t task) {
	c.mu.Lock()
	s := c.silent[t.key]
	c.mu.Unlock()
	if s.until.After(c.cfg.Now()) {
		t.fail(fmt.Errorf("host %s has not answered in time; the request is retried later", t.host))
		return
	}
	ctx, cancel := v.deadline()
	defer cancel()
	err := t.look(ctx)
	c.mu.Lock()
	if err != nil && ctx.Err() != nil && v.ctx.Err() == nil {
		s.times++
		pause := retry.Backoff{First: c.cfg.Interval, Last: max(maxPause, c.cfg.Interval)}
		s.until = c.cfg.Now().Add(pause.After(s.times))
		c.silent[t.key] = s
	} else {
		delete(c.silent, t.key)
	}
	c.mu.Unlock()
	if err != nil {
		t.fail(err)
	}
}

// resume drops the pauses of looks that are no longer needed.
func (c *Controller) resume(needed map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.silent {
		if !needed[key] {
			delete(c.silent, key)
		}
	}
}
