package trigger

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/tree"
)

// TestFiles: what was set last is the branch, the same content is no commit, and a clone can be pulled.
func TestFiles(t *testing.T) {
	w := &world{T: t}
	f := &Files{Date: time.Unix(1_000_000_000, 0), Message: "on disk"}
	s := httptest.NewServer(&gitserver.Server{Open: func(context.Context, string) (gitserver.Repository, error) { return f, nil }})
	t.Cleanup(s.Close)
	url := s.URL + "/files.git"
	if _, err := f.Head(t.Context()); err == nil {
		t.Error("a head without files")
	}
	set := func(text string) string {
		t.Helper()
		if err := f.Set([]tree.File{{Name: "apps/a.yaml", Data: []byte(text)}, {Name: "b.yaml"}}); err != nil {
			t.Fatal(err)
		}
		return w.head(url)
	}
	first := set("1")
	clone := filepath.Join(t.TempDir(), "clone")
	w.git("clone", "-q", url, clone)
	if set("1") != first {
		t.Error("a commit without a change")
	}
	for i := range maxFilesCommits - 1 {
		head := set(strconv.Itoa(i + 2))
		w.git("-C", clone, "pull", "-q", "--ff-only")
		if got := w.git("-C", clone, "rev-parse", "HEAD"); got != head {
			t.Fatalf("%s, not %s", got, head)
		}
	}
	w.git("-C", clone, "fsck", "--strict", "--full")
	if data, err := os.ReadFile(filepath.Join(clone, "apps/a.yaml")); err != nil || string(data) != strconv.Itoa(maxFilesCommits) {
		t.Errorf("%q, %v", data, err)
	}
	// Then history begins anew.
	set("x")
	again := filepath.Join(t.TempDir(), "again")
	w.git("clone", "-q", url, again)
	if n := w.git("-C", again, "rev-list", "--count", "HEAD"); n != "1" {
		t.Errorf("%s commits", n)
	}
	if err := f.Set([]tree.File{{Name: ".git/config"}}); err == nil {
		t.Error("a file that Git cannot have")
	}
}
