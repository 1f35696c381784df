//go:build !race

package hostile

// Raced says that the race detector is on, which takes many times the memory and the time.
const Raced = false
