package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/environ"
)

// TestRepoTLS fetches with Git over TLS, with a user, and takes a certificate that is renewed.
func TestRepoTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, users := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "users")
	issue := func() {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
			BasicConstraintsValid: true,
		}
		cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		for file, block := range map[string]*pem.Block{
			certFile: {Type: "CERTIFICATE", Bytes: cert},
			keyFile:  {Type: "PRIVATE KEY", Bytes: private},
		} {
			if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	issue()
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
	policy := filepath.Join(dir, "policy.yaml")
	for file, text := range map[string]string{users: "argocd:secret\n", policy: "repositories: {s3: [{buckets: [artifacts]}]}\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reader, writer := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	std := stdio{Out: io.Discard, Err: writer, Env: environ.New("ARGOSY_CACHE_DIR=none"), Now: time.Now}
	go func() {
		ended <- execute(ctx, std, []string{
			"repo", "--listen", "127.0.0.1:0", "--tls-cert", certFile, "--tls-key", keyFile, "--users",
			users, "--policy", policy,
		})
	}()
	first, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	m := regexp.MustCompile(`address=(127\.0\.0\.1:\d+) tls=true`).FindStringSubmatch(first)
	if m == nil {
		t.Fatalf("%q", first)
	}
	git := func(user string) (string, error) {
		cmd := exec.Command("git", "-c", "http.sslCAInfo="+certFile, "ls-remote", "https://"+user+m[1]+"/s3/artifacts/apps/demo.git")
		cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_SSL_CAINFO="+certFile)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for range 2 {
		if out, err := git("argocd:secret@"); err != nil || !strings.Contains(out, "refs/heads/main") {
			t.Errorf("%v\n%s", err, out)
		}
		if out, err := git("argocd:wrong@"); err == nil {
			t.Errorf("with a wrong password: %s", out)
		}
		if out, err := git(""); err == nil {
			t.Errorf("without a user: %s", out)
		}
		issue()
	}
	stop()
	if code := <-ended; code != exitDone {
		t.Errorf("exit code %d", code)
	}
}

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
	if err := os.WriteFile(policy, []byte("repositories: {s3: [{buckets: [artifacts], prefixes: [apps]}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	std := stdio{Out: io.Discard, Err: writer, Env: environ.New(
		"APPSET_REFRESH_INTERVAL=1h", "ARGOSY_POLICY="+policy,
		"ARGOSY_CACHE_DIR=none",
	), Now: time.Now}
	go func() {
		ended <- execute(ctx, std, []string{"repo", "--listen", "127.0.0.1:0", "--anonymous-buckets", "--log-format", "json"})
	}()
	lines := bufio.NewReader(reader)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	log := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(lines)
		log <- string(all)
	}()
	m := regexp.MustCompile(`"msg":"listening","address":"(127\.0\.0\.1:\d+)","tls":false,"interval":"1h0m0s"}\n$`).FindStringSubmatch(first)
	if m == nil {
		t.Fatalf("%q", first)
	}
	url := "http://" + m[1]
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
	for _, path := range []string{
		"/s3/artifacts/other.git", "/s3/other/apps/demo.git", "/s3/artifacts/apps/../x.git", "/s3/artifacts.git",
		"/s3/artifacts/apps",
	} {
		if out, err := exec.Command("git", "ls-remote", url+path).CombinedOutput(); err == nil ||
			!strings.Contains(string(out), "not found") {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
	// The client and the log are told what is wrong with a duration.
	const wrong = `there is no such repository: "banana" in its path is not a duration; it must be one such as 90s, 10m or 1h30m`
	if out, err := exec.Command("git", "ls-remote", url+"/every/banana/x.git").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "remote: "+wrong+"\n") {
		t.Errorf("%v\n%s", err, out)
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
	response, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, _ := io.ReadAll(response.Body)
	response.Body.Close()
	for _, want := range []string{
		`argosy_repo_requests_total{code="200",operation="refs",repository="clock"} 3`,
		`argosy_repo_requests_total{code="404",operation="refs",repository="bucket"} 5`,
		"argosy_repo_buckets_failing 0", `argosy_repo_request_seconds_count{operation="upload",repository="bucket"}`,
	} {
		if !strings.Contains(string(metrics), want) {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
	stop()
	if code := <-ended; code != exitDone {
		t.Errorf("exit code %d", code)
	}
	_ = writer.Close()
	text := <-log
	if want := fmt.Sprintf(`"msg":"repository","path":"every/banana/x.git","error":%q}`+"\n", wrong); !strings.Contains(text, want) {
		t.Errorf("the log has no %s", want)
	}
	if !strings.HasSuffix(text, `"msg":"stopped"}`+"\n") {
		t.Errorf("the log does not end with the server: %s", text)
	}
}
