package worker

import (
	"sync/atomic"
	"time"
)

// clock calls a function when it has run for some time. It can be stopped, and started again.
type clock struct {
	left    time.Duration // when it was last stopped; zero is no limit
	since   time.Time
	timer   *time.Timer // nil while it is stopped
	call    func()
	expired atomic.Bool
}

func newClock(limit time.Duration, call func()) *clock {
	c := &clock{left: limit, call: call}
	c.start()
	return c
}

func (c *clock) start() {
	if c.left <= 0 || c.over() {
		return
	}
	c.since = time.Now() //nolint:forbidigo // a process runs in real time
	c.timer = time.AfterFunc(c.left, func() {
		c.expired.Store(true)
		c.call()
	})
}

func (c *clock) stop() {
	if c.timer == nil {
		return
	}
	// What it calls may be about to run.
	c.expired.CompareAndSwap(false, !c.timer.Stop())
	c.timer = nil
	c.left = max(1, c.left-time.Since(c.since))
}

// over reports whether the time is up.
func (c *clock) over() bool { return c.expired.Load() }
