package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Limits of the heap of a command that allocates a lot and soon ends.
const (
	// heapFloor is the heap size below which no garbage is collected.
	heapFloor = 192 << 20
	// heapPercent is the GC percentage, once a third of heapFloor is in use.
	heapPercent = 200
)

// CollectLate lets a command that allocates a lot and soon ends collect garbage late: when its memory reaches heapFloor, and by heapPercent
// once it uses a third of that itself. Go's own way begins with 4 MB, and a tenth of the time goes into garbage that would fit into memory.
// A limit of the user's own ($GOMEMLIMIT) that is lower stays.
func CollectLate() {
	limit := debug.SetMemoryLimit(-1)
	debug.SetGCPercent(heapPercent)
	if limit <= heapFloor {
		return
	}
	debug.SetMemoryLimit(heapFloor)
	debug.SetGCPercent(-1)
	collectEarlier(limit)
}

// collectEarlier looks at each collection, until one leaves so much in use that a fixed limit would mean one collection after the other.
func collectEarlier(limit int64) {
	// A finalizer runs after the next collection.
	runtime.SetFinalizer(&struct{ _ *byte }{new(byte)}, func(any) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() < heapFloor*100/(100+heapPercent) {
			collectEarlier(limit)
			return
		}
		debug.SetGCPercent(heapPercent)
		debug.SetMemoryLimit(limit)
	})
}
