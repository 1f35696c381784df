package s3source_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

// TestReads writes down what an application reads, and reads it again.
func TestReads(t *testing.T) {
	sources, err := triggerfile.Parse("s3-source.yaml", []byte(`sources:
- {bucket: one, path: /, endpoint: "http://s3.example.com", forcePathStyle: true, include: ["*.yaml"], exclude: ["x/**"]}
- {bucket: two, path: 'charts/web-${version}.tgz', version: 1.2.3, region: eu-central-1, type: helm, helm: {values: "a: b"}}
- {bucket: two, path: apps, anonymous: true, digest: 'sha256:`+strings.Repeat("0", 64)+`'}
`))
	if err != nil {
		t.Fatal(err)
	}
	r := s3source.Reads{
		Sources: sources, Marks: []bucket.Mark{{Sum: "1"}, {Key: "charts/web-1.2.3.tgz", Sum: "2"}, {Sum: "3"}},
		At: time.UnixMilli(1_700_000_000_123), Project: "p",
	}
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := s3source.DecodeReads(data)
	if err != nil || !got.Same(r) || got.Changed(r.Marks) || !got.At.Equal(r.At) || got.Project != "p" {
		t.Errorf("%v\n%s", err, data)
	}
	var prefixes []string
	for i := range got.Sources {
		prefixes = append(prefixes, got.Prefix(i))
	}
	if diff := cmp.Diff([]string{"", "charts/web-1.2.3.tgz", "apps/"}, prefixes); diff != "" {
		t.Error(diff)
	}
	if got.Sources[0].Keeps("x/a.yaml") || !got.Sources[0].Keeps("a.yaml") {
		t.Error("patterns are lost")
	}
	for text, want := range map[string]string{
		`{`: "unexpected end", `{"sources": []}`: "sources must have 1 to 50 elements",
		`{"sources": [{"bucket": "one", "path": "x", "endpoint": "file:///etc"}]}`:     "endpoint",
		`{"sources": [{"bucket": "one", "path": "x"}], "marks": [["", ""], ["", ""]]}`: "marks must be as many as sources",
		strings.Repeat(" ", s3source.MaxReads+1):                                       "over the limit",
	} {
		if _, err := s3source.DecodeReads([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

func FuzzReads(f *testing.F) {
	f.Add([]byte(`{"sources": [{"bucket": "one", "path": "/", "include": ["*"]}], "marks": [["k", "s"]], "at": 5}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := s3source.DecodeReads(data)
		if err != nil {
			return
		}
		again, err := r.Encode()
		if err != nil {
			return // it has become larger than it may be
		}
		if other, err := s3source.DecodeReads(again); err != nil || !other.Same(r) || other.Changed(r.Marks) {
			t.Errorf("%s became %s: %v", data, again, err)
		}
	})
}
