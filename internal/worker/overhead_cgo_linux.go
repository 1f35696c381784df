//go:build cgo && !race

package worker

// overhead is that of a program with C in it: stacks of threads are eight megabytes each, and hardly touched. Releases are without C.
const overhead = 192 << 20
