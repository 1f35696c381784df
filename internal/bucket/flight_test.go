package bucket

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
)

// crowd starts a call that waits, then n more of the same key, and lets the first go on when all are there.
func crowd(t *testing.T, f *flight[int], n int) (calls int, answers map[int]int) {
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
		v, err := f.do(t.Context(), "key", fn)
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
	if calls, answers := crowd(t, &flight[int]{}, 20); calls != 1 || answers[1] != 21 {
		t.Errorf("%d calls, answers %v", calls, answers)
	}
	// A fresh answer is not older than its question: the first call began before the others asked.
	if calls, answers := crowd(t, &flight[int]{fresh: true}, 20); calls != 2 || answers[1] != 1 || answers[2] != 20 {
		t.Errorf("%d calls, answers %v", calls, answers)
	}
}

// TestFlightCancel checks that a call ends when nobody waits for it any more, and not before.
func TestFlightCancel(t *testing.T) {
	var f flight[int]
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
			if _, err := f.do(ctx, "key", fn); !errors.Is(err, context.Canceled) {
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
	if v, err := f.do(t.Context(), "key", func(context.Context) (int, error) { return 7, nil }); v != 7 || err != nil {
		t.Errorf("after that: %d, %v", v, err)
	}
}

func TestCoalesce(t *testing.T) {
	var gets, lists int
	s := Coalesce(stub{&gets, &lists})
	for range 3 {
		if _, err := s.List(t.Context(), "p", 1); err != nil {
			t.Error(err)
		}
		if _, err := s.Get(t.Context(), Object{Key: "k"}); err != nil {
			t.Error(err)
		}
	}
	if gets != 3 || lists != 3 {
		t.Errorf("requests one after the other were shared: %d, %d", gets, lists)
	}
}

type stub struct{ gets, lists *int }

func (s stub) List(context.Context, string, int) (Listing, error) { *s.lists++; return Listing{}, nil }
func (s stub) Get(context.Context, Object) ([]byte, error)        { *s.gets++; return nil, nil }
