package trigger

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/gitserver"
)

// world is a server with a clock that the test moves.
type world struct {
	*testing.T
	seconds atomic.Int64
	url     string
}

func (w *world) now() time.Time { return time.Unix(w.seconds.Load(), 0) }

func (w *world) pass(d time.Duration) { w.seconds.Add(int64(d / time.Second)) }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t}
	w.seconds.Store(1_800_000_000)
	w.url = w.serve()
	return w
}

// serve starts another server, as a second replica or after a restart.
func (w *world) serve() string {
	clocks := &Clocks{Interval: time.Minute, Now: w.now}
	s := httptest.NewServer(&gitserver.Server{Open: func(_ context.Context, path string) (gitserver.Repository, error) {
		c, err := clocks.Open(path)
		if err != nil {
			return nil, err
		}
		return c, nil
	}, Failed: func(path string, err error) { w.Errorf("%s: %v", path, err) }})
	w.Cleanup(s.Close)
	return s.URL
}

func (w *world) git(args ...string) string {
	w.Helper()
	out, err := w.try(args...)
	if err != nil {
		w.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *world) try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (w *world) head(url string) string {
	w.Helper()
	return strings.Fields(w.git("ls-remote", url, "HEAD"))[0]
}

func TestGit(t *testing.T) {
	for _, protocol := range []string{"0", "1", "2"} {
		t.Run("version "+protocol, func(t *testing.T) {
			w := newWorld(t)
			p := []string{"-c", "protocol.version=" + protocol}
			git := func(args ...string) string { t.Helper(); return w.git(append(p, args...)...) }
			url := w.url + "/appset.git"
			if refs := git("ls-remote", url); !strings.Contains(refs, "\trefs/heads/main") || !strings.Contains(refs, "\tHEAD") {
				t.Fatal(refs)
			}
			clone := filepath.Join(t.TempDir(), "clone")
			git("clone", url, clone)
			first := git("-C", clone, "rev-parse", "HEAD")
			if branch := git("-C", clone, "branch", "--show-current"); branch != "main" {
				t.Error(branch)
			}
			git("-C", clone, "fsck", "--strict", "--full")
			if merges := git("-C", clone, "log", "--merges", "--oneline"); merges != "" {
				t.Error("not linear", merges)
			}
			if files := git("-C", clone, "ls-tree", "HEAD"); files != "" {
				t.Error("not empty", files)
			}

			// A tick, and another.
			for range 2 {
				w.pass(time.Minute)
				git("-C", clone, "fetch", "origin")
			}
			second := git("-C", clone, "rev-parse", "origin/main")
			if second == first || second != w.head(url) {
				t.Errorf("%s, then %s", first, second)
			}
			if n := git("-C", clone, "rev-list", "--count", first+".."+second); n != "2" {
				t.Errorf("%s commits", n)
			}
			if diff := git("-C", clone, "diff", "--stat", first, second); diff != "" {
				t.Error(diff)
			}

			// A client with last week's commit, and one that asks by hash, as Argo CD does, for one that is no longer the latest.
			w.pass(7 * 24 * time.Hour)
			git("-C", clone, "fetch", "origin")
			asked := w.head(url)
			w.pass(3 * time.Minute)
			git("-C", clone, "fetch", "origin", asked)
			git("-C", clone, "fsck", "--strict", "--full")

			// Shallow.
			shallow := filepath.Join(t.TempDir(), "shallow")
			git("clone", "--depth", "1", url, shallow)
			if n := git("-C", shallow, "rev-list", "--count", "HEAD"); n != "1" {
				t.Errorf("%s commits in a shallow clone", n)
			}
			w.pass(time.Minute)
			git("-C", shallow, "fetch", "--depth", "2", "origin")
			if n := git("-C", shallow, "rev-list", "--count", "origin/main"); n != "2" {
				t.Errorf("%s commits after deepening", n)
			}
			git("-C", shallow, "fetch", "origin")
			git("-C", shallow, "fetch", "--unshallow", "origin")
			git("-C", shallow, "fsck", "--full")

			// A partial clone is a whole one.
			partial := filepath.Join(t.TempDir(), "partial")
			git("clone", "--filter=blob:none", url, partial)

			// The single branch that Argo CD fetches, with tags and force.
			bare := filepath.Join(t.TempDir(), "bare")
			git("init", "-q", bare)
			git("-C", bare, "remote", "add", "origin", url)
			git("-C", bare, "fetch", "origin", "--tags", "--force", "--prune")
			git("-C", bare, "checkout", "--force", w.head(url))

			if out, err := w.try(append(p, "-C", clone, "push", "origin", "HEAD:refs/heads/main")...); err == nil ||
				!strings.Contains(out, "403") {
				t.Errorf("a push: %v\n%s", err, out)
			}
			if out, err := w.try(append(p, "ls-remote", w.url+"/none.git")...); err == nil || !strings.Contains(out, "not found") {
				t.Errorf("an unknown repository: %v\n%s", err, out)
			}
		})
	}
}

// TestStateless compares two replicas, one of which starts later, over a year of ticks.
func TestStateless(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	clock := func() *Clock {
		c, err := NewClock("x", 10*time.Minute, true, func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := clock()
	seen := map[gitserver.Hash]bool{}
	longest := 0
	for range 365 * 24 * 6 {
		h, err := first.Head(t.Context())
		if err != nil || seen[h] {
			t.Fatalf("%s was there before: %v", h, err)
		}
		seen[h] = true
		if len(seen)%1000 == 0 {
			if other, err := clock().Head(t.Context()); err != nil || other != h {
				t.Fatalf("%s and %s at %s: %v", h, other, now, err)
			}
			history, ok, err := first.History(t.Context(), h)
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			longest = max(longest, len(history.Commits))
		}
		now = now.Add(10 * time.Minute)
	}
	if longest > 4*base {
		t.Errorf("a history of %d commits", longest)
	}
	if n := len(first.hashes); n > kept {
		t.Errorf("%d commits are remembered", n)
	}
}

// TestUnknownCommit: everybody may ask a clock for any commit, and it remembers no more for that.
func TestUnknownCommit(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	c, err := NewClock("x", time.Second, true, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	old, err := c.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add((recent - 1) * time.Second)
	for _, step := range []struct {
		want gitserver.Hash
		ok   bool
	}{{gitserver.Hash{1}, false}, {old, true}, {gitserver.Hash{2}, false}, {old, true}} {
		history, ok, err := c.History(t.Context(), step.want)
		if ok != step.ok || err != nil || ok && history.Commits[0].Hash() != old {
			t.Errorf("%s: %t, %v", step.want, ok, err)
		}
		if len(c.hashes) > kept || len(c.ticks) > kept {
			t.Errorf("%s: %d commits are remembered", step.want, len(c.hashes))
		}
	}
}

func TestClockJumpsBack(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	c, err := NewClock("x", time.Minute, false, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	before, _ := c.Head(t.Context())
	now = now.Add(-time.Hour)
	if after, _ := c.Head(t.Context()); after != before {
		t.Error("what was served was taken back")
	}
	now = now.Add(time.Hour + time.Minute)
	if after, _ := c.Head(t.Context()); after == before {
		t.Error("the clock stands still")
	}
}

// TestSpread checks that clocks of one interval tick at different times, each at its own.
func TestSpread(t *testing.T) {
	phases := map[time.Duration]bool{}
	for _, name := range strings.Fields("a b c d e f g h i j") {
		c, err := NewClock(name, time.Hour, true, func() time.Time { return time.Unix(1_700_000_000, 0) })
		if err != nil {
			t.Fatal(err)
		}
		phases[c.phase] = true
		if next := c.Next(); next.Sub(c.now()) <= 0 || next.Sub(c.now()) > time.Hour {
			t.Errorf("next tick at %s", next)
		}
	}
	if len(phases) < 9 {
		t.Errorf("%d different phases", len(phases))
	}
}

func TestPaths(t *testing.T) {
	c := &Clocks{Interval: time.Minute, Now: time.Now}
	for path, ok := range map[string]bool{
		"appset.git": true, "every/10m/team-a.git": true, "every/1h30m/x.git": true,
		"appset": false, "every/10m/.git": false, "every/0s/x.git": false, "every/-1m/x.git": false, "every/1ms/x.git": false,
		"every/1500ms/x.git": false,
		"every/10000h/x.git": false, "every/soon/x.git": false, "every/10m/a/b.git": false, "every/10m/../x.git": false, "": false,
		"../appset.git": false, "every/10m/%2e.git": false,
	} {
		if _, err := c.Open(path); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
	for path, want := range map[string]string{
		"every/banana/x.git": `there is no such repository: "banana" in its path is not a duration; it must be one such as 90s, 10m or 1h30m`,
		"every/10/x.git":     `there is no such repository: "10" in its path is not a duration; it must be one such as 90s, 10m or 1h30m`,
		"every/0s/x.git":     "there is no such repository: the interval must be 1s to 8784h0m0s, it is 0s",
		"never/10m/x.git":    "there is no such repository",
	} {
		if _, err := c.Open(path); err == nil || err.Error() != want || !errors.Is(err, gitserver.ErrNotFound) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// BenchmarkRefs answers what git ls-remote asks first, from one clock of many.
func BenchmarkRefs(b *testing.B) {
	clocks := &Clocks{Interval: time.Minute, Now: time.Now}
	server := &gitserver.Server{Open: func(_ context.Context, path string) (gitserver.Repository, error) { return clocks.Open(path) }}
	for b.Loop() {
		r := httptest.NewRequest(http.MethodGet, "/every/10m/team-a.git/info/refs?service=git-upload-pack", nil)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}
