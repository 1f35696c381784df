package gitsource

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/gittree/gittest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// origin is a bare repository with two commits, a branch, and tags with and without a message.
func origin(t *testing.T) (work, url string) {
	t.Helper()
	work = gittest.New(t, "first.yaml")
	gittest.Run(t, work, "tag", "v1.0.0")
	gittest.Write(t, filepath.Join(work, "second.yaml"), "x")
	gittest.Run(t, work, "add", "--all")
	gittest.Run(t, work, "commit", "-q", "--message=second")
	gittest.Run(t, work, "tag", "--annotate", "--message=x", "v1.1.0")
	gittest.Run(t, work, "branch", "feature/x", "v1.0.0")
	bare := filepath.Join(t.TempDir(), "origin.git")
	gittest.Run(t, work, "clone", "-q", "--bare", work, bare)
	gittest.Run(t, work, "remote", "add", "origin", bare)
	return work, "file://" + bare
}

// traced counts the git commands with a name that a Source runs.
type traced struct {
	*Source
	file string
}

func newTraced(t *testing.T, cache string, offline bool) *traced {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace")
	s := New(Config{Cache: cache, Offline: offline, Env: environ.New(append(os.Environ(), "GIT_TRACE="+file)...)})
	t.Cleanup(func() { s.Close() })
	return &traced{s, file}
}

func (s *traced) count(t *testing.T, command string) int {
	t.Helper()
	data, err := os.ReadFile(s.file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, "built-in: git "+command+" ") {
			n++
		}
	}
	return n
}

func filesOf(t *testing.T, s *Source, url, revision string) []string {
	t.Helper()
	tr, err := s.Tree(t.Context(), url, revision)
	if err != nil {
		t.Fatalf("%s: %v", revision, err)
	}
	files, err := tr.Select(t.Context(), tree.Selection{})
	if err != nil {
		t.Fatalf("%s: %v", revision, err)
	}
	return tree.Names(files)
}

func TestCache(t *testing.T) {
	work, url := origin(t)
	first := strings.TrimSpace(gittest.Run(t, work, "rev-parse", "v1.0.0"))
	one, two := []string{"first.yaml"}, []string{"first.yaml", "second.yaml"}
	revisions := map[string][]string{
		"": two, "main": two, "refs/heads/main": two, "v1.1.0": two, "v1.*": two, "1.0.x": one, "feature/x": one, "v1.0.0": one, first: one,
	}
	cache := filepath.Join(t.TempDir(), "cache")
	s := newTraced(t, cache, false)
	for revision, want := range revisions {
		if diff := cmp.Diff(want, filesOf(t, s.Source, url, revision)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", revision, diff)
		}
	}
	if n := s.count(t, "fetch"); n != 2 {
		t.Errorf("%d fetches of two commits", n)
	}

	again := newTraced(t, cache, false)
	for revision, want := range revisions {
		if diff := cmp.Diff(want, filesOf(t, again.Source, url, revision)); diff != "" {
			t.Errorf("again, %q (-want +got):\n%s", revision, diff)
		}
	}
	if n := again.count(t, "fetch"); n != 0 {
		t.Errorf("%d fetches of what is there", n)
	}

	gittest.Run(t, work, "rm", "-q", "second.yaml")
	gittest.Run(t, work, "commit", "-q", "--message=third")
	gittest.Run(t, work, "push", "-q", "origin", "main")
	moved := newTraced(t, cache, false)
	if diff := cmp.Diff(one, filesOf(t, moved.Source, url, "main")); diff != "" {
		t.Errorf("after a push (-want +got):\n%s", diff)
	}
}

