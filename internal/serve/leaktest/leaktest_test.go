package leaktest

import (
	"strings"
	"testing"
)

// TestOurs: one goroutine that waits for ever is found, and no other one.
func TestOurs(t *testing.T) {
	before := len(ours(stacks()))
	end := make(chan struct{})
	go func() { <-end }()
	var left []string
	for len(left) <= before { // it may not have begun
		left = ours(stacks())
	}
	if !strings.Contains(strings.Join(left, "\n"), "leaktest.TestOurs.func1") {
		t.Errorf("%s", left)
	}
	close(end)
	for len(ours(stacks())) > before { // until it has ended
		continue
	}
}
