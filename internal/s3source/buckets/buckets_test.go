package buckets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

func now() time.Time { return time.Unix(0, 0) }

// TestPool opens a bucket once for each way to reach it.
func TestPool(t *testing.T) {
	buckettest.Environment(t)
	p := &buckets.Pool{Now: now, Local: buckettest.InProcess(t, "abc", "other")}
	open := func(a triggerfile.Access) *bucket.Reader {
		r, err := p.Reader(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	no := false
	one := open(triggerfile.Access{Bucket: "abc"})
	for name, a := range map[string]triggerfile.Access{
		"another bucket": {Bucket: "other"}, "another region": {Bucket: "abc", Region: "x"},
		"another endpoint": {Bucket: "abc", Endpoint: "http://x"},
		"another role":     {Bucket: "abc", RoleARN: "x"}, "without credentials": {Bucket: "abc", Anonymous: true},
		"by its host": {Bucket: "abc", ForcePathStyle: &no},
	} {
		if open(a) == one {
			t.Errorf("%s is read as the first one", name)
		}
	}
	if open(triggerfile.Access{Bucket: "abc"}) != one {
		t.Error("it was opened twice")
	}
}

// TestAsked counts requests; a store that is counted still knows versions.
func TestAsked(t *testing.T) {
	buckettest.Environment(t)
	url, pass := buckettest.Versions(t, "abc")
	var asked []string
	p := &buckets.Pool{Now: now, Local: url, Asked: func(operation string, err error) {
		if err == nil {
			asked = append(asked, operation)
		}
	}}
	store, err := p.Store(t.Context(), triggerfile.Access{Bucket: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"old", "new"} {
		if _, err := store.Put(t.Context(), "app/a.yaml", []byte(text), bucket.Condition{}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
	}
	r, err := p.Reader(t.Context(), triggerfile.Access{Bucket: "abc"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(t.Context(), bucket.Request{Path: "app"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(asked, " "); got != "list list get" { // also whether an index is above
		t.Errorf("got %s", got)
	}
	var states []string
	err = r.Past(t.Context(), "app", 10, func(past *bucket.Reader) (bool, error) {
		s, err := past.Read(t.Context(), bucket.Request{Path: "app"})
		if err != nil {
			return false, err
		}
		states = append(states, string(s.Files[0].Data))
		return false, nil
	})
	if got := strings.Join(states, " "); err != nil || got != "new old" {
		t.Errorf("got %s, %v", got, err)
	}
	if len(asked) <= 3 {
		t.Error("versions are not counted")
	}
}

func TestCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir, home  string
		open, fail bool
		note       string
	}{
		"none":                  {dir: "none"},
		"a directory":           {dir: filepath.Join(t.TempDir(), "new"), open: true},
		"no directory":          {dir: file, fail: true},
		"the user's":            {home: t.TempDir(), open: true},
		"a user's that is none": {home: file, note: "reading without a cache: "},
	} {
		t.Run(name, func(t *testing.T) {
			var notes []string
			cache, err := buckets.Cache{Dir: c.dir, MaxBytes: 1 << 20, Now: now, Env: environ.New("XDG_CACHE_HOME=" + c.home), Note: func(line string) {
				notes = append(notes, line)
			}}.Open()
			if (cache != nil) != c.open || (err != nil) != c.fail {
				t.Errorf("%v, %v", cache, err)
			}
			if c.note == "" && len(notes) > 0 || c.note != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0], c.note)) {
				t.Errorf("%q", notes)
			}
		})
	}
}
