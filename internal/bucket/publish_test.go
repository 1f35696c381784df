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
	same := publish(t, publication(m, map[string]string{"a": "1", "b": "1", "c": "1"}))
	if same.Digest != first.Digest || len(same.Uploaded) != 0 || same.Unchanged != 3 {
		t.Errorf("the same again: %+v", same)
	}
	second := publish(t, publication(m, map[string]string{"a": "1", "b": "2", "d": "2"}))
	if diff := cmp.Diff(&bucket.Published{Digest: second.Digest, Uploaded: []string{"b", "d"}, Unchanged: 1, Left: []string{"c"}}, second); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s := read(t, newReader(m), bucket.Request{Path: "p"})
	if content(s) != "a=1 b=2 d=2" || s.Digest != second.Digest || !s.Indexed {
		t.Errorf("%s %+v", content(s), s)
	}
	p := publication(m, map[string]string{"a": "1"})
	p.Prune, p.DryRun = true, true
	if r := publish(t, p); !slices.Equal(r.Deleted, []string{"b", "c", "d"}) || len(m.Keys()) != 5 {
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
				if keys := strings.Join(m.Keys(), " "); keys != "p/.argosy-index.json p/a p/b p/d p/e" {
					t.Fatalf("left behind after step %d: %s", fail, keys)
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

func TestTwoPushes(t *testing.T) {
	m := &buckettest.Memory{}
	publish(t, publication(m, map[string]string{"a": "1"}))
	pushed := false
	m.OnPut = func(key string) error {
		if !pushed {
			pushed = true
			publish(t, publication(m, map[string]string{"a": "theirs"}))
		}
		return nil
	}
	_, err := publication(m, map[string]string{"a": "ours"}).Run(t.Context())
	if err == nil || err.Error() != "s3://b/p: somebody else has pushed at the same time; push again" {
		t.Error(err)
	}
	if got := content(read(t, newReader(m), bucket.Request{Path: "p"})); got != "a=theirs" {
		t.Error(got)
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
