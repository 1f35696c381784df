// Package retry has the waits between attempts: each twice as long as the one before, up to a limit. It has no clock.
package retry

import (
	"context"
	"time"
)

// Backoff is how the waits grow.
type Backoff struct {
	First, Last time.Duration
}

// After returns the wait after so many failures in a row; none is no wait.
func (b Backoff) After(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	wait := b.First
	for range failures - 1 {
		if wait >= b.Last {
			break
		}
		wait *= 2
	}
	return min(wait, b.Last)
}

// Wait returns true when a timer has fired, and false when the context has ended.
func Wait(ctx context.Context, timer <-chan time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-timer:
		return true
	}
}
