package fetch

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/tree"
)

func TestChart(t *testing.T) {
	s := newRepository(t, "app 1.0.0", "app 1.2.0", "app 1.10.0", "app 2.0.0-rc.1", "app v3.0.0", "pre 1.0.0-beta")
	for _, tt := range []struct{ name, version, want string }{
		{"app", "1.2.0", "1.2.0"},
		{"app", "1.*", "1.10.0"},
		{"app", "~1.2", "1.2.0"},
		{"app", ">=1.0.0 <2", "1.10.0"},
		{"app", "1.2", "1.2.0"},
		{"app", "", "v3.0.0"},
		{"app", "*", "v3.0.0"},
		{"app", "3.0.0", "v3.0.0"},
		{"app", "2.0.0-rc.1", "2.0.0-rc.1"},
		{"pre", ">0.0.0-0", "1.0.0-beta"},
	} {
		t.Run(tt.name+" "+tt.version, func(t *testing.T) {
			f := newFetcher(t, Config{})
			c, err := f.Chart(t.Context(), s.URL+"/stable/", tt.name, tt.version)
			if err != nil {
				t.Fatal(err)
			}
			if c.Version != tt.want || c.Name != tt.name || !strings.HasPrefix(c.Digest, "sha256:") {
				t.Errorf("got %s %s %s", c.Name, c.Version, c.Digest)
			}
			if diff := cmp.Diff([]string{"Chart.yaml", "templates/a.yaml"}, tree.Names(c.Files)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	f := newFetcher(t, Config{})
	for _, tt := range []struct{ name, version, want string }{
		{"app", "9.*", `none of its 5 versions satisfies "9.*"`},
		{"pre", "", `none of its 1 versions satisfies "*"`},
		{"app", "latest", "not a constraint"},
		{"none", "1.0.0", "no chart of this name"},
	} {
		_, err := f.Chart(t.Context(), s.URL+"/stable", tt.name, tt.version)
		wantError(t, err, fmt.Sprintf("fetching chart %q", tt.name), s.URL+"/stable: ", tt.want)
	}
	if n := s.count("/stable/index.yaml"); n != 11 {
		t.Errorf("the index was requested %d times by 11 Fetchers", n)
	}
}

func TestRepositoryErrors(t *testing.T) {
	f := newFetcher(t, Config{})
	for repository, want := range map[string]string{
		"": "must be set", "file://../x": `scheme "file"`, "s3://bucket/x": `scheme "s3"`, "@none": "helm repo add",
		"alias:none":             "helm repo add",
		"https://u:hunter2@%zz/": "not a URL", "https:///x": "no host",
	} {
		_, err := f.Chart(t.Context(), repository, "x", "1.0.0")
		wantError(t, err, want)
	}
	_, err := f.Chart(t.Context(), "https://127.0.0.1:1", "", "1.0.0")
	wantError(t, err, "name of the chart")
	_, err = f.Artifact(t.Context(), "https://127.0.0.1:1/x", "1.0.0")
	wantError(t, err, "oci://host/path")
}

// TestCache: a second process sends no request for an exact version, and does not read index.yaml again if it is the same.
func TestCache(t *testing.T) {
	s := newRepository(t, "app 1.0.0", "app 1.1.0")
	body := indexOf(nil, "app 1.0.0", "app 1.1.0")
	s.handle("/stable/index.yaml", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(body)
	})
	dir := filepath.Join(t.TempDir(), "deep", "cache")
	for _, version := range []string{"1.0.0", "1.*"} {
		if _, err := newFetcher(t, Config{Dir: dir}).Chart(t.Context(), s.URL+"/stable", "app", version); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	for version, requests := range map[string]int{"1.0.0": 0, "1.1.0": 0, "1.*": 1} {
		s.reset()
		c, err := newFetcher(t, Config{Dir: dir}).Chart(t.Context(), s.URL+"/stable", "app", version)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Files) != 2 || s.count("") != requests {
			t.Errorf("%s: %d files after %d requests", version, len(c.Files), s.count(""))
		}
	}

	s.Close()
	f := newFetcher(t, Config{Dir: dir, Offline: true})
	if _, err := f.Chart(t.Context(), s.URL+"/stable/", "app", "1.1.0"); err != nil {
		t.Error(err)
	}
	for _, version := range []string{"1.2.0", "1.*"} {
		_, err := f.Chart(t.Context(), s.URL+"/stable", "app", version)
		want := fmt.Sprintf(`chart "app" %s of %s/stable: not in the cache, and offline`, version, s.URL)
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := f.File(t.Context(), "https://127.0.0.1:1/x")
	wantError(t, err, "file https://127.0.0.1:1/x: files are not cached, and this is offline")
	_, err = f.Artifact(t.Context(), "oci://127.0.0.1:1/x", "1.0.0")
	wantError(t, err, "artifact oci://127.0.0.1:1/x 1.0.0: not in the cache, and offline")
}

// TestDamagedCache: a blob or a reference that is not what it should be is fetched again, and repaired.
func TestDamagedCache(t *testing.T) {
	for _, pattern := range []string{"blobs/*", "refs/*", "indexes/*"} {
		s := newRepository(t, "app 1.0.0")
		dir := t.TempDir()
		get := func() *Chart {
			t.Helper()
			c, err := newFetcher(t, Config{Dir: dir}).Chart(t.Context(), s.URL+"/stable", "app", "1.0.0")
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		want := get()
		names, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, name := range names {
			if err := os.WriteFile(name, []byte("{damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, get()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pattern, diff)
		}
		s.reset()
		get()
		if s.count("") != 0 {
			t.Errorf("%s: not repaired", pattern)
		}
	}
}

// TestUnsafeCache: a directory that others own or may write to is not believed.
func TestUnsafeCache(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"mode":  func(dir string) error { return os.Chmod(dir, 0o777) },
		"owner": func(dir string) error { return os.Chown(dir, 65534, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := change(dir); err != nil {
				t.Skip(err) // only root gives directories away
			}
			testUnsafeCache(t, dir)
		})
	}
}

func testUnsafeCache(t *testing.T, dir string) {
	s := newRepository(t, "app 1.0.0")
	var notes []string
	f := newFetcher(t, Config{Dir: dir, Note: func(line string) { notes = append(notes, line) }})
	if _, err := f.Chart(t.Context(), s.URL+"/stable", "app", "1.0.0"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"the cache " + dir + " is not used: it must be a directory that belongs to this user and that nobody else may write to",
		"fetching the index of " + s.URL + "/stable", "fetching chart app 1.0.0 from " + s.URL + "/stable",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBadAnswers(t *testing.T) {
	const archivePath = "/stable/charts/app-1.0.0.tgz"
	html := []byte("\n<!DOCTYPE html><html><body>Sign in</body></html>")
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	bytesOf := func(data []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) }
	}
	for name, tt := range map[string]struct {
		path    string
		handler http.HandlerFunc
		want    string
	}{
		"no index": {"/stable/index.yaml", status(http.StatusNotFound), "index.yaml: 404 Not Found"},
		"outage":   {"/stable/index.yaml", status(http.StatusServiceUnavailable), "index.yaml: 503 Service Unavailable"},
		"private": {
			"/stable/index.yaml", status(http.StatusUnauthorized),
			`index.yaml: 401 Unauthorized; no credentials are configured, add them with "helm repo add"`,
		},
		"html index":     {"/stable/index.yaml", bytesOf(html), "an HTML page instead of an index"},
		"not yaml":       {"/stable/index.yaml", bytesOf([]byte("a: [")), "not the index of a Helm repository"},
		"yaml of others": {"/stable/index.yaml", bytesOf([]byte("a: b")), "it has no entries"},
		"no address":     {"/stable/index.yaml", bytesOf([]byte("entries: {app: [{version: 1.0.0}]}")), "no address for version 1.0.0"},
		"null entries":   {"/stable/index.yaml", bytesOf([]byte("entries: {app: [null]}")), "none of its 1 versions"},
		"other scheme": {
			"/stable/index.yaml", bytesOf([]byte("entries: {app: [{version: 1.0.0, urls: ['file:///etc/passwd']}]}")),
			`scheme "file" is not supported`,
		},
		"wrong digest": {
			"/stable/index.yaml", bytesOf(indexOf(map[string][]byte{"app 1.0.0": []byte("x")}, "app 1.0.0")),
			"the index says sha256:2d7116",
		},
		"no archive":        {archivePath, status(http.StatusNotFound), archivePath + ": 404 Not Found"},
		"forbidden archive": {archivePath, status(http.StatusForbidden), archivePath + ": 403 Forbidden"},
		"html archive":      {archivePath, bytesOf(html), "an HTML page instead of an archive"},
		"not gzip":          {archivePath, bytesOf([]byte("hello")), "not a gzip file"},
		"half gzip":         {archivePath, bytesOf(packed(t, "app", "1.0.0")[:100]), "unexpected EOF"},
		"name with ..":      {archivePath, bytesOf(tarball(t, tar.Header{Name: "app/../../x", Size: 1})), "not a name below the root"},
		"absolute name":     {archivePath, bytesOf(tarball(t, tar.Header{Name: "/etc/passwd", Size: 1})), "not a name below the root"},
		"link": {archivePath, bytesOf(tarball(t, tar.Header{
			Name: "app/x", Typeflag: tar.TypeSymlink,
			Linkname: "/etc/passwd",
		})), "symbolic link"},
		"bomb":        {archivePath, bytesOf(tarball(t, tar.Header{Name: "app/x", Size: 31 << 20})), "times the size of the archive"},
		"not a chart": {archivePath, bytesOf(tarball(t, tar.Header{Name: "app/x", Size: 1})), "no Chart.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRepository(t, "app 1.0.0")
			if tt.path == archivePath {
				s.serve("/stable/index.yaml", indexOf(nil, "app 1.0.0"))
			}
			s.handle(tt.path, tt.handler)
			dir := t.TempDir()
			f := newFetcher(t, Config{Dir: dir})
			_, err := f.Chart(t.Context(), s.URL+"/stable", "app", "1.0.0")
			wantError(t, err, `fetching chart "app" 1.0.0 from `+s.URL+"/stable: ", tt.want)
			if kept, _ := filepath.Glob(filepath.Join(dir, "blobs", "*")); len(kept) > 0 {
				t.Error("it was kept")
			}
			n := s.count("")
			_, again := f.Chart(t.Context(), s.URL+"/stable", "app", "1.0.0")
			if again == nil || again.Error() != err.Error() || s.count("") != n {
				t.Errorf("requested again: %v", again)
			}
		})
	}
}

func TestTooLarge(t *testing.T) {
	s := newServer(t)
	s.handle("/announced", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "99999999")
	})
	s.handle("/chunked", func(w http.ResponseWriter, _ *http.Request) {
		chunk := make([]byte, 1<<20)
		for range 18 {
			_, _ = w.Write(chunk)
			w.(http.Flusher).Flush()
		}
	})
	f := newFetcher(t, Config{})
	for _, path := range []string{"/announced", "/chunked"} {
		_, err := f.File(t.Context(), s.URL+path)
		wantError(t, err, "fetching file "+s.URL+path, "over the limit of 16 MiB")
	}
}

func TestRetry(t *testing.T) {
	for name, tt := range map[string]struct {
		fail     func(w http.ResponseWriter)
		requests int
	}{
		"429 at once": {func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 2},
		"429 later": {func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "10")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 2},
		"429 hours": {func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "7200")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 1},
		"502": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, 2},
		"503 date": {func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, 2},
		"504": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) }, 2},
		"500": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, 1},
		"cut off": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("half"))
			panic(http.ErrAbortHandler)
		}, 2},
		"reset": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			var once sync.Once
			s.handle("/x", func(w http.ResponseWriter, _ *http.Request) {
				failed := false
				once.Do(func() { failed = true })
				if failed {
					tt.fail(w)
					return
				}
				_, _ = w.Write([]byte("content"))
			})
			data, err := newFetcher(t, Config{}).File(t.Context(), s.URL+"/x")
			if ok := tt.requests == 2; ok != (err == nil) || ok && string(data) != "content" {
				t.Errorf("%q, %v", data, err)
			}
			if n := s.count("/x"); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	s := newServer(t)
	s.handle("/x", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	f := newFetcher(t, Config{})
	var waited []time.Duration
	f.wire.wait = func(_ context.Context, d time.Duration) bool { waited = append(waited, d); return true }
	_, err := f.File(t.Context(), s.URL+"/x")
	wantError(t, err, "503 Service Unavailable")
	if diff := cmp.Diff([]time.Duration{7 * time.Second}, waited); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSilence: a server that stops sending ends a fetch.
func TestSilence(t *testing.T) {
	s := newServer(t)
	done := make(chan struct{})
	defer close(done)
	s.handle("/x", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("half"))
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-done:
		}
	})
	f := newFetcher(t, Config{})
	f.wire.idle = time.Millisecond
	_, err := f.File(t.Context(), s.URL+"/x")
	wantError(t, err, "the server sent nothing")
}

