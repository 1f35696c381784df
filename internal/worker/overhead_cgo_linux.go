//go:build cgo && !race

package worker

// overhead is for a program with cgo: stacks of threads are eight megabytes each, and hardly touched. Releases are without cgo.
const overhead = 192 << 20
