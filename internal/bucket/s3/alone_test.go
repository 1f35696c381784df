package s3

import (
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
)

// TestAlone: a profile that does not exist, and an endpoint of the environment, are nothing to a store that is alone.
func TestAlone(t *testing.T) {
	url := buckettest.InProcess(t, "alone")
	t.Setenv("AWS_PROFILE", "nobody")
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
	t.Setenv("AWS_REGION", "cn-north-1")
	t.Setenv("AWS_CA_BUNDLE", "/nowhere")
	s, err := Open(t.Context(), Config{Bucket: "alone", Region: "us-east-1", Endpoint: url, Anonymous: true, Alone: true, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Put(t.Context(), "x", []byte("hello"), bucket.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := s.Get(t.Context(), o); err != nil || string(data) != "hello" {
		t.Errorf("%q, %v", data, err)
	}
}
