package worker

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLong: a worker that computes for long gets the lowest priority, and no other job. One that waits does not.
func TestLong(t *testing.T) {
	p, _ := open(t, Config{Long: 50 * time.Millisecond})
	priority := func(pid int) int {
		got, err := unix.Getpriority(unix.PRIO_PGRP, pid)
		if err != nil {
			t.Fatal(err)
		}
		return 20 - got // as the kernel answers
	}
	pid := pidOf(t, p)
	before := priority(pid)
	if before == lowest {
		t.Skip("the priority of this test is the lowest already")
	}
	answer := func(_ context.Context, _ Question, _ Message) (Message, error) {
		return NewMessage(priority(pid) == lowest)
	}
	if _, err := p.Do(t.Context(), Job{Kind: "compute", Answer: answer}); err != nil {
		t.Error(err)
	}
	next := pidOf(t, p)
	if next == pid {
		t.Error("it got another job")
	}
	if got := priority(next); got != before {
		t.Errorf("the next one has priority %d, want %d", got, before)
	}
}
