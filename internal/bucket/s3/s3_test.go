package s3

import (
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
)

func open(t testing.TB, endpoint string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Bucket: "test", Endpoint: endpoint, MaxBackoff: time.Millisecond, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestInProcess(t *testing.T) {
	buckettest.Environment(t)
	buckettest.Contract(t, open(t, buckettest.InProcess(t, "test")))
}

func TestVersity(t *testing.T) {
	buckettest.Environment(t)
	s := open(t, buckettest.Versity(t, "test"))
	// It stores objects as files.
	buckettest.Contract(t, s, "empty element", "long")

	// The quick way signs odd keys, too, and is not always replaced by the SDK's.
	l, err := s.List(t.Context(), "odd/", 100)
	if err != nil || len(l.Objects) == 0 {
		t.Fatal(err)
	}
	for _, o := range l.Objects {
		r := s.quick.get(t.Context(), o.Key, o.ETag)
		if r == nil {
			t.Errorf("%q: not read", o.Key)
			continue
		}
		if data, err := content(o, r.Header.Get("ETag"), r.Body); err != nil || string(data) != o.Key {
			t.Errorf("%q: %q, %v", o.Key, data, err)
		}
	}
}
