package buckettest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/bucket"
)

// Contract checks that a store keeps what package bucket relies on. cannot lists odd keys that the server behind it
// refuses to store.
func Contract(t *testing.T, w bucket.Writer, cannot ...string) {
	put := func(t *testing.T, key, content string) bucket.Object {
		t.Helper()
		o, err := w.Put(t.Context(), key, []byte(content), bucket.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	list := func(t *testing.T, prefix string) bucket.Listing {
		t.Helper()
		l, err := w.List(t.Context(), prefix, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	t.Run("odd keys", func(t *testing.T) {
		keys := map[string]string{
			"space": "odd/a b/c d.yaml", "plus": "odd/a+b%2B.yaml", "unicode": "odd/ümlaut/日本.yaml",
			"punctuation":   "odd/!*'();:@&=$,[]~#?.yaml",
			"empty element": "odd//x.yaml", "dots": "odd/a..b/.hidden.yaml", "percent": "odd/%zz%20.yaml",
			"long": "odd/" + strings.Repeat("x", 1024-len("odd/.yaml")) + ".yaml", "amp": "odd/a&amp;<b>.yaml",
		}
		for _, name := range cannot {
			if _, ok := keys[name]; !ok {
				t.Fatalf("no odd key is named %q", name)
			}
			delete(keys, name)
		}
		want := map[string]bool{}
		for _, key := range keys {
			put(t, key, key)
			want[key] = true
		}
		got := map[string]bool{}
		for _, o := range list(t, "odd/").Objects {
			got[o.Key] = true
			if data, err := w.Get(t.Context(), o); err != nil || string(data) != o.Key {
				t.Errorf("%q: %q, %v", o.Key, data, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
	t.Run("pages", func(t *testing.T) {
		const n = 1203
		for i := range n {
			put(t, fmt.Sprintf("pages/%04d", i), "x")
		}
		l := list(t, "pages/")
		if len(l.Objects) != n || l.Pages != 2 {
			t.Errorf("%d objects in %d pages", len(l.Objects), l.Pages)
		}
		for i, o := range l.Objects {
			if want := fmt.Sprintf("pages/%04d", i); o.Key != want || o.Size != 1 || o.ETag == "" || o.Modified.IsZero() {
				t.Fatalf("%d: %+v, want %s", i, o, want)
			}
		}
		if _, err := w.List(t.Context(), "pages/", 1000); err == nil || !strings.Contains(err.Error(), "more than 1000 objects") {
			t.Errorf("over the limit: %v", err)
		}
	})
	t.Run("prefix", func(t *testing.T) {
		put(t, "prefix/demo/a", "1")
		put(t, "prefix/demo-2/a", "1")
		if l := list(t, "prefix/demo/"); len(l.Objects) != 1 || l.Objects[0].Key != "prefix/demo/a" {
			t.Errorf("%+v", l)
		}
		if l := list(t, "prefix/demo"); len(l.Objects) != 2 {
			t.Errorf("%+v", l)
		}
		if l := list(t, "prefix/none/"); len(l.Objects) != 0 || l.Pages != 1 {
			t.Errorf("%+v", l)
		}
	})
	t.Run("empty object", func(t *testing.T) {
		put(t, "zero/x", "")
		o := list(t, "zero/").Objects[0]
		if data, err := w.Get(t.Context(), o); err != nil || len(data) != 0 || o.Size != 0 {
			t.Errorf("%+v %q %v", o, data, err)
		}
	})
	t.Run("changes", func(t *testing.T) {
		old := put(t, "changes/a", "old")
		gone := put(t, "changes/b", "gone")
		put(t, "changes/a", "new")
		if err := w.Delete(t.Context(), "changes/b", "changes/never-there"); err != nil {
			t.Fatal(err)
		}
		for _, o := range []bucket.Object{old, gone} {
			if data, err := w.Get(t.Context(), o); !errors.Is(err, bucket.ErrChanged) {
				t.Errorf("%s: %q, %v", o.Key, data, err)
			}
		}
		l := list(t, "changes/")
		if len(l.Objects) != 1 || l.Objects[0].ETag == old.ETag {
			t.Errorf("%+v", l)
		}
	})
	t.Run("conditions", func(t *testing.T) {
		first, err := w.Put(t.Context(), "if/x", []byte("1"), bucket.Condition{New: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Put(t.Context(), "if/x", []byte("2"), bucket.Condition{New: true}); !errors.Is(err, bucket.ErrChanged) {
			t.Errorf("new over old: %v", err)
		}
		if _, err := w.Put(t.Context(), "if/x", []byte("2"), bucket.Condition{ETag: first.ETag}); err != nil {
			t.Errorf("over what was there: %v", err)
		}
		if _, err := w.Put(t.Context(), "if/x", []byte("3"), bucket.Condition{ETag: first.ETag}); !errors.Is(err, bucket.ErrChanged) {
			t.Errorf("over something else: %v", err)
		}
	})
	t.Run("sum", func(t *testing.T) {
		put(t, "sum/x", "content")
		if sum, err := w.Sum(t.Context(), "sum/x"); err != nil || sum != bucket.Sum([]byte("content")) {
			t.Errorf("%q, %v", sum, err)
		}
		if sum, err := w.Sum(t.Context(), "sum/none"); err != nil || sum != "" {
			t.Errorf("%q, %v", sum, err)
		}
	})
}