// TestOneFetch: callers at the same time, and later ones, share one fetch. One that leaves does not end it.
func TestOneFetch(t *testing.T) {
	s := newRepository(t, "app 1.0.0")
	started, release := make(chan struct{}), make(chan struct{})
	body := indexOf(nil, "app 1.0.0")
	s.handle("/stable/index.yaml", func(w http.ResponseWriter, _ *http.Request) {
		close(started)
		<-release
		_, _ = w.Write(body)
	})
	f := newFetcher(t, Config{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := f.Chart(context.Background(), s.URL+"/stable", "app", "1.0.0"); err != nil {
				t.Error(err)
			}
		})
	}
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Chart(ctx, s.URL+"/stable", "app", "1.0.0"); err == nil {
		t.Error("a caller that left got an answer")
	}
	close(release)
	wg.Wait()
	if _, err := f.Chart(t.Context(), s.URL+"/stable", "app", "1.*"); err != nil {
		t.Error(err)
	}
	if n, m := s.count("/stable/index.yaml"), s.count("/stable/charts/app-1.0.0.tgz"); n != 1 || m != 1 {
		t.Errorf("%d requests for the index, %d for the archive", n, m)
	}
}

func TestVendored(t *testing.T) {
	dir := t.TempDir()
	add := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	add("app-1.0.0.tgz", packed(t, "app", "1.0.0"))
	add("team/app-1.1.0.tgz", packed(t, "app", "1.1.0"))
	add("team/app-extra-9.0.0.tgz", packed(t, "app-extra", "9.0.0"))
	add("charts.example.com/stable/app-2.0.0.tgz", packed(t, "app", "2.0.0"))
	add("broken-1.0.0.tgz", []byte("x"))
	add("app-notaversion.tgz", []byte("x"))
	f := newFetcher(t, Config{Charts: dir, Offline: true})
	for _, tt := range []struct{ repository, version, want string }{
		{"https://other.example.com", "1.0.0", "1.0.0"},
		{"https://other.example.com", "1.*", "1.1.0"},
		{"https://other.example.com", "", "1.1.0"},
		{"https://charts.example.com/x", "", "2.0.0"},
		{"registry.example.com/team", "1.0.0", "1.0.0"},
	} {
		c, err := f.Chart(t.Context(), tt.repository, "app", tt.version)
		if err != nil || c.Version != tt.want || len(c.Files) != 2 {
			t.Errorf("%s %s: %v, %v", tt.repository, tt.version, c, err)
		}
	}
	_, err := f.Chart(t.Context(), "https://other.example.com", "app", "2.0.0")
	wantError(t, err, "not in the cache, and offline")
	_, err = f.Chart(t.Context(), "https://other.example.com", "broken", "1.0.0")
	wantError(t, err, "reading broken-1.0.0.tgz", "not a gzip file")
	_, err = newFetcher(t, Config{Charts: filepath.Join(dir, "none")}).Chart(t.Context(), "https://127.0.0.1:1", "app", "1.0.0")
	wantError(t, err, "listing the charts")
}

func TestFile(t *testing.T) {
	s := newServer(t)
	s.handle("/v.yaml", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("token") != "hunter2" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte("a: b"))
	})
	f := newFetcher(t, Config{})
	for range 2 {
		data, err := f.File(t.Context(), s.URL+"/v.yaml?token=hunter2")
		if err != nil || !bytes.Equal(data, []byte("a: b")) {
			t.Errorf("%q, %v", data, err)
		}
	}
	if s.count("") != 1 {
		t.Error("requested twice")
	}
	_, err := f.File(t.Context(), s.URL+"/none?token=hunter2")
	wantError(t, err, s.URL+"/none: 404 Not Found")
	_, err = f.File(t.Context(), strings.Replace(s.URL, "http://", "http://u:hunter2@", 1)+"/v.yaml")
	wantError(t, err, "403 Forbidden; the server refused the credentials")
	for _, address := range []string{"ftp://x/y", "/etc/passwd", "https://", "file:///etc/passwd"} {
		_, err := f.File(t.Context(), address)
		wantError(t, err, "https or http URL")
	}
	_, err = f.File(t.Context(), "http://127.0.0.1:1/x")
	wantError(t, err, "fetching file http://127.0.0.1:1/x: ", "connection refused")
}
