package flight

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
)

// crowd starts a call that waits, then n more of the same key, and lets the first go on when all are there.
func crowd(t *testing.T, f *Group[int], n int) (calls int, answers map[int]int) {
	t.Helper()
	var mu sync.Mutex
	started, release := make(chan struct{}), make(chan struct{})
	fn := func(context.Context) (int, error) {
		mu.Lock()
		calls++
		mine := calls
		mu.Unlock()
		if mine == 1 {
			close(started)
			<-release
		}
		return mine, nil
	}
	answers = map[int]int{}
	var wg sync.WaitGroup
	ask := func() {
		v, _, err := f.Do(t.Context(), "key", fn)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		answers[v]++
		mu.Unlock()
	}
	wg.Go(ask)
	<-started
	for range n {
		wg.Go(ask)
	}
	waiting := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		total := 0
		for _, c := range []*call[int]{f.running["key"], f.next["key"]} {
			if c != nil {
				total += c.waiting
			}
		}
		return total
	}
	for waiting() < n+1 {
		runtime.Gosched()
	}
	close(release)
	wg.Wait()
	return calls, answers
}

func TestFlight(t *testing.T) {
	if calls, answers := crowd(t, &Group[int]{}, 20); calls != 1 || answers[1] != 21 {
		t.Errorf("%d calls, answers %v", calls, answers)
	}
	// A fresh answer is not older than its question: the first call began before the others asked.
	if calls, answers := crowd(t, &Group[int]{Fresh: true}, 20); calls != 2 || answers[1] != 1 || answers[2] != 20 {
		t.Errorf("%d calls, answers %v", calls, answers)
	}
}

// TestFlightCancel checks that a call ends when nobody waits for it any more, and not before.
func TestFlightCancel(t *testing.T) {
	var f Group[int]
	started, ended := make(chan struct{}), make(chan struct{})
	fn := func(ctx context.Context) (int, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return 0, ctx.Err()
	}
	first, leaveFirst := context.WithCancel(t.Context())
	second, leaveSecond := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, ctx := range []context.Context{first, second} {
		wg.Go(func() {
			if _, _, err := f.Do(ctx, "key", fn); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	<-started
	for {
		f.mu.Lock()
		n := f.running["key"].waiting
		f.mu.Unlock()
		if n == 2 {
			break
		}
		runtime.Gosched()
	}
	leaveFirst()
	select {
	case <-ended:
		t.Error("ended while somebody waited")
	default:
	}
	leaveSecond()
	<-ended
	wg.Wait()
	if v, _, err := f.Do(t.Context(), "key", func(context.Context) (int, error) { return 7, nil }); v != 7 || err != nil {
		t.Errorf("after that: %d, %v", v, err)
	}
}

func TestPanic(t *testing.T) {
	var f Group[int]
	_, _, err := f.Do(t.Context(), "key", func(context.Context) (int, error) { panic("oh") })
	var p *PanicError
	if !errors.As(err, &p) || p.Error() != "panic: oh" || len(p.Stack) == 0 {
		t.Error(err)
	}
}

// TestLeft checks that a call that does not end is left behind: those who wait for the next one get it.
func TestLeft(t *testing.T) {
	f := Group[int]{Fresh: true}
	started, never := make(chan struct{}), make(chan struct{})
	defer close(never)
	ctx, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _, err := f.Do(ctx, "key", func(context.Context) (int, error) { close(started); <-never; return 1, nil })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	<-started
	wg.Go(func() {
		v, _, err := f.Do(t.Context(), "key", func(context.Context) (int, error) { return 2, nil })
		if v != 2 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
	})
	for {
		f.mu.Lock()
		n := f.next["key"]
		f.mu.Unlock()
		if n != nil {
			break
		}
		runtime.Gosched()
	}
	leave()
	wg.Wait()
	if len(f.running)+len(f.next) != 0 {
		t.Errorf("%d running, %d next", len(f.running), len(f.next))
	}
}
