// Package retry has attempts, and the waits between them: each twice as long as the one before, up to a limit. It has no clock.
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

// Policy says how often something is tried, and when.
type Policy struct {
	// Attempts is how many there are at most. The first is always made.
	Attempts int
	Backoff  Backoff
	// After starts a timer, as time.After does.
	After func(time.Duration) <-chan time.Time
}

// Do calls try until it succeeds, does not want another attempt, or has used all attempts, or until the context ends in a wait. It returns
// the error of the last attempt.
func Do(ctx context.Context, p Policy, try func() (again bool, err error)) error {
	for attempt := 1; ; attempt++ {
		again, err := try()
		if err == nil || !again || attempt >= p.Attempts || !Wait(ctx, p.After(p.Backoff.After(attempt))) {
			return err
		}
	}
}
