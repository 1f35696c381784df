package retry

import (
	"context"
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
