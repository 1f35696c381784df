package argosy_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compile builds the command as a release does, in a directory, and returns what it is.
func compile(t *testing.T, dir, version string, env ...string) (file string, sum [sha256.Size]byte) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "argosy")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.stamped="+version, "-o", file, "./cmd/argosy")
	build.Dir, build.Env = dir, append(append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off"), env...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, sha256.Sum256(data)
}

// TestReproducible: the same sources give the same bytes, in another directory, for another user, in another year. Packages are compiled
// once: with -trimpath, Go's cache does not know directories. So this test links twice.
func TestReproducible(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "elsewhere", "src")
	for _, name := range []string{"cmd", "deploy", "examples", "internal"} {
		if err := os.CopyFS(filepath.Join(copied, name), os.DirFS(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(copied, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, here := compile(t, ".", "v1.2.3")
	_, there := compile(t, copied, "v1.2.3", "USER=somebody", "TZ=Asia/Tokyo", "LC_ALL=C", "GOMAXPROCS=1")
	if here != there {
		t.Errorf("%x here, %x elsewhere", here, there)
	}
	out, err := exec.Command(file, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "argosy version v1.2.3, go") {
		t.Errorf("%s %v", out, err)
	}
	// No path of this machine is in it.
	top, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte(top)) {
		t.Errorf("%s is in the binary", top)
	}
}
