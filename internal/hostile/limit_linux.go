package hostile

import (
	"syscall"
	"testing"
)

// limit bounds the memory that this process may write to. Address space would not do: Go reserves far more than it uses.
func limit(t *testing.T) {
	t.Helper()
	const data = 2 // RLIMIT_DATA
	if err := syscall.Setrlimit(data, &syscall.Rlimit{Cur: memory, Max: memory}); err != nil {
		t.Fatal(err)
	}
}
