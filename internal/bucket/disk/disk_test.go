package disk

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
)

func pack(content string) bucket.Pack {
	return bucket.Pack{Entries: map[string]bucket.PackEntry{"key": {ETag: "tag", Data: []byte(content)}}}
}

func open(t *testing.T, maxBytes int64) (*Cache, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cache")
	c, err := Open(dir, Config{MaxBytes: maxBytes, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

func TestCache(t *testing.T) {
	c, dir := open(t, 1<<20)
	if _, ok := c.Load("a"); ok {
		t.Error("loaded what was not saved")
	}
	c.Save("a", pack("1"))
	c.Save("b", pack("2"))
	c.Save("a", pack("3"))
	again, err := Open(dir, Config{MaxBytes: 1 << 20, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"a": "3", "b": "2"} {
		if p, ok := again.Load(id); !ok || string(p.Entries["key"].Data) != want {
			t.Errorf("%s: %q", id, p.Entries["key"].Data)
		}
	}
}

// TestDamage checks what a crash can leave: half a file, an empty one, one with other bytes.
func TestDamage(t *testing.T) {
	c, _ := open(t, 1<<20)
	c.Save("a", pack("content"))
	whole, err := os.ReadFile(c.path("a"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1
		for _, data := range [][]byte{whole[:i], damaged} {
			if err := os.WriteFile(c.path("a"), data, 0o600); err != nil {
				t.Fatal(err)
			}
			if p, ok := c.Load("a"); ok {
				t.Fatalf("byte %d: loaded %v", i, p)
			}
		}
	}
	c.Save("a", pack("content"))
	if _, ok := c.Load("a"); !ok {
		t.Error("not repaired")
	}
}

func TestBound(t *testing.T) {
	c, dir := open(t, 4000)
	start := time.Unix(1_000_000, 0)
	now := start
	c.Now = func() time.Time { return now }
	for i := range 10 {
		c.Save(fmt.Sprint(i), pack(strings.Repeat("x", 1000)))
		now = now.Add(time.Minute)
		c.Use(fmt.Sprint(i))
		c.Use("0")
	}
	failed := 0
	c.Failed = func() { failed++ }
	c.Save("large", pack(strings.Repeat("x", 5000)))
	if failed != 1 {
		t.Error("a pack that is too large was not told of")
	}
	var kept []string
	for i := range 10 {
		if _, ok := c.Load(fmt.Sprint(i)); ok {
			kept = append(kept, fmt.Sprint(i))
		}
	}
	if got := strings.Join(kept, " "); got != "0 8 9" {
		t.Errorf("kept %s", got)
	}
	old := filepath.Join(dir, "new-killed")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, start.Add(-3*time.Hour), start.Add(-3*time.Hour)); err != nil {
		t.Fatal(err)
	}
	c.Save("x", pack("x"))
	if _, err := os.Stat(old); err == nil {
		t.Error("the file of a writer that was killed is still there")
	}
}

// TestConcurrent lets several caches, as of several processes, write and evict in one directory.
func TestConcurrent(t *testing.T) {
	_, dir := open(t, 1<<20)
	var wg sync.WaitGroup
	for range 8 {
		c, err := Open(dir, Config{MaxBytes: 5000, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for i := range 100 {
				id := fmt.Sprint(i % 7)
				c.Save(id, pack(strings.Repeat(id, 500)))
				if p, ok := c.Load(id); ok && string(p.Entries["key"].Data) != strings.Repeat(id, 500) {
					t.Errorf("%s: loaded something else", id)
				}
				c.Use(id)
			}
		})
	}
	wg.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "new-") {
			t.Errorf("left behind: %s", e.Name())
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Config{MaxBytes: 1, Now: time.Now}); err == nil || !strings.Contains(err.Error(), "nobody else may write to") {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, Config{MaxBytes: 1, Now: time.Now}); err == nil {
		t.Error("a file is a cache")
	}
}
