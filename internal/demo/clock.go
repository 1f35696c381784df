package demo

import (
	"context"
	"sync/atomic"
	"time"
)

// bootClock is the time of a boot. It goes on only while nothing is done, so what is done takes no time of the boot, and every demo is the
// same.
type bootClock struct {
	base  time.Time // when the boot begins
	speed float64
	gone  atomic.Int64
}

// passed is how long the boot takes by now.
func (c *bootClock) passed() time.Duration { return time.Duration(c.gone.Load()) }

func (c *bootClock) now() time.Time { return c.base.Add(c.passed()) }

// wait lets time pass, so much at most in ours, up to a time of the boot.
func (c *bootClock) wait(ctx context.Context, to, most time.Duration) {
	left := to - c.passed()
	ours := time.Duration(float64(left) / c.speed)
	if ours > most {
		ours, left = most, time.Duration(float64(most)*c.speed)
	}
	select {
	case <-ctx.Done():
	case <-time.After(ours):
		c.gone.Add(int64(left))
	}
}
