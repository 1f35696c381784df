package refresh

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestCancelledWait: a look that waits for a slot ends with its context, although no slot is freed.
func TestCancelledWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{Now: time.Now, Interval: time.Minute})
		freed := make(chan struct{})
		hangs := func(project string) *batch {
			b := &batch{}
			for i := range perProject {
				b.tasks = append(b.tasks, task{
					host: fmt.Sprint(project, i), look: func(context.Context) error { <-freed; return nil }, fail: func(error) {},
				})
			}
			c.begin(project, nil)
			return b
		}
		for i := range looking / perProject {
			project := fmt.Sprint("hangs", i)
			go c.run(&view{ctx: t.Context()}, project, hangs(project))
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); c.run(&view{ctx: ctx}, "waits", hangs("waits")) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case <-ended:
		default:
			t.Error("it still waits")
		}
		close(freed)
		synctest.Wait()
	})
}
