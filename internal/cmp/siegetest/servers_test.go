package siegetest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/cmp/siegetest"
)

// stranger is a client at another address of this machine.
func stranger(t *testing.T, address string) *net.Dialer {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8")
	}
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
}

// TestRepo: a client of the trigger repositories asks for names that do not exist, and begins many fetches whose packs it does not read.
// Another one gets its answers.
func TestRepo(t *testing.T) {
	file, w := newWorld(t)
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("repositories: {s3: [{buckets: [artifacts]}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 16<<20) // packs of it are as large
	for i, x := 0, uint64(1); i < len(noise); i++ {
		x = x*6364136223846793005 + 1442695040888963407
		noise[i] = byte(x >> 56)
	}
	if err := w.Put(t.Context(), "large/noise", string(noise)); err != nil {
		t.Fatal(err)
	}
	p := run(t, siegetest.Run{
		File: file, Memory: siegetest.RepoMemory, Env: w.Environment(),
		Args: []string{"repo", "--listen", "127.0.0.1:0", "--policy", policy, "--anonymous-buckets", "--cache-dir", "none"},
	})
	refs := func(path string) (int, string) {
		t.Helper()
		code, body, err := p.Get(t.Context(), path+"/info/refs?service=git-upload-pack")
		if err != nil {
			t.Fatal(err)
		}
		return code, body
	}
	head := func(path string) string {
		t.Helper()
		code, body := refs(path)
		_, after, ok := strings.Cut(body, "0000") // behind the name of the service
		if code != http.StatusOK || !ok || len(after) < 44 {
			t.Fatalf("%s: %d %q", path, code, body)
		}
		return after[4:44]
	}
	fetch := func(path string) (*http.Request, error) {
		body := fmt.Sprintf("0032want %s\n00000009done\n", head(path))
		return http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+path+"/git-upload-pack", strings.NewReader(body))
	}
	neighbour := func() {
		t.Helper()
		for _, path := range []string{"/appset.git", "/s3/artifacts/good.git"} {
			r, err := fetch(path)
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || res.StatusCode != http.StatusOK || !bytes.HasPrefix(body, []byte("0008NAK\nPACK")) {
				t.Fatalf("%s: %s %.40q %v", path, res.Status, body, err)
			}
		}
	}
	neighbour()
	for i := range 110 {
		if code, body := refs(fmt.Sprintf("/s3/artifacts/none%d.git", i)); code == http.StatusOK {
			t.Errorf("%d %s", code, body)
		}
	}
	neighbour()
	r, err := fetch("/s3/artifacts/large.git")
	if err != nil {
		t.Fatal(err)
	}
	var request bytes.Buffer
	if err := r.Write(&request); err != nil {
		t.Fatal(err)
	}
	dialer := stranger(t, "127.0.0.2")
	for i := range 990 {
		conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = conn.Write(request.Bytes()) // it may have been closed
		if i%100 == 0 {
			neighbour()
		}
	}
	neighbour()
}

// TestEvents: strangers send bodies to /sns that do not end. The webhook answers.
func TestEvents(t *testing.T) {
	file, w := newWorld(t)
	secrets := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(secrets, []byte("a-secret-of-senders\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := run(t, siegetest.Run{
		File: file, Memory: siegetest.EventsMemory, Env: w.Environment(),
		Args: []string{"events", "--listen", "127.0.0.1:0", "--secrets", secrets, "--sns-topic", "arn:aws:sns:eu-central-1:123456789012:t"},
	})
	webhook := func() {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/webhook", strings.NewReader(`{"Event": "s3:TestEvent"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Api-Key", "a-secret-of-senders")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusNoContent {
			t.Fatal(res.Status)
		}
	}
	webhook()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range 500 {
		conn, err := stranger(t, fmt.Sprintf("127.0.0.%d", 2+i%5)).DialContext(ctx, "tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "POST /sns HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{") // it may have been closed
		if i%50 == 0 {
			webhook()
		}
	}
	webhook()
}
