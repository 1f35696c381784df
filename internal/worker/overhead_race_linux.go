//go:build race

package worker

// overhead is that of the race detector, which maps the memory of everything several times over.
const overhead = 1 << 45
