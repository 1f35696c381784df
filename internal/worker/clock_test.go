package worker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestClock: time in which it is stopped does not count.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		c := newClock(time.Minute, func() { calls.Add(1) })
		for range 3 {
			time.Sleep(10 * time.Second)
			c.stop()
			time.Sleep(time.Hour)
			synctest.Wait()
			c.start()
		}
		time.Sleep(29 * time.Second)
		synctest.Wait()
		if calls.Load() != 0 || c.over() {
			t.Errorf("after 59 seconds: %d calls", calls.Load())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		c.stop()
		c.start()
		time.Sleep(time.Hour)
		synctest.Wait()
		if calls.Load() != 1 || !c.over() {
			t.Errorf("after a minute: %d calls", calls.Load())
		}
		for _, limit := range []time.Duration{0, time.Minute} {
			c := newClock(limit, func() { t.Errorf("limit %s: it was called", limit) })
			c.stop()
			time.Sleep(time.Hour)
			if c.over() {
				t.Error("it is over")
			}
		}
	})
}

// TestTime: a job has only so much time, and the next one gets another worker.
func TestTime(t *testing.T) {
	p, _ := open(t, Config{})
	_, err := p.Do(t.Context(), Job{Kind: "loop", What: "waiting", Time: time.Second})
	var killed *KilledError
	if !errors.As(err, &killed) || killed.Reason != ReasonCPU || killed.Limit != "1s" {
		t.Errorf("got %v", err)
	}
	answer := func(context.Context, Question, Message) (Message, error) { return Message{Head: []byte("1")}, nil }
	if _, err := p.Do(t.Context(), Job{Kind: "ask", Message: Message{Head: []byte("1")}, Answer: answer, Time: time.Hour}); err != nil {
		t.Error(err)
	}
}
