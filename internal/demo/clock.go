package demo

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// bootClock is the clock of a boot. It advances only in wait, so real work takes no time of the boot, and every demo is the same.
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

// setSpeed sets the speed from now on, as a multiple of real time.
func (c *bootClock) setSpeed(speed float64) { c.speed.Store(math.Float64bits(speed)) }

// passed is the time since the boot began.
func (c *bootClock) passed() time.Duration { return time.Duration(c.gone.Load()) }

func (c *bootClock) now() time.Time { return c.base.Add(c.passed()) }

// wait lets the clock advance up to a time of the boot, for at most so much real time.
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
