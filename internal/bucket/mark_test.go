package bucket

import (
	"context"
	"errors"
	"testing"
)

// TestRoundLeft: a caller that leaves while a listing runs leaves no error for others, whether the directory around all paths is listed
// or one of them.
func TestRoundLeft(t *testing.T) {
	for name, prefixes := range map[string][]string{"around": {"p/a", "p/b", "p/c", "p/d"}, "one": {"p/a"}} {
		store := slow{inside: make(chan int, 10), release: make(chan struct{})}
		r := Round(store, prefixes)
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := r.List(ctx, "p/a", 10)
			left <- err
		}()
		<-store.inside
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		close(store.release)
		for range 2 {
			if _, err := r.List(t.Context(), "p/a", 10); err != nil {
				t.Errorf("%s: after that: %v", name, err)
			}
		}
		if n := len(store.inside); n != 1 {
			t.Errorf("%s: listed %d times", name, n)
		}
	}
}
