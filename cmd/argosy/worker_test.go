package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSized: workers fit the memory of the container.
func TestSized(t *testing.T) {
	for _, tt := range []struct {
		given     workerOptions
		parallel  int
		container int64
		want      workerOptions
	}{
		{workerOptions{workers: -1}, 4, 0, workerOptions{8, 128}},
		{workerOptions{workers: -1}, 8, 1 << 30, workerOptions{6, 102}},
		{workerOptions{workers: -1}, 64, 1 << 30, workerOptions{6, 102}},
		{workerOptions{workers: -1}, 8, 128 << 20, workerOptions{1, 76}},
		{workerOptions{workers: -1}, 1, 16 << 30, workerOptions{2, 512}},
		{workerOptions{workers: -1, memory: 200}, 8, 1 << 30, workerOptions{3, 200}},
		{workerOptions{workers: 4}, 8, 1 << 30, workerOptions{4, 153}},
		{workerOptions{workers: 4, memory: 300}, 8, 1 << 30, workerOptions{4, 300}},
		{workerOptions{}, 8, 1 << 30, workerOptions{}},
	} {
		if got := tt.given.sized(tt.parallel, tt.container); got != tt.want {
			t.Errorf("%+v, %d at once, %d MiB: got %+v, want %+v", tt.given, tt.parallel, tt.container>>20, got, tt.want)
		}
	}
	for _, bad := range []workerOptions{{workers: -2}, {workers: 1, memory: 10}, {memory: 100}} {
		if bad.check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// TestPlaces: there is a worker for each request that is answered, and if there can be, one for a project of which none is.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct{ workers, given, plugins, parallel, extra int }{
		{0, 0, 2, 0, 0},
		{0, 7, 2, 7, 0},
		{1, 0, 2, 1, -1},
		{2, 0, 2, 2, -1},
		{3, 0, 2, 3, -1},
		{3, 1, 2, 1, 1},
		{3, 0, 1, 2, 1},
		{4, 0, 2, 2, 1},
		{5, 0, 2, 3, 1},
		{6, 0, 2, 3, 1},
		{6, 8, 2, 3, 1},
		{6, 1, 2, 1, 1},
		{7, 0, 2, 3, 1},
		{8, 0, 2, 4, 2},
		{16, 8, 2, 8, 4},
		{16, 0, 1, 11, 5},
		{16, 8, 1, 8, 4},
	} {
		parallel, extra := workerOptions{workers: tt.workers}.places(tt.given, tt.plugins)
		if parallel != tt.parallel || extra != tt.extra {
			t.Errorf("%+v: got %d and %d", tt, parallel, extra)
		}
		if tt.workers > 0 && parallel+tt.plugins*max(0, extra) > tt.workers {
			t.Errorf("%+v: %d and %d are more than workers", tt, parallel, extra)
		}
	}
}

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
