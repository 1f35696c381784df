package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
)

func TestRepoUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte("argocd:s3cret:word\n\nother:x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	users, err := readUsers(file)
	if err != nil {
		t.Fatal(err)
	}
	h := authenticate(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), func() (map[string][sha256.Size]byte, error) { return users, nil })
	for _, c := range []struct {
		path, user, password string
		want                 int
	}{
		{"/s3/b/apps.git/info/refs", "argocd", "s3cret:word", 204},
		{"/s3/b/apps.git/info/refs", "argocd", "wrong", 401},
		{"/s3/b/apps.git/info/refs", "nobody", "", 401},
		{"/s3/b/apps.git/info/refs", "", "", 401},
		{"/s3/b/apps.git/git-upload-pack", "", "", 401},
		{"/S3/b/apps.git/info/refs", "", "", 401},
		{"//s3/b/apps.git/info/refs", "", "", 401},
		{"/", "", "", 401},
		{"/appset.git/info/refs", "", "", 204},
		{"/every/1m/x.git/info/refs", "", "", 204},
		{"/metrics", "", "", 401},
		{"/healthz", "", "", 204},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		if c.user != "" {
			r.SetBasicAuth(c.user, c.password)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%+v: %d", c, w.Code)
		}
	}
	for text, want := range map[string]string{"": "there are no users in it", "x\n": ":1: must be USER:PASSWORD", "a:b\n:c\n": ":2: must be USER:PASSWORD"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readUsers(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestRepoSlowClients checks that a client that does not finish its request loses its connection.
func TestRepoSlowClients(t *testing.T) {
	repos, err := newServedRepositories(stdio{err: io.Discard, now: time.Now}, repoOptions{interval: time.Minute, cacheOptions: cacheOptions{dir: "none", timeout: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := repoHTTP(repoHandler(stdio{err: io.Discard}, repos, newRepoMetrics(repos)), 20*time.Millisecond)
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	for name, begin := range map[string]string{
		"head": "GET /appset.git/info/refs HTTP/1.1\r\nHost: x\r\n",
		"body": "POST /appset.git/git-upload-pack HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n0032want",
	} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, begin); err != nil {
			t.Fatal(err)
		}
		// It ends when the server has lost its patience.
		answer, err := io.ReadAll(conn)
		if err != nil || strings.HasPrefix(string(answer), "HTTP/1.1 200") {
			t.Errorf("%s: %q, %v", name, answer, err)
		}
		conn.Close()
	}
}

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
			SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		}
		cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
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
	std := stdio{out: io.Discard, err: writer, env: []string{"ARGOSY_CACHE_DIR=none"}, now: time.Now}
	go func() {
		ended <- execute(ctx, std, []string{"repo", "--listen", "127.0.0.1:0", "--tls-cert", certFile, "--tls-key", keyFile, "--users", users, "--policy", policy})
	}()
	first, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	m := regexp.MustCompile(`https://(127\.0\.0\.1:\d+)/`).FindStringSubmatch(first)
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
	std := stdio{out: io.Discard, err: writer, env: []string{"APPSET_REFRESH_INTERVAL=1h", "ARGOSY_POLICY=" + policy, "ARGOSY_CACHE_DIR=none"}, now: time.Now}
	go func() { ended <- execute(ctx, std, []string{"repo", "--listen", "127.0.0.1:0", "--anonymous-buckets"}) }()
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
	response, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, _ := io.ReadAll(response.Body)
	response.Body.Close()
	for _, want := range []string{
		`argosy_repo_requests_total{code="200",operation="refs",repository="clock"} 3`, `argosy_repo_requests_total{code="404",operation="refs",repository="bucket"} 5`,
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
}

// served is a server of clocks, and of everything in an S3 server of its own.
func served(t *testing.T, objects map[string]string) (*servedRepositories, *httptest.Server) {
	t.Helper()
	buckettest.Environment(t)
	s3 := buckettest.InProcess(t, "artifacts")
	t.Setenv("AWS_ENDPOINT_URL_S3", s3)
	for name, text := range objects {
		put, err := http.NewRequest(http.MethodPut, s3+"/artifacts/"+name, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(put)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("repositories: {s3: [{buckets: ['*']}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	std := stdio{err: io.Discard, now: time.Now}
	opts := repoOptions{interval: time.Minute, policy: policy, everybody: true, cacheOptions: cacheOptions{dir: "none", timeout: time.Minute}}
	repos, err := newServedRepositories(std, opts)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := repoServer(std, opts, repos)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return repos, server
}

// TestRepoEviction: names that do not exist take no place, and of more buckets than are remembered each is served.
func TestRepoEviction(t *testing.T) {
	objects := map[string]string{"large/f": strings.Repeat("x", 1<<20)}
	for i := range maxServedBuckets + 10 {
		objects[fmt.Sprintf("p%d/f", i)] = "a: 1\n"
	}
	repos, server := served(t, objects)
	refs := func(path string, want int) {
		t.Helper()
		res, err := http.Get(server.URL + path + "/info/refs?service=git-upload-pack")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
	for i := range maxServedBuckets + 10 {
		refs(fmt.Sprintf("/s3/artifacts/none%d.git", i), http.StatusServiceUnavailable)
	}
	if len(repos.open)+len(repos.used) != 0 {
		t.Errorf("what does not exist is remembered: %v", repos.used)
	}
	for range 2 {
		for i := range maxServedBuckets + 10 {
			refs(fmt.Sprintf("/s3/artifacts/p%d.git", i), http.StatusOK)
			refs("/s3/artifacts/p0.git", http.StatusOK) // it is used all the time
		}
	}
	if len(repos.open) != maxServedBuckets || len(repos.used) != maxServedBuckets || repos.open["s3/artifacts/p0.git"] == nil {
		t.Errorf("%d are remembered: %v", len(repos.open), repos.used)
	}
	total := int64(0)
	for path, b := range repos.served() {
		if total += b.Bytes(); b.Bytes() == 0 {
			t.Errorf("%s has nothing", path)
		}
	}
	if total > maxServedBytes {
		t.Errorf("%d bytes", total)
	}
}

// TestRepoCrowd: a client that begins requests and does not finish them keeps some places busy, and no other client waits for it. Clocks, which are open
// to everybody, do not take the places of buckets.
func TestRepoCrowd(t *testing.T) {
	repos, server := served(t, map[string]string{"p/f": "a: 1\n"})

	begin := func(from string) net.Conn {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			if runtime.GOOS == "linux" {
				t.Fatal(err)
			}
			t.Skipf("only Linux has all of 127.0.0.0/8: %v", err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, "POST /appset.git/git-upload-pack HTTP/1.1\r\nHost: x\r\nGit-Protocol: version=2\r\nContent-Length: 1000\r\n\r\n0014command=fetch\n"); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	wait := func(wantInside, wantWaiting int) {
		t.Helper()
		for {
			inside, waiting := repos.clockTurns.Inside()
			if inside > wantInside || waiting > wantWaiting {
				t.Fatalf("%d inside, %d waiting", inside, waiting)
			}
			if inside == wantInside && waiting == wantWaiting {
				return
			}
			runtime.Gosched()
		}
	}
	for range maxAtOnceEach + maxQueueEach {
		begin("127.0.0.2")
	}
	wait(maxAtOnceEach, maxQueueEach)
	// One more is refused, and told when to come again.
	line, err := http.ReadResponse(bufio.NewReader(begin("127.0.0.2")), nil)
	if err != nil || line.StatusCode != http.StatusTooManyRequests || line.Header.Get("Retry-After") == "" {
		t.Errorf("%v, %v", line, err)
	}
	// Others are answered.
	for _, path := range []string{"/appset.git", "/every/1h/x.git", "/s3/artifacts/p.git"} {
		if out, err := exec.Command("git", "ls-remote", server.URL+path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
	// Even several of them together leave buckets alone.
	for i := 3; i < 3+maxAtOnce/maxAtOnceEach-1; i++ {
		for range maxAtOnceEach {
			begin(fmt.Sprintf("127.0.0.%d", i))
		}
	}
	wait(maxAtOnce, maxQueueEach)
	if out, err := exec.Command("git", "ls-remote", server.URL+"/s3/artifacts/p.git").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestConnections: connections over the limits are closed at once.
func TestConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := &limitedListener{Listener: listener, open: map[string]int{}, all: 10, each: 2}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })} //nolint:gosec // a test
	go func() { _ = server.Serve(limited) }()
	defer server.Close()
	ask := func(c net.Conn) string {
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		return strings.TrimSpace(line)
	}
	var open []net.Conn
	for i := range 3 {
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		if got := ask(c); (got == "") != (i == 2) {
			t.Errorf("connection %d: %q", i, got)
		}
	}
	for _, c := range open {
		c.Close()
	}
	for limitedCount(limited) > 0 {
		runtime.Gosched()
	}
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := ask(c); got == "" {
		t.Error("nobody is let in any more")
	}
}

func limitedCount(l *limitedListener) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count + len(l.open)
}
