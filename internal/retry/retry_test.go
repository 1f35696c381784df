package retry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestAfter(t *testing.T) {
	b := Backoff{First: time.Second, Last: 30 * time.Second}
	for failures, want := range map[int]time.Duration{
		-1: 0, 0: 0, 1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 6: 30 * time.Second, 7: 30 * time.Second,
		1 << 40: 30 * time.Second,
	} {
		if got := b.After(failures); got != want {
			t.Errorf("after %d failures: got %s, want %s", failures, got, want)
		}
	}
	if got := (Backoff{First: time.Minute, Last: time.Second}).After(1); got != time.Second {
		t.Errorf("over the limit: %s", got)
	}
}

func TestWait(t *testing.T) {
	fired := make(chan time.Time, 1)
	fired <- time.Time{}
	if !Wait(t.Context(), fired) {
		t.Error("the timer has fired")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if Wait(ctx, nil) {
		t.Error("the context has ended")
	}
}

func TestDo(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	type attempt struct {
		again bool
		err   error
	}
	for name, c := range map[string]struct {
		attempts int
		tries    []attempt
		cancel   int // during this attempt; 0 is never
		want     error
		waits    []time.Duration
	}{
		"at once":           {attempts: 3, tries: []attempt{{true, nil}}},
		"the second time":   {attempts: 3, tries: []attempt{{true, first}, {false, nil}}, waits: []time.Duration{1}},
		"refused":           {attempts: 3, tries: []attempt{{false, first}}, want: first},
		"refused later":     {attempts: 4, tries: []attempt{{true, first}, {false, second}}, want: second, waits: []time.Duration{1}},
		"all in vain":       {attempts: 3, tries: []attempt{{true, first}, {true, first}, {true, second}}, want: second, waits: []time.Duration{1, 2}},
		"no attempts said":  {tries: []attempt{{true, first}}, want: first},
		"cancelled":         {attempts: 3, tries: []attempt{{true, first}}, cancel: 1, want: first, waits: []time.Duration{1}},
		"cancelled, but ok": {attempts: 3, tries: []attempt{{true, nil}}, cancel: 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var waits []time.Duration
			calls := 0
			err := Do(ctx, Policy{Attempts: c.attempts, Backoff: Backoff{First: 1, Last: 8}, After: func(d time.Duration) <-chan time.Time {
				waits = append(waits, d)
				fired := make(chan time.Time, 1)
				if ctx.Err() == nil {
					fired <- time.Time{}
				}
				return fired
			}}, func() (bool, error) {
				if calls++; calls == c.cancel {
					cancel()
				}
				if calls > len(c.tries) {
					t.Fatal("one attempt too many")
				}
				return c.tries[calls-1].again, c.tries[calls-1].err
			})
			if !errors.Is(err, c.want) || calls != len(c.tries) || !slices.Equal(waits, c.waits) {
				t.Errorf("%v after %d attempts, waits %v", err, calls, waits)
			}
		})
	}
}
