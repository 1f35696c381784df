package flight

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Each calls fn for the numbers from 0 to n-1, some at a time. After an error no more calls begin, and those that run are cancelled. It
// returns the error of the lowest number, but a cancellation only if there is no other error.
func Each(ctx context.Context, atOnce, n int, fn func(ctx context.Context, i int) error) error {
	// Not errgroup's own context: its cause is the first error, which the other calls would report as theirs.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(max(atOnce, 1))
	errs := make([]error, n)
	var failed atomic.Bool
	for i := range n {
		if failed.Load() {
			break
		}
		group.Go(func() error {
			if failed.Load() { // while this one waited for its turn
				return nil
			}
			if _, errs[i] = Safely(func() (any, error) { return nil, fn(ctx, i) }); errs[i] != nil {
				failed.Store(true)
				cancel()
			}
			return errs[i]
		})
	}
	err := group.Wait()
	for _, e := range errs {
		if e != nil && !errors.Is(e, context.Canceled) {
			return e
		}
	}
	return err
}
