package worker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMemoryFiles: the limit of a group of processes is found whichever version of groups there is.
func TestMemoryFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cgroup")
	if err := os.WriteFile(file, []byte("9:name=systemd:/\n4:memory:/a/b\n1:cpu:/x\n0::/c\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "/sys/fs/cgroup/c/memory.max"}
	if got := memoryFiles(file); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := memoryFiles(file + "x"); got != nil {
		t.Errorf("got %v", got)
	}
}
