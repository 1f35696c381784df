package trigger

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/bucket/s3"
	"github.com/argosy-cd/argosy/internal/gitserver"
)

func newBucket(m *buckettest.Memory) *Bucket {
	limits := bucket.DefaultLimits
	limits.Backoff = 0
	return NewBucket(&bucket.Reader{Store: m, Bucket: "b", ID: "id", Limits: limits}, "apps")
}

// serveBucket starts a server of one repository and returns its URL.
func serveBucket(t *testing.T, b *Bucket) string {
	t.Helper()
	s := httptest.NewServer(&gitserver.Server{Open: func(context.Context, string) (gitserver.Repository, error) { return b, nil }})
	t.Cleanup(s.Close)
	return s.URL + "/apps.git"
}

func TestBucket(t *testing.T) {
	w := &world{T: t}
	m := &buckettest.Memory{}
	for key, text := range map[string]string{
		"apps/a.yaml": "a: 1\n", "apps/a/b.yaml": "b: 1\n", "apps/a-b/c.yaml": "c: 1\n", "apps/deep/er/ümlaut file.yaml": "d: 1\n",
		"apps/empty": "", "apps-2/x": "no",
	} {
		m.Set(key, text)
	}
	b := newBucket(m)
	url := serveBucket(t, b)
	clone := filepath.Join(t.TempDir(), "clone")
	w.git("clone", "-q", url, clone)
	w.git("-C", clone, "fsck", "--strict", "--full")
	first := w.git("-C", clone, "rev-parse", "HEAD")
	for name, want := range map[string]string{
		"a.yaml": "a: 1\n", "a/b.yaml": "b: 1\n", "a-b/c.yaml": "c: 1\n",
		"deep/er/ümlaut file.yaml": "d: 1\n", "empty": "",
	} {
		if got, err := os.ReadFile(filepath.Join(clone, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}

	// A second replica agrees, and a look changes nothing.
	if other := w.head(serveBucket(t, newBucket(m))); other != first || w.head(url) != first {
		t.Errorf("%s and %s", first, other)
	}

	// A change is a new commit, and what was there can still be had.
	m.Set("apps/a.yaml", "a: 2\n")
	m.Remove("apps/empty")
	w.git("-C", clone, "fetch", "-q", "origin")
	second := w.git("-C", clone, "rev-parse", "origin/main")
	if second == first {
		t.Error("no new commit")
	}
	if diff := w.git("-C", clone, "diff", "--name-status", first, second); diff != "M\ta.yaml\nD\tempty" {
		t.Errorf("%s", diff)
	}
	again := filepath.Join(t.TempDir(), "again")
	w.git("init", "-q", again)
	w.git("-C", again, "fetch", "-q", url, first)
	w.git("-C", again, "fetch", "-q", "--depth", "1", url, second)

	// The same content again is the same commit.
	m.Set("apps/a.yaml", "a: 1\n")
	m.Set("apps/empty", "")
	if head := w.head(url); head != first {
		t.Errorf("%s, want %s", head, first)
	}
}

// TestBucketAway serves the last tree while the bucket is away or empty, and nothing where there was none.
func TestBucketAway(t *testing.T) {
	m := &buckettest.Memory{}
	b := newBucket(m)
	if _, err := b.Head(t.Context()); err == nil || !strings.Contains(err.Error(), "there are no objects in this path") {
		t.Errorf("an empty tree was served: %v", err)
	}
	m.Set("apps/a", "1")
	head, err := b.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, fail := range map[string]func(){
		"away":       func() { m.OnList = func(string) error { return errors.New("away") } },
		"empty":      func() { m.Remove("apps/a") },
		"not a file": func() { m.Set("apps//x", "1") },
		"git":        func() { m.Set("apps/.GIT/config", "1") },
		"both":       func() { m.Set("apps/a/b", "1") },
	} {
		fail()
		if now, err := b.Head(t.Context()); err != nil || now != head || b.Err() == nil {
			t.Errorf("%s: %s, %v, %v", name, now, err, b.Err())
		}
		if _, ok, err := b.History(t.Context(), head); !ok || err != nil {
			t.Errorf("%s: %t, %v", name, ok, err)
		}
		m.OnList = nil
		for _, key := range []string{"apps//x", "apps/.GIT/config", "apps/a/b"} {
			m.Remove(key)
		}
		m.Set("apps/a", "1")
	}
	if now, err := b.Head(t.Context()); err != nil || now != head || b.Err() != nil {
		t.Errorf("after that: %s, %v, %v", now, err, b.Err())
	}
	if _, ok, err := b.History(t.Context(), gitserver.Hash{1}); ok || err != nil {
		t.Errorf("an unknown commit: %t, %v", ok, err)
	}
}

// TestBucketHangs serves the last tree while the bucket does not answer at all.
func TestBucketHangs(t *testing.T) {
	m := &buckettest.Memory{}
	m.Set("apps/a", "1")
	b := newBucket(m)
	b.reader.Store = bucket.Coalesce(m)
	head, err := b.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	m.OnList = func(string) error { <-release; return nil }
	b.patience = time.Millisecond
	if now, err := b.Head(t.Context()); err != nil || now != head || b.Err() == nil ||
		!strings.Contains(b.Err().Error(), "not finished after 1ms") {
		t.Errorf("%s, %v, %v", now, err, b.Err())
	}
}

// TestBucketLeft: a client that hangs up says nothing about the bucket.
func TestBucketLeft(t *testing.T) {
	m := &buckettest.Memory{}
	m.Set("apps/a", "1")
	b := newBucket(m)
	head, err := b.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	m.OnList = func(string) error { leave(); <-release; return nil }
	if now, err := b.Head(ctx); err != nil || now != head || b.Err() != nil {
		t.Errorf("%s, %v, %v", now, err, b.Err())
	}
}

// TestBucketLate: the answer of a read that comes after that of a later one changes nothing.
func TestBucketLate(t *testing.T) {
	m := &buckettest.Memory{}
	b := newBucket(m)
	read := func(text string) *state {
		t.Helper()
		m.Set("apps/a", text)
		s, err := b.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first, second := read("1"), read("2")
	m.OnList = func(string) error { return errors.New("away") }
	failed, err := b.next(t.Context())
	if err == nil {
		t.Fatal("it is not away")
	}
	m.OnList = nil
	last := read("3")
	b.learn(second, nil)
	b.learn(first, nil)
	if len(b.states) != 1 || b.states[0] != second {
		t.Errorf("an older state counts: %v", b.states)
	}
	b.learn(last, nil)
	b.learn(failed, err)
	if len(b.states) != 2 || b.states[1] != last || b.Err() != nil {
		t.Errorf("an older failure counts: %v, %v", b.states, b.Err())
	}
	// It is better than nothing if the later one has failed.
	b.states, b.known = nil, 0
	b.learn(failed, err)
	b.learn(second, nil)
	if len(b.states) != 1 || b.states[0] != second || b.Err() == nil {
		t.Errorf("with a later failure: %v, %v", b.states, b.Err())
	}
}

func TestBucketForgets(t *testing.T) {
	m := &buckettest.Memory{}
	b := newBucket(m)
	var all []gitserver.Hash
	for i := range 2 * maxStates {
		m.Set("apps/a", strings.Repeat("x", i))
		h, err := b.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	if len(b.states) != maxStates {
		t.Errorf("%d states", len(b.states))
	}
	for i, h := range all {
		if _, ok := b.find(h); ok != (i >= maxStates) {
			t.Errorf("%d: %t", i, ok)
		}
	}
}

// TestBucketPast rebuilds snapshots that a process has not seen, from a bucket that keeps versions.
func TestBucketPast(t *testing.T) {
	buckettest.Environment(t)
	url, pass := buckettest.Versions(t, "test")
	store, err := s3.Open(t.Context(), s3.Config{Bucket: "test", Endpoint: url, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	open := func() *Bucket {
		return NewBucket(&bucket.Reader{Store: bucket.Coalesce(store), Bucket: "test", ID: store.ID(), Limits: bucket.DefaultLimits},
			"apps")
	}
	put := func(key, text string) {
		t.Helper()
		if _, err := store.Put(t.Context(), "apps/"+key, []byte(text), bucket.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	head := func(b *Bucket) gitserver.Hash {
		t.Helper()
		h, err := b.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first := open()
	var hashes []gitserver.Hash
	for _, change := range []func(){
		func() { put("a", "1"); put("b", "1") },
		func() { put("a", "2") },
		func() {
			if err := store.Delete(t.Context(), "apps/b"); err != nil {
				t.Fatal(err)
			}
		},
		func() { put("a", "3") },
	} {
		change()
		hashes = append(hashes, head(first))
		pass(time.Minute)
	}
	// Another process has seen the last one only.
	w := &world{T: t}
	second := open()
	remote := serveBucket(t, second)
	clone := filepath.Join(t.TempDir(), "clone")
	w.git("clone", "-q", remote, clone)
	for i, want := range []string{"a 1 b 1", "a 2 b 1", "a 2", "a 3"} {
		w.git("-C", clone, "fetch", "-q", "origin", hashes[i].String())
		w.git("-C", clone, "checkout", "-q", hashes[i].String())
		got := ""
		for _, name := range []string{"a", "b"} {
			if data, err := os.ReadFile(filepath.Join(clone, name)); err == nil {
				got += " " + name + " " + string(data)
			}
		}
		if got = strings.TrimSpace(got); got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
	if _, ok, err := second.History(t.Context(), gitserver.Hash{1}); ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
}

// TestConcurrentClones clones from a clock and from a bucket at the same time.
func TestConcurrentClones(t *testing.T) {
	w := newWorld(t)
	m := &buckettest.Memory{}
	for i := range 50 {
		m.Set(fmt.Sprintf("apps/%02d.yaml", i), strings.Repeat("x", 1000))
	}
	remote := serveBucket(t, newBucket(m))
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			from := w.url + "/appset.git"
			if i%2 == 0 {
				from = remote
			}
			if out, err := w.try("clone", "-q", from, filepath.Join(dir, strconv.Itoa(i))); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
}
