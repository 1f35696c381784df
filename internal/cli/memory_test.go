package cli_test

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/argosy-cd/argosy/internal/cli"
)

// TestCollectLate: a small heap has a limit, and a large one a percentage.
func TestCollectLate(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	t.Cleanup(func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	})
	now := func() (int64, int) {
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return debug.SetMemoryLimit(-1), percent
	}

	debug.SetMemoryLimit(10 << 20)
	cli.CollectLate()
	if limit, percent := now(); limit != 10<<20 || percent != 200 {
		t.Errorf("with a limit of the user: %d, %d%%", limit, percent)
	}

	debug.SetMemoryLimit(math.MaxInt64)
	cli.CollectLate()
	if limit, percent := now(); limit != 192<<20 || percent != -1 {
		t.Errorf("at the beginning: %d, %d%%", limit, percent)
	}
	used := make([]byte, 100<<20)
	for {
		runtime.GC() // the finalizer comes behind one of them, and the test ends by its timeout without it
		if limit, percent := now(); percent == 200 && limit == math.MaxInt64 {
			break
		}
	}
	runtime.KeepAlive(used)
}
