//go:build !race

package hostile

// raced says that the race detector is on, which takes many times the memory and the time.
const raced = false
