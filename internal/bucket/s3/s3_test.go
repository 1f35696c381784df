package s3

import (
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
)

func open(t testing.TB, endpoint string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Bucket: "test", Endpoint: endpoint, MaxBackoff: time.Millisecond})
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
	// It stores objects as files.
	buckettest.Contract(t, open(t, buckettest.Versity(t, "test")), "empty element", "long")
}
