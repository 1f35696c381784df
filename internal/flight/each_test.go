package flight

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
)

func TestEach(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		fn     func(ctx context.Context, i int) error
		want   error
		calls  int // -1 is some, not all
		atOnce int
	}{
		"all":           {t.Context(), func(context.Context, int) error { return nil }, nil, 100, 3},
		"one at a time": {t.Context(), func(context.Context, int) error { return nil }, nil, 100, 0},
		"an error":      {t.Context(), func(_ context.Context, i int) error { return map[int]error{5: one, 70: two}[i] }, one, -1, 3},
		"those before end": {t.Context(), func(ctx context.Context, i int) error {
			if i == 1 {
				return two
			}
			<-ctx.Done() // the call that runs beside it
			return ctx.Err()
		}, two, -1, 2},
		"those before name their cause": {t.Context(), func(ctx context.Context, i int) error {
			if i == 1 {
				return two
			}
			<-ctx.Done()
			return fmt.Errorf("call %d: %w", i, context.Cause(ctx))
		}, two, -1, 2},
		"cancelled":            {ended, func(ctx context.Context, _ int) error { return ctx.Err() }, context.Canceled, -1, 3},
		"cancelled, no matter": {ended, func(context.Context, int) error { return nil }, nil, 100, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var calls, now, most atomic.Int64
			err := Each(c.ctx, c.atOnce, 100, func(ctx context.Context, i int) error {
				calls.Add(1)
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				defer now.Add(-1)
				return c.fn(ctx, i)
			})
			if !errors.Is(err, c.want) || err != nil && c.want == nil {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if c.want != nil && err != nil && err.Error() != c.want.Error() {
				t.Errorf("the error of another call: %v", err)
			}
			if n := int(calls.Load()); c.calls >= 0 && n != c.calls || c.calls < 0 && (n == 0 || n == 100) {
				t.Errorf("%d calls, want %d", n, c.calls)
			}
			if int(most.Load()) > max(c.atOnce, 1) {
				t.Errorf("%d at once", most.Load())
			}
		})
	}
	if err := Each(t.Context(), 2, 3, func(context.Context, int) error { panic("x") }); !errors.As(err, new(*PanicError)) {
		t.Error(err)
	}
	if err := Each(t.Context(), 2, 0, nil); err != nil {
		t.Error(err)
	}
}
