package trigger

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/tree"
)

// TestFiles: what was set last is the branch, the same content is the same commit, and what was served stays to be had.
func TestFiles(t *testing.T) {
	w := &world{T: t}
	f := &Files{Date: time.Unix(1_000_000_000, 0), Message: "on disk"}
	s := httptest.NewServer(&gitserver.Server{Open: func(context.Context, string) (gitserver.Repository, error) { return f, nil }})
	t.Cleanup(s.Close)
	url := s.URL + "/files.git"
	if _, err := f.Head(t.Context()); err == nil {
		t.Error("a head without files")
	}
	set := func(files ...tree.File) string {
		t.Helper()
		if err := f.Set(files); err != nil {
			t.Fatal(err)
		}
		return w.head(url)
	}
	one, two := tree.File{Name: "apps/a.yaml", Data: []byte("a: 1\n")}, tree.File{Name: "b.yaml", Data: []byte("b: 1\n")}
	first := set(one)
	if second := set(one, two); second == first || set(one) != first || set(one, two) != second {
		t.Errorf("%s, then %s", first, second)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	w.git("clone", "-q", url, clone)
	w.git("-C", clone, "fsck", "--strict", "--full")
	w.git("-C", clone, "fetch", "-q", "origin", first)
	if data, err := os.ReadFile(filepath.Join(clone, "apps/a.yaml")); err != nil || string(data) != "a: 1\n" {
		t.Errorf("%q, %v", data, err)
	}
	if err := f.Set([]tree.File{{Name: ".git/config"}}); err == nil {
		t.Error("a file that Git cannot have")
	}
}
