package turnstile

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestEnter(t *testing.T) {
	s := &Turnstile{All: 3, Each: 2}
	enter := func(client string, want error) func() {
		t.Helper()
		leave, err := s.Enter(t.Context(), client)
		if !errors.Is(err, want) {
			t.Fatalf("%s: %v, want %v", client, err, want)
		}
		return leave
	}
	first := enter("a", nil)
	enter("a", nil)
	enter("a", ErrClient)
	enter("b", nil)
	enter("b", ErrAll)
	enter("c", ErrAll)
	first()
	enter("c", nil)
	if inside, _ := s.Inside(); inside != 3 {
		t.Errorf("%d inside", inside)
	}
}

// TestQueue: a client that fills its places and its part of the queue does not keep another one waiting behind it.
func TestQueue(t *testing.T) {
	s := &Turnstile{All: 2, Each: 1, Queue: 4, QueueEach: 2}
	leaveA, err := s.Enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	leaveB, err := s.Enter(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	waits := func(n int) {
		for _, waiting := s.Inside(); waiting != n; _, waiting = s.Inside() {
			runtime.Gosched()
		}
	}
	for range 2 {
		group.Go(func() {
			if _, err := s.Enter(ctx, "a"); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrClient) {
				t.Errorf("%v", err)
			}
		})
	}
	waits(2)
	if _, err := s.Enter(t.Context(), "a"); !errors.Is(err, ErrClient) {
		t.Errorf("%v", err)
	}
	group.Go(func() {
		leave, err := s.Enter(t.Context(), "c")
		if err != nil {
			t.Error(err)
			return
		}
		leave()
	})
	waits(3)
	leaveB() // c goes before a, whose place is taken
	waits(2)
	cancel()
	group.Wait()
	leaveA()
	if inside, waiting := s.Inside(); inside+waiting+len(s.inside) != 0 {
		t.Errorf("%d inside, %d waiting, %v", inside, waiting, s.inside)
	}
}

func TestCrowd(t *testing.T) {
	s := &Turnstile{All: 5, Each: 2, Queue: 1000, QueueEach: 1000}
	var inside, most atomic.Int64
	var group sync.WaitGroup
	for i := range 300 {
		group.Go(func() {
			leave, err := s.Enter(t.Context(), string(rune('a'+i%7)))
			if err != nil {
				t.Error(err)
				return
			}
			if n := inside.Add(1); n > most.Load() {
				most.Store(n)
			}
			runtime.Gosched()
			inside.Add(-1)
			leave()
		})
	}
	group.Wait()
	if most.Load() > 5 || len(s.inside) != 0 || s.count != 0 {
		t.Errorf("%d at once, %v", most.Load(), s.inside)
	}
}
