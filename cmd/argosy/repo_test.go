package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
)

// TestRepo runs the command, asks it with Git and stops it.
func TestRepo(t *testing.T) {
	reader, writer := io.Pipe()
	buckettest.Environment(t)
	s3 := buckettest.InProcess(t, "artifacts")
	t.Setenv("AWS_ENDPOINT_URL_S3", s3)
	put, err := http.NewRequest(http.MethodPut, s3+"/artifacts/apps/demo/cm.yaml", strings.NewReader("a: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.DefaultClient.Do(put); err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("projects: []\nrepositories: {s3: [{buckets: [artifacts], prefixes: [apps]}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	std := stdio{out: io.Discard, err: writer, env: []string{"APPSET_REFRESH_INTERVAL=1h", "ARGOSY_POLICY=" + policy, "ARGOSY_CACHE_DIR=none"}, now: time.Now}
	go func() { ended <- execute(ctx, std, []string{"repo", "--listen", "127.0.0.1:0"}) }()
	first, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	m := regexp.MustCompile(`^serving (http://127\.0\.0\.1:\d+)/appset\.git, a tick every 1h0m0s\n$`).FindStringSubmatch(first)
	if m == nil {
		t.Fatalf("%q", first)
	}
	url := m[1]
	heads := map[string]bool{}
	for _, path := range []string{"/appset.git", "/appset.git", "/every/24h/team-a.git", "/s3/artifacts/apps/demo.git"} {
		out, err := exec.Command("git", "ls-remote", url+path, "main").CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", path, err, out)
		}
		heads[strings.Fields(string(out))[0]] = true
	}
	if len(heads) != 3 {
		t.Errorf("%v", heads)
	}
	for _, path := range []string{"/s3/artifacts/other.git", "/s3/other/apps/demo.git", "/s3/artifacts/apps/../x.git", "/s3/artifacts.git", "/s3/artifacts/apps"} {
		if out, err := exec.Command("git", "ls-remote", url+path).CombinedOutput(); err == nil || !strings.Contains(string(out), "not found") {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
	page := ""
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ok\n", "/": ""} {
		response, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusOK || want != "" && string(body) != want {
			t.Errorf("%s: %s %q", path, response.Status, body)
		}
		if path == "/" {
			page = string(body)
		}
	}
	for h := range heads {
		if !strings.Contains(page, h) {
			t.Errorf("the page does not have %s: %s", h, page)
		}
	}
	stop()
	if code := <-ended; code != exitDone {
		t.Errorf("exit code %d", code)
	}
}
