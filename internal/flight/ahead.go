package flight

import (
	"runtime"
	"sync"
)

// Processors is how many calls that only compute should run at once.
func Processors() int { return runtime.GOMAXPROCS(0) }

// Ahead runs functions in the background, some at a time, before anybody asks for what they make.
type Ahead struct {
	slots   chan struct{}
	ended   chan struct{}
	running sync.WaitGroup
}

// NewAhead returns an Ahead that runs so many functions at once, and at least one.
func NewAhead(atOnce int) *Ahead {
	return &Ahead{slots: make(chan struct{}, max(atOnce, 1)), ended: make(chan struct{})}
}

// Go runs a function when there is room, and never if End comes first. A panic ends the function only: those who ask for its result must
// get the panic, as with sync.OnceValue.
func (a *Ahead) Go(fn func()) {
	a.running.Go(func() {
		select {
		case a.slots <- struct{}{}:
			defer func() { <-a.slots }()
			select {
			case <-a.ended: // a select takes any case that is ready
				return
			default:
			}
			_, _ = Safely(func() (any, error) { fn(); return nil, nil })
		case <-a.ended:
		}
	})
}

// End drops functions that have not begun, and waits for those that run. It is called once.
func (a *Ahead) End() {
	close(a.ended)
	a.running.Wait()
}
