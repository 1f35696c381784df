package demo

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// bootClock is the time of a boot. It goes on only while nothing is done, so what is done takes no time of the boot, and every demo is the
// same.
type bootClock struct {
	base  time.Time // when the boot begins
	speed atomic.Uint64
	gone  atomic.Int64
}

func newClock(base time.Time, speed float64) *bootClock {
	c := &bootClock{base: base}
	c.setSpeed(speed)
	return c
}

// setSpeed is how many times as fast as a real boot it goes from now on.
func (c *bootClock) setSpeed(speed float64) { c.speed.Store(math.Float64bits(speed)) }

// passed is how long the boot takes by now.
func (c *bootClock) passed() time.Duration { return time.Duration(c.gone.Load()) }

func (c *bootClock) now() time.Time { return c.base.Add(c.passed()) }

// wait lets time pass, so much at most in ours, up to a time of the boot.
func (c *bootClock) wait(ctx context.Context, to, most time.Duration) {
	left := to - c.passed()
	speed := math.Float64frombits(c.speed.Load())
	ours := time.Duration(float64(left) / speed)
	if ours > most {
		ours, left = most, time.Duration(float64(most)*speed)
	}
	select {
	case <-ctx.Done():
	case <-time.After(ours):
		c.gone.Add(int64(left))
	}
}
