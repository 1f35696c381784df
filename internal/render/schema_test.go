package render

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSchemaLock: builds that change the schema are alone, others are not, and who waits can stop to wait.
func TestSchemaLock(t *testing.T) {
	s := newSchema()
	var running, alone atomic.Int32
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			changes := i%8 == 0
			leave, err := s.enter(context.Background(), changes, i%2 == 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer leave()
			if running.Add(1); changes {
				if alone.Add(1); running.Load() != 1 {
					t.Error("it is not alone")
				}
				alone.Add(-1)
			} else if alone.Load() != 0 {
				t.Error("another one is alone")
			}
			running.Add(-1)
		})
	}
	wg.Wait()

	leave, err := s.enter(context.Background(), true, true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	for _, changes := range []bool{false, true} {
		go func() {
			_, err := s.enter(ctx, changes, true)
			ended <- err
		}()
	}
	cancel()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	leave()
	// Those who gave up hold nobody.
	leave, err = s.enter(context.Background(), false, false)
	if err != nil {
		t.Fatal(err)
	}
	// Who waits for a large build to end keeps no other from running.
	ctx, cancel = context.WithCancel(context.Background())
	go func() {
		_, err := s.enter(ctx, true, true)
		ended <- err
	}()
	for waiting := 0; waiting == 0; {
		st := <-s.state
		waiting = st.waiting
		s.state <- st
	}
	beside, err := s.enter(context.Background(), false, true)
	if err != nil {
		t.Fatal(err)
	}
	beside()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	leave()
}
