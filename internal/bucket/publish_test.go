package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/tree"
)

func files(m map[string]string) []tree.File {
	var out []tree.File
	for k, v := range m {
		out = append(out, tree.File{Name: k, Data: []byte(v)})
	}
	tree.Sort(out)
	return out
}

func publication(m bucket.Writer, content map[string]string) bucket.Publication {
	return bucket.Publication{Store: m, Bucket: "b", Path: "p", Files: files(content), Limits: bucket.DefaultLimits}
}

func publish(t *testing.T, p bucket.Publication) *bucket.Published {
	t.Helper()
	r, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPublish(t *testing.T) {
	m := &buckettest.Memory{}
	first := publish(t, publication(m, map[string]string{"a": "1", "b": "1", "c": "1"}))
	if diff := cmp.Diff([]string{"p/.argosy-index.json", "p/a", "p/b", "p/c"}, m.Keys()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	m.OnPut = func(key string) error { t.Errorf("wrote %s, though nothing has changed", key); return nil }
	same := publish(t, publication(m, map[string]string{"a": "1", "b": "1", "c": "1"}))
	m.OnPut = nil
	if same.Digest != first.Digest || len(same.Uploaded) != 0 || same.Unchanged != 3 {
		t.Errorf("the same again: %+v", same)
	}
	second := publish(t, publication(m, map[string]string{"a": "1", "b": "2", "d": "2"}))
	if diff := cmp.Diff(&bucket.Published{Digest: second.Digest, Uploaded: []string{"b", "d"}, Unchanged: 1, Left: []string{"c"}},
		second); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s := read(t, newReader(m), bucket.Request{Path: "p"})
	if content(s) != "a=1 b=2 d=2" || s.Digest != second.Digest || !s.Indexed {
		t.Errorf("%s %+v", content(s), s)
	}
	p := publication(m, map[string]string{"a": "1"})
	p.Prune, p.DryRun = true, true
	if r := publish(t, p); !slices.Equal(r.Deleted, []string{"b", "c", "d"}) || len(m.Keys()) != 6 {
		t.Errorf("dry run: %+v %q", r, m.Keys())
	}
	p.DryRun = false
	publish(t, p)
	if diff := cmp.Diff([]string{"p/.argosy-index.json", "p/a"}, m.Keys()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestAtEveryStep looks at the directory before every request of a push, and ends the push there: readers see the old
// state or the new one, and the next push repairs everything.
func TestAtEveryStep(t *testing.T) {
	old := map[string]string{"a": "1", "b": "1", "c": "1"}
	next := map[string]string{"a": "2", "b": "1", "d": "2", "e": "2"}
	const oldText, newText = "a=1 b=1 c=1", "a=2 b=1 d=2 e=2"
	for name, c := range map[string]struct {
		prepare func(m *buckettest.Memory)
		before  string // "" is an error
	}{
		"push over a push": {func(m *buckettest.Memory) { publish(t, publication(m, old)) }, oldText},
		"first push":       {func(*buckettest.Memory) {}, ""},
		"push over files that others wrote": {func(m *buckettest.Memory) {
			for k, v := range old {
				m.Set("p/"+k, v)
			}
		}, oldText},
	} {
		t.Run(name, func(t *testing.T) {
			for fail := 1; ; fail++ {
				m := &buckettest.Memory{}
				c.prepare(m)
				p := publication(m, next)
				p.Prune = true
				p.Limits.Parallel = 1
				step := 0
				errStop := errors.New("stopped")
				seen := map[string]bool{}
				look := func() {
					on, get := m.OnList, m.OnGet
					m.OnList, m.OnGet = nil, nil
					defer func() { m.OnList, m.OnGet = on, get }()
					s, err := newReader(m).Read(t.Context(), bucket.Request{Path: "p"})
					text := ""
					if err == nil {
						text = content(s)
					}
					if text != c.before && text != newText {
						t.Fatalf("step %d: readers see %q (%v); keys %q", step, text, err, m.Keys())
					}
					if seen[newText] && text != newText {
						t.Fatalf("step %d: the new state was there and is gone: %q", step, text)
					}
					seen[text] = true
				}
				hook := func(string) error {
					step++
					look()
					if step == fail {
						return errStop
					}
					return nil
				}
				m.OnList, m.OnPut = hook, hook
				_, err := p.Run(t.Context())
				m.OnList, m.OnPut = nil, nil
				look()
				if err == nil {
					if fail < 6 || !seen[newText] || c.before != "" && !seen[c.before] {
						t.Errorf("%d steps, seen %v", step, seen)
					}
					return
				}
				publish(t, p)
				if s := read(t, newReader(m), bucket.Request{Path: "p"}); content(s) != newText {
					t.Fatalf("after a push that was stopped at %d and another: %s", fail, content(s))
				}
				wanted := map[string]bool{}
				for _, text := range next {
					wanted["p/.argosy/"+bucket.Sum([]byte(text))] = true
				}
				keys := slices.DeleteFunc(m.Keys(), func(k string) bool { return wanted[k] })
				if got := strings.Join(keys, " "); got != "p/.argosy-index.json p/a p/b p/d p/e" {
					t.Fatalf("left behind after step %d: %s", fail, got)
				}
			}
		})
	}
}

// TestReadDuringPush checks that a reader with the old index starts again.
func TestReadDuringPush(t *testing.T) {
	m := &buckettest.Memory{}
	publish(t, publication(m, map[string]string{"a": "1", "b": "1"}))
	pushed := false
	m.OnGet = func(key string) error {
		if key == "p/b" && !pushed {
			pushed = true
			publish(t, publication(m, map[string]string{"a": "2", "b": "2"}))
		}
		return nil
	}
	if got := content(read(t, newReader(m), bucket.Request{Path: "p"})); got != "a=2 b=2" {
		t.Errorf("%s", got)
	}
}

// TestTwoPushes lets another push run whole before each request of one, with files that both add, change and delete: the one
// that is overtaken says so, and what readers see is what a push has published.
func TestTwoPushes(t *testing.T) {
	for step := 1; ; step++ {
		m := &buckettest.Memory{}
		publish(t, publication(m, map[string]string{"a": "1", "b": "1", "c": "1"}))
		n, ran := 0, false
		hook := func(string) error {
			if n++; n == step {
				m.OnPut, m.OnList = nil, nil
				ran = true
				theirs := publication(m, map[string]string{"a": "theirs", "b": "1", "new": "theirs", "d": "1"})
				theirs.Prune = true
				publish(t, theirs)
			}
			return nil
		}
		m.OnPut, m.OnList = hook, hook
		ours := publication(m, map[string]string{"a": "ours", "b": "2", "new": "ours"})
		ours.Prune = true
		ours.Limits.Parallel = 1
		_, err := ours.Run(t.Context())
		m.OnPut, m.OnList = nil, nil
		if !ran {
			if err != nil {
				t.Error(err)
			}
			return
		}
		if err != nil && err.Error() != "s3://b/p: somebody else has pushed at the same time; push again" {
			t.Errorf("step %d: %v", step, err)
		}
		got, readErr := newReader(m).Read(t.Context(), bucket.Request{Path: "p"})
		text := ""
		if readErr == nil {
			text = content(got)
		}
		switch {
		case err == nil && text != "a=ours b=2 new=ours":
			t.Errorf("step %d: published, and readers see %q (%v)", step, text, readErr)
		case err != nil && text != "a=theirs b=1 d=1 new=theirs":
			t.Errorf("step %d: refused, and readers see %q (%v)", step, text, readErr)
		}
		publish(t, ours)
		if got := content(read(t, newReader(m), bucket.Request{Path: "p"})); got != "a=ours b=2 new=ours" {
			t.Errorf("step %d: after another push: %s", step, got)
		}
	}
}

// TestInside reads a directory inside of one that was pushed: its index decides here, too.
func TestInside(t *testing.T) {
	m := &buckettest.Memory{}
	publish(t, publication(m, map[string]string{"web/a": "1", "web/old": "1", "db/x": "1"}))
	r := newReader(m)
	web := bucket.Request{Path: "p/web"}
	if s := read(t, r, web); content(s) != "a=1 old=1" || !s.Indexed || s.Digest != bucket.NewIndex(s.Files).Digest {
		t.Errorf("%s %+v", content(s), s)
	}
	publish(t, publication(m, map[string]string{"web/a": "1", "web/new": "1", "db/x": "1"}))
	if got := content(read(t, r, web)); got != "a=1 new=1" {
		t.Errorf("what the index does not list is read: %s", got)
	}
	// A push that stops when its index is written, and before its files are.
	p := publication(m, map[string]string{"web/a": "2", "web/new": "2", "db/x": "1"})
	p.Limits.Parallel = 1
	index := false
	m.OnPut = func(key string) error {
		if index {
			return errors.New("stopped")
		}
		index = strings.HasSuffix(key, bucket.IndexName)
		return nil
	}
	if _, err := p.Run(t.Context()); err == nil {
		t.Fatal("not stopped")
	}
	m.OnPut = nil
	if got := content(read(t, r, web)); got != "a=2 new=2" {
		t.Errorf("%s", got)
	}
	if _, err := r.Read(t.Context(), bucket.Request{Path: "p/none"}); err == nil ||
		!strings.Contains(err.Error(), "the index lists no files here") {
		t.Error(err)
	}
	// Who may not list the directory around it reads it as it is.
	m.OnList = func(prefix string) error {
		if prefix != "p/web/" {
			return fmt.Errorf("denied%w", bucket.ErrDenied)
		}
		return nil
	}
	if got := content(read(t, newReader(m), web)); got != "a=1 new=1 old=1" {
		t.Errorf("%s", got)
	}
}

func TestNested(t *testing.T) {
	m := &buckettest.Memory{}
	publish(t, publication(m, map[string]string{"a": "1"}))
	p := publication(m, map[string]string{"a": "1"})
	p.Path = ""
	if _, err := p.Run(t.Context()); err == nil ||
		err.Error() != "s3://b: p in it was pushed on its own; push to another path, or delete p first" {
		t.Error(err)
	}
	p.Path = "p/inside"
	if _, err := p.Run(t.Context()); err == nil ||
		err.Error() != "s3://b/p/inside: it is part of s3://b/p, which was pushed as a whole; push s3://b/p again, or push to another path" {
		t.Error(err)
	}
	for _, path := range []string{"x/.argosy", ".argosy-index.json", ".argosy/y"} {
		p.Path = path
		if _, err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(),
			"this path has a name that argosy needs for itself; push to another path") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// lossy stores what it is given, and loses its first answers.
type lossy struct {
	*buckettest.Memory
	losses *int
}

func (l lossy) Put(ctx context.Context, key string, data []byte, c bucket.Condition) (bucket.Object, error) {
	o, err := l.Memory.Put(ctx, key, data, c)
	if *l.losses++; err == nil && *l.losses%2 == 1 {
		return l.Memory.Put(ctx, key, data, c) // as the SDK repeats it
	}
	return o, err
}

func TestLostAnswers(t *testing.T) {
	m := &buckettest.Memory{}
	for _, version := range []string{"1", "2"} {
		p := publication(lossy{m, new(int)}, map[string]string{"a": version, "b": "1", "c" + version: "1"})
		p.Limits.Parallel = 1
		publish(t, p)
	}
	if got := content(read(t, newReader(m), bucket.Request{Path: "p"})); got != "a=2 b=1 c2=1" {
		t.Error(got)
	}
}

// TestForgedDigest puts one file whose name looks like two lines of what a digest is made of.
func TestForgedDigest(t *testing.T) {
	m := &buckettest.Memory{}
	set(m, map[string]string{"p/a": "A", "p/b": "B"})
	digest := read(t, newReader(m), bucket.Request{Path: "p"}).Digest
	m.Remove("p/a")
	m.Remove("p/b")
	m.Set("p/a\n"+bucket.Sum([]byte("B"))+"  b", "A")
	if s, err := newReader(m).Read(t.Context(), bucket.Request{Path: "p", Digest: digest}); err == nil {
		t.Errorf("%s", content(s))
	}
}

// TestSalvage checks that a snapshot that was not finished makes the next one quicker, and never a mixture.
func TestSalvage(t *testing.T) {
	m := &buckettest.Memory{}
	for i := range 50 {
		m.Set(fmt.Sprintf("p/%02d", i), "x")
	}
	r := newReader(m)
	r.Limits.Parallel = 1
	n := 0
	m.OnGet = func(string) error {
		if n++; n > 20 {
			return errors.New("down")
		}
		return nil
	}
	if _, err := r.Read(t.Context(), bucket.Request{Path: "p"}); err == nil {
		t.Fatal("not down")
	}
	m.OnGet = nil
	if s := read(t, r, bucket.Request{Path: "p"}); s.Stats.Gets != 30 || s.Stats.Cached != 20 || len(s.Files) != 50 {
		t.Errorf("%+v", s.Stats)
	}
}

// opaqueTags lists ETags that are not the MD5 of the content, as buckets that are encrypted by key do.
type opaqueTags struct{ *buckettest.Memory }

func (o opaqueTags) List(ctx context.Context, prefix string, most int) (bucket.Listing, error) {
	l, err := o.Memory.List(ctx, prefix, most)
	for i := range l.Objects {
		if !strings.HasSuffix(l.Objects[i].Key, ".json") {
			l.Objects[i].ETag = "kms-" + l.Objects[i].ETag
		}
	}
	return l, err
}

func TestEncryptedBucket(t *testing.T) {
	m := &buckettest.Memory{}
	content := map[string]string{"a": "1", "b": "2"}
	publish(t, publication(m, content))
	r := publish(t, publication(opaqueTags{m}, content))
	if len(r.Uploaded) != 0 {
		t.Errorf("uploaded again: %q", r.Uploaded)
	}
}

func TestRefusedFiles(t *testing.T) {
	for _, name := range []string{"../a", "/a", ".argosy-index.json", ".argosy/x", "a\nb", "a//b"} {
		if _, err := publication(&buckettest.Memory{}, map[string]string{name: "x"}).Run(t.Context()); err == nil {
			t.Errorf("%q was published", name)
		}
	}
	if _, err := publication(&buckettest.Memory{}, nil).Run(t.Context()); err == nil {
		t.Error("nothing was published")
	}
}

// TestTampered checks that content which the index does not know is never given out.
func TestTampered(t *testing.T) {
	for name, change := range map[string]func(m *buckettest.Memory){
		"other content": func(m *buckettest.Memory) { m.Set("p/a", "X") },
		"other size":    func(m *buckettest.Memory) { m.Set("p/a", "longer") },
		"missing":       func(m *buckettest.Memory) { m.Remove("p/a") },
		"damaged index": func(m *buckettest.Memory) { m.Set("p/.argosy-index.json", "{}") },
		"index of others": func(m *buckettest.Memory) {
			m.Set("p/.argosy-index.json", fmt.Sprintf(`{"version":1,"digest":%q,"files":[]}`, "sha256:0"))
		},
	} {
		m := &buckettest.Memory{}
		publish(t, publication(m, map[string]string{"a": "1", "b": "1"}))
		change(m)
		if s, err := newReader(m).Read(t.Context(), bucket.Request{Path: "p"}); err == nil {
			t.Errorf("%s: %s", name, content(s))
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	m := &buckettest.Memory{}
	publish(t, publication(m, map[string]string{"a": "1"}))
	m.Set("p/extra.yaml", "not in the index")
	if got := content(read(t, newReader(m), bucket.Request{Path: "p"})); got != "a=1" {
		t.Error(got)
	}
}