// TestCacheWithoutRemote: a commit that is in the cache needs no remote; a branch does.
func TestCacheWithoutRemote(t *testing.T) {
	work, url := origin(t)
	commit := strings.TrimSpace(gittest.Run(t, work, "rev-parse", "main"))
	cache := t.TempDir()
	filesOf(t, newTraced(t, cache, false).Source, url, "main")
	if err := os.RemoveAll(strings.TrimPrefix(url, "file://")); err != nil {
		t.Fatal(err)
	}
	for _, offline := range []bool{false, true} {
		s := newTraced(t, cache, offline)
		if got := filesOf(t, s.Source, url, commit); len(got) != 2 {
			t.Errorf("offline %v: %v", offline, got)
		}
		if n := s.count(t, "ls-remote"); n != 0 {
			t.Errorf("offline %v: the remote was asked %d times", offline, n)
		}
		if _, err := s.Tree(t.Context(), url, "main"); err == nil {
			t.Errorf("offline %v: no error for a branch", offline)
		}
	}
}

// TestCacheShared: many Sources, as many processes would, fetch into one cache at once.
func TestCacheShared(t *testing.T) {
	_, url := origin(t)
	_, other := origin(t)
	cache := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		s := New(Config{Cache: cache, Env: environ.New(os.Environ()...)})
		t.Cleanup(func() { s.Close() })
		for _, u := range []string{url, other} {
			for _, revision := range []string{"main", "v1.0.0", "v1.1.0", "feature/x"} {
				wg.Go(func() {
					if _, err := s.Tree(context.Background(), u, revision); err != nil {
						t.Errorf("%s: %v", revision, err)
					}
				})
			}
		}
	}
	wg.Wait()
}

// TestCacheRepair: a killed git leaves locks, a killed process half a repository.
func TestCacheRepair(t *testing.T) {
	_, url := origin(t)
	s := newTraced(t, t.TempDir(), false)
	dir := s.cachePath(url)
	gittest.Write(t, filepath.Join(dir, "config"), "half")
	filesOf(t, s.Source, url, "v1.0.0")
	gittest.Write(t, filepath.Join(dir, "shallow.lock"), "")
	if diff := cmp.Diff([]string{"first.yaml", "second.yaml"}, filesOf(t, s.Source, url, "main")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCacheErrors(t *testing.T) {
	_, url := origin(t)
	s := newTraced(t, t.TempDir(), false)
	for revision, want := range map[string]string{
		"nope": `fetching revision "nope"`, "v9.*": "none of 2 tags", strings.Repeat("0", 40): "fetching revision",
		"--help": "not one that can be fetched",
	} {
		if _, err := s.Tree(t.Context(), url, revision); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", revision, err, want)
		}
	}
}

// TestCacheUnusable: a cache that cannot be written costs time, and nothing else.
func TestCacheUnusable(t *testing.T) {
	_, url := origin(t)
	file := filepath.Join(t.TempDir(), "file")
	gittest.Write(t, file, "")
	s := newTraced(t, file, false)
	var notes []string
	s.cfg.Note = func(line string) { notes = append(notes, line) }
	if got := filesOf(t, s.Source, url, "main"); len(got) != 2 {
		t.Error(got)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "is not used") {
		t.Error(notes)
	}
}

// TestCacheOfOthers: a cache that others may write to is neither read nor written, since a commit in it could be theirs.
func TestCacheOfOthers(t *testing.T) {
	work, url := origin(t)
	cache := t.TempDir()
	commit := strings.TrimSpace(gittest.Run(t, work, "rev-parse", "HEAD"))
	filesOf(t, newTraced(t, cache, false).Source, url, commit)
	filesOf(t, newTraced(t, cache, true).Source, url, commit)
	if err := os.Chmod(cache, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, offline := range []bool{false, true} {
		s := newTraced(t, cache, offline)
		var notes []string
		s.cfg.Note = func(line string) { notes = append(notes, line) }
		_, err := s.Tree(t.Context(), url, commit)
		if offline && (err == nil || !strings.Contains(err.Error(), "--offline")) || !offline && err != nil {
			t.Errorf("offline %t: %v", offline, err)
		}
		if !offline && s.count(t, "fetch") != 1 {
			t.Error("not fetched")
		}
		want := "the cache " + cache + " is not used: it must be a directory that belongs to this user and that nobody else may write to"
		if diff := cmp.Diff([]string{want}, notes); diff != "" {
			t.Errorf("offline %t (-want +got):\n%s", offline, diff)
		}
	}
}
