package reposerver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/bucket/s3"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/serve"
)

func TestUsers(t *testing.T) {
	known, err := parseUsers("users", []byte("argocd:s3cret:word\n\nother:x\n"))
	if err != nil {
		t.Fatal(err)
	}
	h := authenticate(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}), func() (users, error) { return known, nil })
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
		{"/metrics", "", "", 204},
		{"/metrics/", "", "", 401},
		{"//metrics", "", "", 401},
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
	for text, want := range map[string]string{
		"": "there are no users in it", "x\n": ":1: must be USER:PASSWORD",
		"a:b\n:c\n": ":2: must be USER:PASSWORD",
	} {
		if _, err := parseUsers("users", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMetricsAreOpen: everybody may read metrics, so they name no bucket, no object and no user.
func TestMetricsAreOpen(t *testing.T) {
	buckettest.Environment(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", buckettest.InProcess(t, "artifacts"))
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte("somebody:s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(newServer(t, "repositories: {s3: [{buckets: ['*']}]}\n", Config{Users: file}).Handler())
	t.Cleanup(server.Close)
	get := func(path, user string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			r.SetBasicAuth(user, "s3cret")
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	for _, user := range []string{"somebody", "stranger", ""} {
		get("/s3/artifacts/hidden.git/info/refs?service=git-upload-pack", user)
	}
	code, text := get("/metrics", "")
	if code != http.StatusOK || !strings.Contains(text, `argosy_repo_requests_total{code="401",operation="refs",repository="bucket"} 2`) {
		t.Errorf("%d:\n%s", code, text)
	}
	for _, name := range []string{"artifacts", "hidden", "somebody", "stranger", "s3cret"} {
		if strings.Contains(text, name) {
			t.Errorf("the metrics have %q:\n%s", name, text)
		}
	}
}

// served is a server of clocks, and of everything in an S3 server of its own.
func served(t *testing.T, objects map[string]string) (*Server, *httptest.Server) {
	t.Helper()
	buckettest.Environment(t)
	endpoint := buckettest.InProcess(t, "artifacts")
	t.Setenv("AWS_ENDPOINT_URL_S3", endpoint)
	for name, text := range objects {
		put, err := http.NewRequest(http.MethodPut, endpoint+"/artifacts/"+name, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(put)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	s := newServer(t, "repositories: {s3: [{buckets: ['*']}]}\n", Config{Anonymous: true})
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return s, server
}

// newServer returns a server with a policy.
func newServer(t *testing.T, text string, cfg Config) *Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Interval, cfg.Timeout, cfg.Now, cfg.Policy, cfg.Open = time.Minute, time.Minute, time.Now,
		serve.Watch(file, "the policy", policy.Parse), openBucket
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openBucket opens a bucket of the server that the environment names, without a cache.
func openBucket(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error) {
	store, err := s3.Open(ctx, s3.Config{Bucket: a.Bucket, Now: time.Now})
	if err != nil {
		return nil, err
	}
	return &bucket.Reader{Store: store, Bucket: a.Bucket, ID: store.ID(), Limits: bucket.DefaultLimits}, nil
}

// TestEviction: names that do not exist take no place, and of more buckets than are remembered each is served.
func TestEviction(t *testing.T) {
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

// TestCrowd: a client that begins requests and does not finish them keeps some places busy, and no other client waits for it. Clocks, which
// are open to everybody, do not take the places of buckets.
func TestCrowd(t *testing.T) {
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
		if _, err := io.WriteString(conn,
			"POST /appset.git/git-upload-pack HTTP/1.1\r\nHost: x\r\nGit-Protocol: version=2\r\nContent-Length: 1000\r\n\r\n0014command=fetch\n"); err != nil {
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

// TestPolicyChanges: the policy counts at the time of a request, and one that cannot be read serves nothing.
func TestPolicyChanges(t *testing.T) {
	repos, server := served(t, map[string]string{"p/f": "a: 1\n"})
	file := repos.cfg.Policy.Name()
	for _, step := range []struct {
		text string
		want int
	}{
		{"repositories: {s3: [{buckets: [artifacts]}]}\n", http.StatusOK},
		{"repositories: {s3: [{buckets: [another-one]}]}\n", http.StatusNotFound},
		{"repositories: {s3: [\n", http.StatusServiceUnavailable},
		{"repositories: {s3: [{buckets: [artifacts], prefixes: [p]}]}\n", http.StatusOK},
	} {
		if err := os.WriteFile(file, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		res, err := http.Get(server.URL + "/s3/artifacts/p.git/info/refs?service=git-upload-pack")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != step.want || step.want == http.StatusNotFound && len(repos.open)+len(repos.used) > 0 {
			t.Errorf("%q: %s, remembered %v", step.text, res.Status, repos.used)
		}
	}
}

// TestPage: the page shows what was served last without reading a bucket, and only what the policy allows now.
func TestPage(t *testing.T) {
	repos, server := served(t, map[string]string{"p/f": "a: 1\n", "q/f": "a: 1\n"})
	var asked atomic.Int64
	repos.cfg.Open = func(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error) {
		reader, err := openBucket(ctx, a)
		if err == nil {
			reader.Store = bucket.Observe(reader.Store, func(string, error) { asked.Add(1) })
		}
		return reader, err
	}
	get := func(path string) string {
		t.Helper()
		res, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, res.Status, err)
		}
		return string(body)
	}
	for _, name := range []string{"p", "q"} {
		get("/s3/artifacts/" + name + ".git/info/refs?service=git-upload-pack")
	}
	head, ok := repos.find("s3/artifacts/p.git").Last()
	if !ok {
		t.Fatal("nothing was served")
	}
	asked.Store(0)
	page := get("/")
	for _, want := range []string{"/appset.git", "/s3/artifacts/p.git</code><td><code>" + head.String(), "/s3/artifacts/q.git"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in %s", want, page)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests to buckets", n)
	}
	allowed := "repositories: {s3: [{buckets: [artifacts], prefixes: [p]}]}\n"
	if err := os.WriteFile(repos.cfg.Policy.Name(), []byte(allowed), 0o600); err != nil {
		t.Fatal(err)
	}
	if page := get("/"); !strings.Contains(page, "/s3/artifacts/p.git") || strings.Contains(page, "/s3/artifacts/q.git") {
		t.Errorf("not as the policy says: %s", page)
	}
	// It takes a place, as every request does.
	full := newServer(t, allowed, Config{Anonymous: true})
	full.clockTurns.All, full.clockTurns.Queue = 0, 0
	w := httptest.NewRecorder()
	full.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code == http.StatusOK {
		t.Error("it was answered out of turn")
	}
}

// TestNobodyMayRead: a policy that begins to serve buckets while no flag says who may read them serves none.
func TestNobodyMayRead(t *testing.T) {
	var out strings.Builder
	s := newServer(t, "projects: []\n", Config{Log: serve.Log(&out, "text")})
	if err := os.WriteFile(s.cfg.Policy.Name(), []byte("repositories: {s3: [{buckets: ['*']}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/s3/artifacts/p.git/info/refs?service=git-upload-pack", nil))
	if w.Code != http.StatusNotFound || !strings.Contains(out.String(), "set --users FILE, or --anonymous-buckets") {
		t.Errorf("%d, %s", w.Code, out.String())
	}
	cfg := s.cfg
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "policy.yaml serves buckets (repositories.s3), but no flag") {
		t.Error(err)
	}
	cfg.Anonymous, cfg.Users = true, "users"
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Error(err)
	}
}
