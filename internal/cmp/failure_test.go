package cmp

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// TestMessageIsCheap: a message is cut before it is joined, so that it costs no copy of the problems that it leaves out.
func TestMessageIsCheap(t *testing.T) {
	long := errors.New(strings.Repeat("\u00a0", 8<<20))
	err := errors.Join(long, long, long, long, long, long, long, long, long)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := Message(err)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 || len(text) > maxMessage+len(" …") {
		t.Errorf("%d bytes allocated for a message of %d", got, len(text))
	}
}
