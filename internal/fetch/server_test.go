package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/tree"
)

// packed is the archive of a chart.
func packed(t testing.TB, name, version string) []byte {
	t.Helper()
	data, err := archive.Pack("x.tgz", []tree.File{
		{Name: name + "/Chart.yaml", Data: []byte("name: " + name + "\nversion: " + version + "\n")},
		{Name: name + "/templates/a.yaml", Data: []byte("a: b\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// tarball is an archive with any entries.
func tarball(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range entries {
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		chunk := make([]byte, 1<<20)
		for left := h.Size; left > 0; left -= int64(len(chunk)) {
			if _, err := w.Write(chunk[:min(left, int64(len(chunk)))]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// server answers requests by path, and counts them.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
	requests []*http.Request
}

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{handlers: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	h := s.handlers[r.URL.Path]
	s.mu.Unlock()
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h(w, r)
}

func (s *server) handle(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[path] = h
}

func (s *server) serve(path string, data []byte) {
	s.handle(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) })
}

// count returns the number of requests for a path, "" is all, since the last reset.
func (s *server) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if path == "" || r.URL.Path == path {
			n++
		}
	}
	return n
}

func (s *server) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// authorizations returns the Authorization headers of requests for a path.
func (s *server) authorizations(path string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, r := range s.requests {
		if r.URL.Path == path {
			out = append(out, r.Header.Get("Authorization"))
		}
	}
	return out
}

// indexOf is an index.yaml with charts, spelled NAME VERSION, at charts/NAME-VERSION.tgz. Their digests are of data.
func indexOf(data map[string][]byte, charts ...string) []byte {
	byName := map[string][]map[string]any{}
	for _, c := range charts {
		name, version, _ := strings.Cut(c, " ")
		entry := map[string]any{"name": name, "version": version, "urls": []string{"charts/" + name + "-" + version + ".tgz"}}
		if d, ok := data[c]; ok {
			entry["digest"] = strings.TrimPrefix(digest(d), digestPrefix)
		}
		byName[name] = append(byName[name], entry)
	}
	out, _ := json.Marshal(map[string]any{"apiVersion": "v1", "entries": byName})
	return out
}

// newRepository serves a repository at /stable with charts, spelled NAME VERSION.
func newRepository(t testing.TB, charts ...string) *server {
	t.Helper()
	s := newServer(t)
	data := map[string][]byte{}
	for _, c := range charts {
		name, version, _ := strings.Cut(c, " ")
		data[c] = packed(t, name, version)
		s.serve("/stable/charts/"+name+"-"+version+".tgz", data[c])
	}
	s.serve("/stable/index.yaml", indexOf(data, charts...))
	return s
}

// newFetcher returns a Fetcher with a home of its own that does not wait between attempts.
func newFetcher(t testing.TB, cfg Config) *Fetcher {
	t.Helper()
	if cfg.Env == (environ.Environ{}) {
		cfg.Env = environ.New("HOME=" + t.TempDir())
	}
	f := New(cfg)
	f.wire.wait = func(context.Context, time.Duration) bool { return true }
	t.Cleanup(func() { f.Close() })
	return f
}

// homeWith returns an environment whose home has files.
func homeWith(t testing.TB, files map[string]string) []string {
	t.Helper()
	home := t.TempDir()
	for name, content := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"HOME=" + home}
}

func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("got %q, want %q in it", err, p)
		}
	}
	if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("more than one line, or a secret: %q", err)
	}
}

func entryYAML(name, url, more string) string {
	return fmt.Sprintf("repositories:\n- name: %s\n  url: %s\n%s", name, url, more)
}
