package flight

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestAhead: a few run at once, a panic stops none of the others, and its asker gets it.
func TestAhead(t *testing.T) {
	a := NewAhead(3)
	var now, most, done atomic.Int64
	var all sync.WaitGroup
	all.Add(50)
	for range 50 {
		a.Go(func() {
			defer all.Done()
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer now.Add(-1)
			done.Add(1)
		})
	}
	all.Wait()
	once := sync.OnceValue(func() int { panic("x") })
	a.Go(func() { once() })
	func() {
		defer func() {
			if recover() != "x" {
				t.Error("the asker does not get the panic")
			}
		}()
		once()
	}()
	a.End()
	if done.Load() != 50 || most.Load() > 3 {
		t.Errorf("%d done, %d at once", done.Load(), most.Load())
	}
}

// TestAheadEnd: the function that runs ends, and no other begins.
func TestAheadEnd(t *testing.T) {
	a := NewAhead(0)
	started, release := make(chan struct{}), make(chan struct{})
	var done atomic.Int64
	a.Go(func() { close(started); <-release; done.Add(1) })
	<-started
	for range 20 {
		a.Go(func() { done.Add(1) })
	}
	ended := make(chan struct{})
	go func() { a.End(); close(ended) }()
	<-a.ended
	close(release)
	<-ended
	if n := done.Load(); n != 1 {
		t.Errorf("%d ran, not the one alone that had begun", n)
	}
}
