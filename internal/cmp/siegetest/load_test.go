package siegetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/cmp/siegetest"
	"github.com/argosy-cd/argosy/internal/hostile"
)

// bounded demands that a process has not used more memory than so many MiB. The container, with workers, may have all that it is given.
func bounded(t *testing.T, p *siegetest.Program, most int64) {
	t.Helper()
	peaks := p.Peaks()
	if peaks.Process == 0 || peaks.Process > most<<20 {
		t.Errorf("the process had %d MiB at its peak, want at most %d", peaks.Process>>20, most)
	}
}

// together runs f so many times at once, and returns its errors.
func together(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// TestLargeLoad: 200 plugin calls at once, of all honest kinds, get their own answers.
func TestLargeLoad(t *testing.T) {
	hostile.Unraced(t)
	s := start(t, 5*time.Minute)
	err := together(200, func(i int) error { return s.honest[i%len(s.honest)].Check(t.Context(), s.sockets, 1000+i) })
	if err != nil {
		t.Error(err)
	}
	bounded(t, s.Program, 160)
}

// TestLargeCrowd: 1,000 clients with connections of their own fetch a trigger repository and a bucket repository at the same time.
func TestLargeCrowd(t *testing.T) {
	hostile.Unraced(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8")
	}
	file, w := newWorld(t)
	p := bucketRepositories(t, file, w)
	err := together(1000, func(i int) error {
		// Pods have addresses of their own.
		client := clientAt(fmt.Sprintf("127.0.%d.%d", 1+i/200, 1+i%200))
		defer client.CloseIdleConnections()
		for _, path := range []string{"/appset.git", "/s3/artifacts/good.git"} {
			if pack, err := clone(t.Context(), client, p.URL+path); err != nil || !bytes.HasPrefix(pack, []byte("0008NAK\nPACK")) {
				return fmt.Errorf("client %d: %s: %.60q %w", i, path, pack, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("%.3000s", err.Error())
	}
	bounded(t, p, 256)
}

// TestLargeBucket: a path with 10,000 objects is an Application by the plugin, and a Git repository. More than a worker may have is refused.
func TestLargeBucket(t *testing.T) {
	hostile.Unraced(t)
	const n = 10_000
	s := start(t, 5*time.Minute)
	for i := range n {
		for dir, size := range map[string]int{"many": 100, "large": 4000} {
			text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm-%05d}\ndata: {text: %s}\n", i, strings.Repeat("x", size))
			if err := s.world.Put(t.Context(), fmt.Sprintf("%s/%05d.yaml", dir, i), text); err != nil {
				t.Fatal(err)
			}
		}
	}
	request := func(path string) siegetest.Request {
		return siegetest.Request{
			Name: path, Plugin: "s3", Dir: "app", Files: map[string]string{"app/s3-source.yaml": "bucket: artifacts\npath: " + path + "\n"},
		}
	}
	if objects, err := request("large").Send(t.Context(), s.sockets, siegetest.Evil, 0); err == nil ||
		!strings.Contains(siegetest.Message(err), "over the limit of") {
		t.Errorf("%d objects, %v", len(objects), err)
	}
	r := request("many")
	for i := range 2 { // the second time, from the cache
		objects, err := r.Send(t.Context(), s.sockets, siegetest.Good, i)
		if err != nil || len(objects) != n {
			t.Errorf("%d objects, %v", len(objects), err)
		}
	}
	bounded(t, s.Program, 256)

	file, err := built()
	if err != nil {
		t.Fatal(err)
	}
	p := bucketRepositories(t, file, s.world)
	if pack, err := clone(t.Context(), http.DefaultClient, p.URL+"/s3/artifacts/many.git"); err != nil || len(pack) < 1000 {
		t.Errorf("%.100q %v", pack, err)
	}
	bounded(t, p, 256)
}

// bucketRepositories runs argosy repo with the bucket.
func bucketRepositories(t *testing.T, file string, w *siegetest.World) *siegetest.Program {
	t.Helper()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("repositories: {s3: [{buckets: [artifacts]}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return run(t, siegetest.Run{
		File: file, Memory: siegetest.RepoMemory, Env: w.Environment(),
		Args: []string{"repo", "--listen", "127.0.0.1:0", "--policy", policy, "--anonymous-buckets", "--cache-dir", "none"},
	})
}

// clientAt is an HTTP client with an address of its own.
func clientAt(address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
}

// clone does what git clone does, and returns the pack.
func clone(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	refs, err := ask(ctx, client, http.MethodGet, url+"/info/refs?service=git-upload-pack", "")
	if err != nil {
		return nil, err
	}
	_, after, ok := strings.Cut(string(refs), "0000") // behind the name of the service
	if !ok || len(after) < 44 {
		return nil, fmt.Errorf("%q", refs)
	}
	return ask(ctx, client, http.MethodPost, url+"/git-upload-pack", fmt.Sprintf("0032want %s\n00000009done\n", after[4:44]))
}

// ask sends a request, again while the server says that it is busy, as it may on a slow machine.
func ask(ctx context.Context, client *http.Client, method, url, body string) ([]byte, error) {
	for {
		data, busy, err := once(ctx, client, method, url, body)
		if !busy {
			return data, err
		}
	}
}

func once(ctx context.Context, client *http.Client, method, url, body string) (data []byte, busy bool, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, false, err
	}
	res, err := client.Do(r)
	if err != nil {
		return nil, false, err
	}
	defer res.Body.Close()
	data, err = io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", res.Status, data)
	}
	return data, res.StatusCode == http.StatusServiceUnavailable, err
}
