//go:build !cgo && !race

package worker

// overhead is the memory that the Go runtime maps besides the used memory: tables for the heap, most of which are never touched. Measured.
const overhead = 72 << 20
