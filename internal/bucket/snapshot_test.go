package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// cache is a bucket.Cache in memory that goes by way of the stored form.
type cache struct {
	mu    sync.Mutex
	packs map[string][]byte
	saves int
}

func (c *cache) Load(id string) (bucket.Pack, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := bucket.DecodePack(c.packs[id])
	return p, err == nil
}

func (c *cache) Save(id string, p bucket.Pack) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.packs == nil {
		c.packs = map[string][]byte{}
	}
	c.packs[id] = p.Encode()
	c.saves++
}

func (c *cache) Use(string) {}

func newReader(m *buckettest.Memory) *bucket.Reader {
	limits := bucket.DefaultLimits
	limits.Backoff = 0
	return &bucket.Reader{Store: m, Bucket: "b", ID: "id", Cache: &cache{}, Limits: limits}
}

func read(t *testing.T, r *bucket.Reader, req bucket.Request) *bucket.Snapshot {
	t.Helper()
	s, err := r.Read(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// content is a snapshot as text: name=data.
func content(s *bucket.Snapshot) string {
	var out []string
	for _, f := range s.Files {
		out = append(out, f.Name+"="+string(f.Data))
	}
	return strings.Join(out, " ")
}

func set(m *buckettest.Memory, objects map[string]string) {
	for k, v := range objects {
		m.Set(k, v)
	}
}

func TestRead(t *testing.T) {
	m := &buckettest.Memory{}
	set(m, map[string]string{
		"apps/demo/b.yaml": "2", "apps/demo/a.yaml": "1", "apps/demo/sub/c.yaml": "3", "apps/demo/sub/": "", "apps/demo//d.yaml": "4",
		"apps/demo-2/a.yaml": "other", "apps/demo.tgz": "archive", "apps/demo": "object", "top.yaml": "5",
	})
	r := newReader(m)
	for name, c := range map[string]struct {
		req  bucket.Request
		want string
	}{
		"directory":           {bucket.Request{Path: "apps/demo"}, "/d.yaml=4 a.yaml=1 b.yaml=2 sub/c.yaml=3"},
		"object":              {bucket.Request{Path: "apps/demo.tgz", File: true}, "demo.tgz=archive"},
		"directory like file": {bucket.Request{Path: "apps/demo-2", File: true}, "a.yaml=other"},
		"below":               {bucket.Request{Path: "apps/demo/sub"}, "c.yaml=3"},
		"selected": {bucket.Request{Path: "apps/demo", Select: func([]string) (func(string) bool, error) {
			return func(name string) bool { return strings.HasPrefix(name, "b") }, nil
		}}, "b.yaml=2"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := content(read(t, r, c.req)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if n := len(read(t, r, bucket.Request{}).Files); n != 8 {
		t.Errorf("the whole bucket has %d files", n)
	}
}

func TestEmpty(t *testing.T) {
	m := &buckettest.Memory{}
	m.Set("a/b/", "")
	_, err := newReader(m).Read(t.Context(), bucket.Request{Path: "a/b"})
	var empty *bucket.EmptyError
	if !errors.As(err, &empty) || !strings.HasPrefix(err.Error(), "s3://b/a/b: there are no objects in this path") {
		t.Error(err)
	}
}

// TestUnchanged counts requests: one listing and nothing else.
func TestUnchanged(t *testing.T) {
	m := &buckettest.Memory{PageSize: 100}
	for i := range 250 {
		m.Set(fmt.Sprintf("p/%03d", i), "x")
	}
	r := newReader(m)
	cold := read(t, r, bucket.Request{Path: "p"})
	if diff := cmp.Diff(bucket.Stats{Lists: 7, Gets: 250, Bytes: 250}, cold.Stats); diff != "" {
		t.Errorf("cold, with pages listed twice and a look for an index above (-want +got)\n%s", diff)
	}
	m.Gets = 0
	warm := read(t, r, bucket.Request{Path: "p"})
	if diff := cmp.Diff(bucket.Stats{Lists: 3, Cached: 250}, warm.Stats); diff != "" || m.Gets != 0 {
		t.Errorf("unchanged, %d gets (-want +got)\n%s", m.Gets, diff)
	}
	if warm.Digest != cold.Digest || content(warm) != content(cold) {
		t.Error("the cache gives something else")
	}
	m.Set("p/007", "y")
	if s := read(t, r, bucket.Request{Path: "p"}); s.Stats.Gets != 1 || s.Digest == cold.Digest {
		t.Errorf("one change: %+v", s.Stats)
	}
	if c := r.Cache.(*cache); c.saves != 2 {
		t.Errorf("%d saves", c.saves)
	}
}

// TestMoved checks that a change between listing and reading leads to one state or the other.
func TestMoved(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *buckettest.Memory)
		want   string
	}{
		"overwritten": {func(m *buckettest.Memory) { m.Set("p/a", "new"); m.Set("p/b", "new") }, "a=new b=new"},
		"vanished":    {func(m *buckettest.Memory) { m.Remove("p/b") }, "a=old"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &buckettest.Memory{}
			set(m, map[string]string{"p/a": "old", "p/b": "old"})
			changed := false
			m.OnGet = func(key string) error {
				if key == "p/b" && !changed {
					changed = true
					c.change(m)
				}
				return nil
			}
			if s := read(t, newReader(m), bucket.Request{Path: "p"}); content(s) != c.want || s.Stats.Lists != 4 {
				t.Errorf("%s, %+v", content(s), s.Stats)
			}
		})
	}
}

// TestMovedPages checks the case that conditions on objects cannot see: what changed is in the cache or was not listed.
func TestMovedPages(t *testing.T) {
	m := &buckettest.Memory{PageSize: 2}
	set(m, map[string]string{"p/a": "old", "p/b": "old", "p/c": "old", "p/d": "old"})
	r := newReader(m)
	read(t, r, bucket.Request{Path: "p"})
	// Both a and d change between the first page and the second: a is listed old, and is in the cache.
	page := 0
	m.OnList = func(string) error {
		if page++; page == 2 {
			set(m, map[string]string{"p/a": "new", "p/d": "new"})
		}
		return nil
	}
	if got := content(read(t, r, bucket.Request{Path: "p"})); got != "a=new b=old c=old d=new" {
		t.Errorf("a mixture: %s", got)
	}
}

func TestMovesAlways(t *testing.T) {
	m := &buckettest.Memory{}
	m.Set("p/a", "0")
	n := 0
	m.OnGet = func(string) error { n++; m.Set("p/a", fmt.Sprint(n)); return nil }
	_, err := newReader(m).Read(t.Context(), bucket.Request{Path: "p"})
	want := `s3://b/p: "p/a" changed or vanished while it was read, in each of 4 attempts; another process is writing, or a push did not finish: push again`
	if err == nil || err.Error() != want {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	m := &buckettest.Memory{}
	set(m, map[string]string{"p/a": "12345", "p/b": "12345", "p/c": "12345"})
	for want, change := range map[string]func(l *bucket.Limits){
		"s3://b/p: 3 objects are over the limit of 2":                      func(l *bucket.Limits) { l.Objects = 2 },
		"s3://b/p/a: 5 bytes is over the limit of 4 for one object":        func(l *bucket.Limits) { l.ObjectBytes = 4 },
		"s3://b/p: 3 objects with 15 bytes are over the limit of 14 bytes": func(l *bucket.Limits) { l.Bytes = 14 },
	} {
		r := newReader(m)
		change(&r.Limits)
		if _, err := r.Read(t.Context(), bucket.Request{Path: "p"}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestParallel checks that downloads are bounded in number and in bytes.
func TestParallel(t *testing.T) {
	m := &buckettest.Memory{}
	for i := range 40 {
		m.Set(fmt.Sprintf("p/%02d", i), "1234567890")
	}
	for _, c := range []struct {
		parallel int
		bytes    int64
		want     int
	}{{4, 1000, 4}, {40, 30, 3}, {8, 1, 1}} {
		var mu sync.Mutex
		running, most := 0, 0
		gate := make(chan struct{})
		m.OnGet = func(string) error {
			mu.Lock()
			running++
			most = max(most, running)
			if running == c.want {
				select {
				case <-gate:
				default:
					close(gate)
				}
			}
			mu.Unlock()
			<-gate // until as many run as may
			mu.Lock()
			running--
			mu.Unlock()
			return nil
		}
		r := newReader(m)
		r.Limits.Parallel, r.Limits.ParallelBytes = c.parallel, c.bytes
		read(t, r, bucket.Request{Path: "p"})
		if most != c.want {
			t.Errorf("%d at a time, want %d", most, c.want)
		}
	}
}

func TestDigest(t *testing.T) {
	m := &buckettest.Memory{}
	set(m, map[string]string{"p/a": "1", "p/b": "2", "x.tgz": "archive"})
	r := newReader(m)
	onlyA := func([]string) (func(string) bool, error) { return func(n string) bool { return n == "a" }, nil }
	all := read(t, r, bucket.Request{Path: "p"}).Digest
	// What the manual says: sha256sum of the files, in order, and of that.
	sums := bucket.Sum([]byte("1")) + "  a\n" + bucket.Sum([]byte("2")) + "  b\n"
	if want := "sha256:" + bucket.Sum([]byte(sums)); all != want {
		t.Errorf("digest %s, want %s", all, want)
	}
	if s := read(t, r, bucket.Request{Path: "p", Digest: all, Select: onlyA}); content(s) != "a=1" {
		t.Errorf("pinned and selected: %s", content(s))
	}
	if s := read(t, r, bucket.Request{Path: "p", Select: onlyA}); s.Digest != "" {
		t.Errorf("a digest of files that were not read: %s", s.Digest)
	}
	read(t, r, bucket.Request{Path: "x.tgz", File: true, Digest: "sha256:" + bucket.Sum([]byte("archive"))})
	_, err := r.Read(t.Context(), bucket.Request{Path: "p", Digest: "sha256:0"})
	if want := "s3://b/p: its content is " + all + ", but digest demands sha256:0"; err == nil || err.Error() != want {
		t.Error(err)
	}
}

func TestLate(t *testing.T) {
	m := &buckettest.Memory{}
	m.Set("p/a", "1")
	ctx, cancel := context.WithCancelCause(t.Context())
	m.OnGet = func(string) error { cancel(errors.New("not finished after 45s")); return ctx.Err() }
	_, err := newReader(m).Read(ctx, bucket.Request{Path: "p"})
	if want := "s3://b/p: not finished after 45s; until then Argosy got 2 listings and read 0 objects"; err == nil ||
		err.Error() != want {
		t.Error(err)
	}
}

func FuzzIndex(f *testing.F) {
	data, err := bucket.NewIndex([]tree.File{{Name: "a.yaml", Data: []byte("x")}, {Name: "b/c"}}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := bucket.DecodeIndex(data)
		if err != nil {
			return
		}
		for _, e := range x.Files {
			if !tree.Safe(e.Path) {
				t.Errorf("unsafe path %q", e.Path)
			}
		}
		again, err := x.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if y, err := bucket.DecodeIndex(again); err != nil || y.Digest != x.Digest {
			t.Errorf("%v", err)
		}
	})
}

func FuzzPack(f *testing.F) {
	f.Add(bucket.Pack{Entries: map[string]bucket.PackEntry{"k": {ETag: "e", Data: []byte("d")}, "": {}}}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := bucket.DecodePack(data)
		if err != nil {
			return
		}
		q, err := bucket.DecodePack(p.Encode())
		if diff := cmp.Diff(p, q); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	})
}

func TestDecodeIndex(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for in, want := range map[string]string{
		``:                           "not an index: EOF",
		`{"version":2}`:              "version is 2; this program reads version 1",
		`{"version":1,"more":true}`:  `not an index: unknown field "more"`,
		`{"version":1} {}`:           "not an index: there is more behind it",
		`{"version":1,"digest":"x"}`: `digest is "x", but its files make "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`,
		`{"version":1,"files":[{"path":"../a","sha256":"` + sum +
			`"}]}`: `files[0].path: "../a" is not a name below the directory`,
		`{"version":1,"files":[{"path":"x/.argosy/y","sha256":"` + sum +
			`"}]}`: `files[0].path: "x/.argosy/y" is not a name below the directory`,
		`{"version":1,"files":[{"path":"b","sha256":"` + sum + `"},{"path":"a","sha256":"` + sum +
			`"}]}`: `files must be sorted: files[1].path "a" must come after "b"`,
		`{"version":1,"files":[{"path":"b","sha256":"AA"}]}`: "files[0].sha256 must have 64 hexadecimal digits",
		`{"version":1,"files":[{"path":"b","sha256":"` + sum +
			`","size":-1}]}`: "files[0].size must not be negative",
	} {
		if _, err := bucket.DecodeIndex([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", in, err, want)
		}
	}
}

func TestParseURL(t *testing.T) {
	for in, want := range map[string]string{
		"s3://b": "s3://b", "s3://b/": "s3://b", "s3://b/a/c//": "s3://b/a/c",
		"b/a": "", "s3://": "", "s3:///a": "", "s3://b/a//c": "", "s3://b/../c": "", "s3://b/./c": "", "https://b/a": "",
	} {
		u, err := bucket.ParseURL(in)
		if got := u.String(); (err != nil) != (want == "") || want != "" && got != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}
