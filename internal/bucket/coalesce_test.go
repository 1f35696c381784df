package bucket

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
)

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

// TestCoalesceLimits: listings with different limits are different requests.
func TestCoalesceLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := slow{inside: make(chan int, 2), release: make(chan struct{})}
		s := Coalesce(store)
		var group sync.WaitGroup
		for _, most := range []int{1, 2} {
			group.Go(func() {
				if _, err := s.List(t.Context(), "p", most); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := len(store.inside); n != 2 {
			t.Errorf("%d requests", n)
		}
		close(store.release)
		group.Wait()
	})
}

// slow lists nothing, when it is told to or the context ends.
type slow struct {
	stub
	inside  chan int // the limits
	release chan struct{}
}

func (s slow) List(ctx context.Context, _ string, most int) (Listing, error) {
	s.inside <- most
	select {
	case <-s.release:
		return Listing{}, nil
	case <-ctx.Done():
		return Listing{}, ctx.Err()
	}
}

type stub struct{ gets, lists *int }

func (s stub) List(context.Context, string, int) (Listing, error) { *s.lists++; return Listing{}, nil }
func (s stub) Get(context.Context, Object) ([]byte, error)        { *s.gets++; return nil, nil }
