//go:build race

package worker

// overhead is the mapped memory of the race detector, which shadows all memory several times.
const overhead = 1 << 45
