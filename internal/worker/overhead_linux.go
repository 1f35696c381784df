//go:build !cgo && !race

package worker

// overhead is what the Go runtime maps beside the memory that is used: tables for the heap, most of which are never touched. Measured.
const overhead = 72 << 20
