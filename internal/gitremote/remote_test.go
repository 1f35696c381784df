package gitremote

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/gittree"
	"github.com/argosy-cd/argosy/internal/gittree/gittest"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/secret"
)

// gitHTTP serves a directory of repositories by git's own program, to those that allow lets in.
func gitHTTP(t *testing.T, dir string, allow func(*http.Request) bool) (http.Handler, *atomic.Int64) {
	t.Helper()
	var packs atomic.Int64
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(gittest.Run(t, dir, "--exec-path")), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}, InheritEnv: []string{"PATH"},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allow(r) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			packs.Add(1)
		}
		backend.ServeHTTP(w, r)
	}), &packs
}

func everybody(*http.Request) bool { return true }

func remote(t *testing.T) *Remote {
	t.Helper()
	r := &Remote{Dir: filepath.Join(t.TempDir(), "git"), Now: time.Now}
	if err := r.Open(); err != nil {
		t.Fatal(err)
	}
	return r
}

func content(t *testing.T, tree *gittree.Tree, pattern string) map[string]string {
	t.Helper()
	files, err := tree.Files(t.Context(), pattern)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, data := range files {
		out[name] = string(data)
	}
	return out
}

// TestInstead: another URL and another revision are asked for, and what is not to be asked for is not; messages have the name that the
// caller knows.
func TestInstead(t *testing.T) {
	work := gittest.New(t, "f")
	handler, packs := gitHTTP(t, filepath.Dir(work), everybody)
	server := httptest.NewServer(handler)
	defer server.Close()
	r := remote(t)
	r.Instead = func(url, revision string) (string, string, error) {
		if url == "https://git.example.com/x.git" && revision == "release" {
			return server.URL + "/" + filepath.Base(work) + "/.git", "main", nil
		}
		return "", "", errors.New("not at hand")
	}
	head := strings.TrimSpace(gittest.Run(t, work, "rev-parse", "HEAD"))
	if got, err := r.Commit(t.Context(), "https://git.example.com/x.git", "release", nil); got != head || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := r.Tree(t.Context(), "https://git.example.com/x.git", "release", nil); err != nil {
		t.Error(err)
	}
	asked := packs.Load()
	if _, err := r.Tree(t.Context(), "https://user:secret@git.example.com/y.git", "main", nil); err == nil ||
		err.Error() != "repository https://git.example.com/y.git: not at hand" {
		t.Error(err)
	}
	if packs.Load() != asked {
		t.Error("it was asked for")
	}
}

func TestRemote(t *testing.T) {
	work := gittest.New(t, "apps/a/f", "apps/b/f")
	gittest.Run(t, work, "tag", "v1.0.0")
	gittest.Run(t, work, "tag", "-a", "-m", "x", "v1.1.0")
	first := strings.TrimSpace(gittest.Run(t, work, "rev-parse", "HEAD"))
	gittest.Run(t, work, "checkout", "-q", "-b", "feature/x")
	gittest.Write(t, filepath.Join(work, "apps/c/f"), "new")
	gittest.Run(t, work, "add", "--all")
	gittest.Run(t, work, "commit", "-q", "-m", "c")
	gittest.Run(t, work, "checkout", "-q", "main")
	gittest.Run(t, work, "config", "uploadpack.allowReachableSHA1InWant", "true")
	handler, packs := gitHTTP(t, filepath.Dir(work), everybody)
	server := httptest.NewServer(handler)
	defer server.Close()
	url := server.URL + "/" + filepath.Base(work) + "/.git"
	r := remote(t)
	old := map[string]string{"apps/a/f": "content of apps/a/f", "apps/b/f": "content of apps/b/f"}
	for revision, want := range map[string]int{
		"": 2, "HEAD": 2, "main": 2, "refs/heads/main": 2, "v1.0.0": 2, "v1.1.0": 2, "v1.*": 2,
		first: 2, "feature/x": 3,
	} {
		tree, err := r.Tree(t.Context(), url, revision, nil)
		if err != nil {
			t.Errorf("%q: %v", revision, err)
			continue
		}
		got := content(t, tree, "apps")
		if len(got) != want || want == 2 && !cmp.Equal(got, old) {
			t.Errorf("%q: %v", revision, got)
		}
		if dirs, err := tree.Directories(t.Context()); err != nil || len(dirs) != want+1 {
			t.Errorf("%q: %v, %v", revision, dirs, err)
		}
	}
	if n := packs.Load(); n != 2 {
		t.Errorf("two commits were fetched %d times", n)
	}
	for revision, want := range map[string]string{
		"none":    `there is no branch or tag "none"`,
		first[:8]: "a commit must have all of its 40 digits", "v3.*": "none of 2 tags satisfies",
	} {
		if _, err := r.Tree(t.Context(), url, revision, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", revision, err)
		}
	}
	// A branch that moves is a new commit, at once.
	gittest.Write(t, filepath.Join(work, "apps/d/f"), "new")
	gittest.Run(t, work, "add", "--all")
	gittest.Run(t, work, "commit", "-q", "-m", "d")
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			tree, err := r.Tree(t.Context(), url, "main", nil)
			if err != nil {
				t.Error(err)
			} else if got := content(t, tree, "apps"); len(got) != 3 {
				t.Errorf("%v", got)
			}
		})
	}
	wg.Wait()
	if n := packs.Load(); n != 3 {
		t.Errorf("three commits were fetched %d times", n)
	}
	if _, err := r.Tree(t.Context(), server.URL+"/none.git", "", nil); err == nil ||
		!strings.HasSuffix(err.Error(), "there is no such repository, or it may not be read") {
		t.Error(err)
	}
	for url, want := range map[string]string{
		"file:///etc": "not a URL", "/etc": "not a URL", "git://x/y": `scheme "git" is not supported`,
		"ssh://git@127.0.0.1/x": "with sshPrivateKey",
	} {
		if _, err := r.Tree(t.Context(), url, "", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
	// Too much.
	small := remote(t)
	small.MaxBytes = 100
	if _, err := small.Tree(t.Context(), url, "main", nil); err == nil || !strings.Contains(err.Error(), "over the limit for a fetch") {
		t.Error(err)
	}
	if left, _ := os.ReadDir(small.Dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestEviction: commits go some time after they were used last, sooner if there are many or large ones.
func TestEviction(t *testing.T) {
	now := time.Unix(1e9, 0)
	r := remote(t)
	r.Now = func() time.Time { return now }
	using, stop := context.WithCancel(t.Context())
	keep := func(name string, bytes int64) {
		t.Helper()
		dir := filepath.Join(r.Dir, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r.keep(using, name, &snapshot{dir: dir, bytes: bytes})
	}
	for i := range keepMost + 5 {
		keep(fmt.Sprint(i), 1)
	}
	room := func(want int) {
		t.Helper()
		if err := r.makeRoom(); err != nil || len(r.kept) != want {
			t.Errorf("%d kept, want %d (%v)", len(r.kept), want, err)
		}
		if left, _ := os.ReadDir(r.Dir); len(left) != len(r.kept) {
			t.Errorf("%d on disk", len(left))
		}
	}
	room(keepMost + 5) // they are in use
	now = now.Add(keepMin + time.Second)
	r.find(using, "3")
	room(keepMost - 1) // a request that never ends does not keep them for ever
	if r.find(using, "3") == nil {
		t.Error("what was used last has gone")
	}
	now = now.Add(keepFor + time.Second)
	room(0)
	keep("old", 3<<30)
	now = now.Add(keepMin + time.Second)
	keep("new", 1<<30)
	room(1)
	keep("large", 3<<30)
	if err := r.makeRoom(); err == nil || !strings.Contains(err.Error(),
		"take 4096 MiB on disk and 0 MiB of memory, and the limits are 2048 and 128 MiB") {
		t.Error(err)
	}
	// When the requests have ended, nothing keeps what takes the room of others.
	stop()
	for used := true; used; runtime.Gosched() {
		r.mu.Lock()
		used = len(r.kept["large"].users) > 0
		r.mu.Unlock()
	}
	if err := r.makeRoom(); err != nil {
		t.Error(err)
	}
	using = t.Context()
	keep("names", 1)
	r.kept["names"].memory = keepMemory
	if err := r.makeRoom(); err == nil || !strings.Contains(err.Error(), "128 MiB of memory") {
		t.Error(err)
	}
}

// TestRoom: an owner unpacks one commit at a time, and waits if its other requests use large ones. Others do not, and no request waits for
// itself.
func TestRoom(t *testing.T) {
	r := remote(t)
	ctx := func(owner string, request int) context.Context { return For(t.Context(), User{owner, request}) }
	enters := func(ctx context.Context) func() {
		t.Helper()
		leave, err := r.enter(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return leave
	}
	waits := func(ctx context.Context) {
		t.Helper()
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := r.enter(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("it did not wait: %v", err)
		}
	}
	leave := enters(ctx("a", 1))
	waits(ctx("a", 2))
	enters(ctx("b", 1))()
	leave()
	using, stop := context.WithCancel(ctx("a", 1))
	r.keep(using, "large", &snapshot{memory: keepOwner})
	waits(ctx("a", 2))
	enters(ctx("a", 1))()
	enters(ctx("b", 1))()
	entered := make(chan struct{})
	go func() {
		enters(ctx("a", 2))()
		close(entered)
	}()
	stop()
	<-entered
	for i := range unpacksAtOnce {
		enters(ctx(fmt.Sprint("c", i), 1))
	}
	waits(ctx("a", 1))
}

// secret is a Secret as the API server has it.
func secretOf(name, kind string, data ...string) manifest.Object {
	encoded := map[string]any{}
	for i := 0; i < len(data); i += 2 {
		encoded[data[i]] = base64.StdEncoding.EncodeToString([]byte(data[i+1]))
	}
	return manifest.Object{"kind": "Secret", "metadata": map[string]any{
		"name":   name,
		"labels": map[string]any{"argocd.argoproj.io/secret-type": kind},
	}, "data": encoded}
}

func parse(_ *testing.T, secrets ...manifest.Object) []Credential { return ParseCredentials(secrets) }

// TestCredentialNeverPrinted: a credential in a log or in an error is not one that is told.
func TestCredentialNeverPrinted(t *testing.T) {
	all := parse(t, secretOf("a", "repository", "url", "https://git.example.com/a", "username", "u", "password", "s3cret", "bearerToken",
		"s3cret", "sshPrivateKey", "s3cret", "tlsClientCertKey", "s3cret", "proxy",
		"http://u:s3cret@proxy", "githubAppPrivateKey", "s3cret", "githubAppID", "1"))
	r := remote(t)
	r.tokens.known = map[githubApp]appToken{all[0].app: {Token: secret.New("s3cret")}}
	for _, value := range []any{all, all[0], &all[0], all[0].app, r.tokens.known} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, "s3cret") ||
				strings.Contains(text, hex.EncodeToString([]byte("s3cret"))) {
				t.Errorf("%s of %T: %s", verb, value, text)
			}
		}
	}
}

// TestCredentialID: what differs in anything is another credential.
func TestCredentialID(t *testing.T) {
	seen := map[string]string{(*Credential)(nil).id(): "none"}
	for _, key := range []string{
		"username", "password", "bearerToken", "sshPrivateKey", "tlsClientCertData", "tlsClientCertKey",
		"insecure", "proxy", "noProxy", "project", "githubAppPrivateKey", "githubAppID", "githubAppInstallationID",
		"githubAppEnterpriseBaseUrl",
	} {
		value := map[string]string{"insecure": "true", "githubAppID": "1", "githubAppInstallationID": "1"}[key]
		if value == "" {
			value = "x"
		}
		c := parse(t, secretOf("a", "repository", "url", "https://git.example.com/a", key, value))[0]
		if other := seen[c.id()]; other != "" {
			t.Errorf("%s is as %s", key, other)
		}
		seen[c.id()] = key
	}
}

func TestFindCredential(t *testing.T) {
	all := parse(t,
		secretOf("a", "repository", "url", "https://git.example.com/team/web.git", "username", "u", "password", "1"),
		secretOf("b", "repository", "url", "https://git.example.com/team/web", "username", "u", "password", "2", "project", "team"),
		secretOf("c", "repository", "url", "https://git.example.com/team/plain", "proxy", "http://proxy"),
		secretOf("d", "repo-creds", "url", "https://git.example.com", "username", "u", "password", "3"),
		secretOf("e", "repo-creds", "url", "https://git.example.com/team", "username", "u", "password", "4"),
		secretOf("f", "repo-creds", "url", "git@git.example.com:team", "sshPrivateKey", "5"),
		secretOf("g", "repository", "url", "https://git.example.com/other/x", "password", "6", "project", "other"),
		secretOf("h", "repository", "url", "oci://x", "type", "helm"),
	)
	for _, c := range []struct{ url, project, want string }{
		{"https://git.example.com/team/web", "", "1"},
		{"https://git.example.com/team/web.git", "team", "2"},
		{"https://git.example.com/team/web.git", "other", "1"},
		{"https://git.example.com/team/plain", "", "4"},
		{"https://git.example.com/team/any", "", "4"},
		{"https://git.example.com/any", "", "3"},
		{"https://git.example.com.evil.test/any", "", ""},
		{"https://git.example.com@evil.test/any", "", ""},
		{"http://git.example.com/any", "", ""},
		{"git@git.example.com:team/x.git", "", "5"},
		{"ssh://git@git.example.com/team/x", "", "5"},
		{"https://git.example.com/other/x", "other", "6"},
		{"https://git.example.com/other/x", "team", "3"},
		// As Argo CD has it: without case, with user, port and query.
		{"https://git.example.com/TEAM/web.GIT", "team", "2"},
		{"https://git.example.com/team/web?x=", "team", "4"},
		{"https://git.example.com/team/web.git?x=", "team", "4"},
		{"https://git.example.com/team/web/", "team", "4"},
		{"https://git.example.com:443/team/web", "team", "3"},
		{"https://me@git.example.com/team/web", "team", ""},
		{"ssh://git@git.example.com:22/team/x", "", ""},
		{"other@git.example.com:team/x", "", ""},
	} {
		got := ""
		if found := FindCredential(all, c.url, c.project); found != nil {
			got = found.password.Reveal() + found.sshKey.Reveal()
		}
		if got != c.want {
			t.Errorf("%s for %q: %q, want %q", c.url, c.project, got, c.want)
		}
	}
	if c := FindCredential(all, "https://git.example.com/team/plain", ""); c.proxy.Reveal() != "http://proxy" {
		t.Error("the proxy of the repository is lost")
	}
	bad := parse(t, secretOf("x", "repository", "url", "https://127.0.0.1:1/y", "githubAppID", "s3cret"),
		manifest.Object{"metadata": map[string]any{"name": "y"}, "data": map[string]any{"url": "%"}})
	_, err := remote(t).Tree(t.Context(), "https://127.0.0.1:1/y", "", FindCredential(bad, "https://127.0.0.1:1/y", ""))
	if err == nil || !strings.HasSuffix(err.Error(), "Secret x: data.githubAppID: not a number") {
		t.Error(err)
	}
}

// TestUsersDoNotShare: a URL with a password in it does not open the repository to those who ask without.
func TestUsersDoNotShare(t *testing.T) {
	work := gittest.New(t, "f")
	entered, release := make(chan struct{}, 100), make(chan struct{})
	handler, _ := gitHTTP(t, filepath.Dir(work), func(r *http.Request) bool {
		_, password, _ := r.BasicAuth()
		if password == "s3cret" {
			entered <- struct{}{}
			<-release
		}
		return password == "s3cret"
	})
	server := httptest.NewServer(handler)
	defer server.Close()
	plain := server.URL + "/" + filepath.Base(work) + "/.git"
	r := remote(t)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := r.Tree(t.Context(), strings.Replace(plain, "http://", "http://u:s3cret@", 1), "main", nil); err != nil {
				t.Error(err)
			}
		})
	}
	<-entered
	wg.Go(func() {
		if _, err := r.Tree(t.Context(), plain, "main", nil); err == nil {
			t.Error("the repository of others")
		}
	})
	close(release)
	wg.Wait()
}

// TestBomb: a small pack that becomes large is refused before it is unpacked.
func TestBomb(t *testing.T) {
	work := gittest.New(t, "f")
	gittest.Write(t, filepath.Join(work, "zeros"), strings.Repeat("\x00", maxObject+1))
	gittest.Run(t, work, "add", "--all")
	gittest.Run(t, work, "commit", "-q", "-m", "zeros")
	handler, _ := gitHTTP(t, filepath.Dir(work), everybody)
	server := httptest.NewServer(handler)
	defer server.Close()
	r := remote(t)
	if _, err := r.Tree(t.Context(), server.URL+"/"+filepath.Base(work)+"/.git", "main", nil); err == nil ||
		!strings.Contains(err.Error(), "an object in it ") || !strings.Contains(err.Error(), "over the limit") {
		t.Error(err)
	}
}

func FuzzCheckPack(f *testing.F) {
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x31x\x9c\x4b\x04\x00\x00\x62\x00\x62"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := checkPack(bytes.NewReader(data)); err != nil && strings.Contains(err.Error(), "\x00") {
			t.Error(err)
		}
	})
}

// TestHTTPS: user and password, a CA of Argo CD's, and errors without secrets.
func TestHTTPS(t *testing.T) {
	work := gittest.New(t, "f")
	handler, _ := gitHTTP(t, filepath.Dir(work), func(r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		return user == "u" && password == "s3cret"
	})
	server := httptest.NewTLSServer(handler)
	defer server.Close()
	url := server.URL + "/" + filepath.Base(work) + "/.git"
	r := remote(t)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	r.CA = func(_ context.Context, host string) ([]byte, error) {
		if host != "127.0.0.1" {
			return nil, fmt.Errorf("asked for %s", host)
		}
		return certificate, nil
	}
	with := func(password string, more ...string) *Credential {
		return FindCredential(parse(t, secretOf("a", "repository", append([]string{"url", url, "username", "u", "password", password},
			more...)...)), url, "")
	}
	if tree, err := r.Tree(t.Context(), url, "main", with("s3cret")); err != nil || len(content(t, tree, "f")) != 1 {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		credential *Credential
		want       string
	}{
		// What was fetched for others is not for everybody.
		"none":  {nil, "the server requires credentials"},
		"wrong": {with("wr0ng"), "the server requires credentials"},
	} {
		if _, err := r.Tree(t.Context(), url, "main", c.credential); err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.CA = nil
	if _, err := r.Tree(t.Context(), url, "main", with("s3cret")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
	if _, err := r.Tree(t.Context(), url, "main", with("s3cret", "insecure", "true")); err != nil {
		t.Error(err)
	}
	withUser := strings.Replace(url, "https://", "https://u:wr0ng@", 1)
	if _, err := r.Tree(t.Context(), withUser, "main", nil); err == nil || strings.Contains(err.Error(), "wr0ng") {
		t.Error(err)
	}
}

// TestGitHubApp against a server that checks the app's signature as GitHub does, and gives a token once.
func TestGitHubApp(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	work := gittest.New(t, "f")
	git, _ := gitHTTP(t, filepath.Dir(work), func(r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		return user == "x-access-token" && password == "token-1"
	})
	var given atomic.Int64
	now := time.Unix(1_800_000_000, 0)
	mux := http.NewServeMux()
	mux.Handle("/", git)
	mux.HandleFunc("POST /api/v3/app/installations/42/access_tokens", func(w http.ResponseWriter, r *http.Request) {
		if err := checkJWT(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), &key.PublicKey, now); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"token": "token-%d", "expires_at": %q}`, given.Add(1), now.Add(time.Hour).UTC().Format(time.RFC3339))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	url := server.URL + "/" + filepath.Base(work) + "/.git"
	text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	app := func(installation, key string) *Credential {
		return FindCredential(parse(t, secretOf("a", "repo-creds", "url", server.URL, "githubAppID", "7", "githubAppInstallationID",
			installation, "githubAppPrivateKey", key, "githubAppEnterpriseBaseUrl", server.URL+"/api/v3")), url, "")
	}
	r := remote(t)
	r.Now = func() time.Time { return now }
	for range 3 {
		if _, err := r.Tree(t.Context(), url, "main", app("42", text)); err != nil {
			t.Fatal(err)
		}
	}
	if given.Load() != 1 {
		t.Errorf("%d tokens", given.Load())
	}
	now = now.Add(56 * time.Minute)
	if _, err := r.Tree(t.Context(), url, "main", app("42", text)); err == nil || given.Load() != 2 { // token-2 is not let in
		t.Errorf("%v, %d tokens", err, given.Load())
	}
	if _, err := r.Tree(t.Context(), url, "main", app("43", text)); err == nil ||
		!strings.Contains(err.Error(), "GitHub App 7: no token for installation 43: 401") {
		t.Error(err)
	}
	if _, err := r.Tree(t.Context(), url, "main", app("42", "s3cret")); err == nil ||
		!strings.HasSuffix(err.Error(), "GitHub App 7: its private key is not PEM") {
		t.Error(err)
	}
}

func checkJWT(token string, key *rsa.PublicKey, now time.Time) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return fmt.Errorf("%d parts", len(parts))
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature); err != nil {
		return err
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return err
	}
	var claims struct{ Iat, Exp, Iss int64 }
	if err := json.Unmarshal(payload, &claims); err != nil {
		return err
	}
	if claims.Iss != 7 || claims.Iat >= now.Unix() || claims.Exp <= now.Unix() || claims.Exp-claims.Iat > 600 {
		return fmt.Errorf("%+v", claims)
	}
	return nil
}

// TestSSH against an SSH server that runs git's own program.
func TestSSH(t *testing.T) {
	work := gittest.New(t, "f")
	_, hostKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	host, err := ssh.NewSignerFromKey(hostKey)
	if err != nil {
		t.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	client, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	address := sshServer(t, host, client)
	url := "ssh://git@" + address + work + "/.git"
	r := remote(t)
	known := knownhosts.Line([]string{address}, host.PublicKey()) + "\n"
	r.KnownHosts = func(context.Context) ([]byte, error) { return []byte(known), nil }
	credential := FindCredential(parse(t, secretOf("a", "repository", "url", url, "sshPrivateKey", string(pem.EncodeToMemory(block)))), url,
		"")
	if tree, err := r.Tree(t.Context(), url, "main", credential); err != nil || len(content(t, tree, "f")) != 1 {
		t.Fatal(err)
	}
	known = ""
	if _, err := r.Tree(t.Context(), url, "main", credential); err == nil ||
		!strings.HasSuffix(err.Error(), "add it to argocd-ssh-known-hosts-cm") {
		t.Error(err)
	}
	known = knownhosts.Line([]string{address}, client) + "\n"
	if _, err := r.Tree(t.Context(), url, "main", credential); err == nil ||
		!strings.HasSuffix(err.Error(), "is not the one in argocd-ssh-known-hosts-cm") {
		t.Error(err)
	}
	credential.insecure = true
	if _, err := r.Tree(t.Context(), url, "main", credential); err != nil {
		t.Error(err)
	}
	// A server that says nothing.
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Tree(short, "ssh://git@"+silent.Addr().String()+"/x", "main", credential); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	credential.sshKey = secret.New("s3cret")
	if _, err := r.Tree(t.Context(), url, "main", credential); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

// endingSession is a session that ends with the context of who has opened it, as one over SSH does.
type endingSession struct {
	session
	ctx  context.Context
	refs chan *packp.AdvRefs
}

func (s endingSession) AdvertisedReferencesContext(context.Context) (*packp.AdvRefs, error) {
	select {
	case refs := <-s.refs:
		return refs, nil
	case <-s.ctx.Done():
		return nil, net.ErrClosed
	}
}

// TestSharedSessionEnds: who shares the session of somebody who leaves asks with its own.
func TestSharedSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Remote{}
		want := packp.NewAdvRefs()
		answers := make(chan *packp.AdvRefs)
		var group sync.WaitGroup
		ask := func(ctx context.Context, check func(*packp.AdvRefs, error)) {
			group.Go(func() {
				check(r.advertised(ctx, endingSession{ctx: ctx, refs: answers}, "ssh://git@example.com/x", nil))
			})
			synctest.Wait()
		}
		first, leave := context.WithCancel(t.Context())
		ask(first, func(_ *packp.AdvRefs, err error) {
			if err == nil {
				t.Error("who has left has references")
			}
		})
		for range 3 {
			ask(t.Context(), func(refs *packp.AdvRefs, err error) {
				if refs != want || err != nil {
					t.Errorf("who has stayed: %v", err)
				}
			})
		}
		leave()
		synctest.Wait()
		select {
		case answers <- want:
		default:
			t.Error("nobody has asked again")
		}
		group.Wait()
	})
}

// sshServer lets a key run git-upload-pack.
func sshServer(t *testing.T, host ssh.Signer, allowed ssh.PublicKey) string {
	t.Helper()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(allowed.Marshal()) {
			return nil, fmt.Errorf("unknown key")
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serveSSH(c, config)
		}
	}()
	return l.Addr().String()
}

func serveSSH(c net.Conn, config *ssh.ServerConfig) {
	conn, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	defer conn.Close()
	go ssh.DiscardRequests(requests)
	for n := range channels {
		channel, requests, err := n.Accept()
		if err != nil {
			return
		}
		go func() {
			for request := range requests {
				if request.Type != "exec" {
					_ = request.Reply(false, nil)
					continue
				}
				_ = request.Reply(true, nil)
				cmd := exec.Command("sh", "-c", string(request.Payload[4:]))
				cmd.Stdout = channel
				in, _ := cmd.StdinPipe()
				go func() { _, _ = io.Copy(in, channel); in.Close() }()
				_ = cmd.Run()
				_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, 0})
				channel.Close()
			}
		}()
	}
}

// TestRedirects: a redirect on the same server is followed, one to another server is not, and the other never sees a credential.
func TestRedirects(t *testing.T) {
	work := gittest.New(t, "f")
	handler, _ := gitHTTP(t, filepath.Dir(work), everybody)
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		handler.ServeHTTP(w, r)
	}))
	defer other.Close()
	path := "/" + filepath.Base(work) + "/.git"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/renamed"):
			http.Redirect(w, r, strings.Replace(r.URL.String(), "/renamed", path, 1), http.StatusMovedPermanently)
		case strings.HasPrefix(r.URL.Path, "/away"):
			http.Redirect(w, r, other.URL+strings.Replace(r.URL.String(), "/away", path, 1), http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/half") && strings.HasSuffix(r.URL.Path, "/git-upload-pack"):
			http.Redirect(w, r, other.URL+strings.Replace(r.URL.String(), "/half", path, 1), http.StatusTemporaryRedirect)
		default:
			r.URL.Path = strings.Replace(r.URL.Path, "/half", path, 1)
			handler.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	c := &Credential{username: "u", password: secret.New("s3cret")}
	if _, err := remote(t).Tree(t.Context(), server.URL+"/renamed", "main", c); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/away", "/half"} {
		_, err := remote(t).Tree(t.Context(), server.URL+path, "main", c)
		if err == nil || !strings.Contains(err.Error(), "redirect") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if asked.Load() != 0 {
		t.Error("the other server was asked")
	}
	if _, err := remote(t).Tree(t.Context(), server.URL+path+"?x=", "main", c); err == nil ||
		!strings.Contains(err.Error(), "must not have a query") {
		t.Error(err)
	}
}

// TestLinkLocal: a repository at an address of the link, where clouds serve the credentials of a machine, is not asked; nor is one to which
// another server redirects. The message is one line and names the repository.
func TestLinkLocal(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key := &Credential{sshKey: secret.New(string(pem.EncodeToMemory(block))), insecure: true}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.1.1/x", http.StatusFound)
	}))
	defer server.Close()
	const reason = "169.254.1.1 is a link-local address, from which nothing is fetched"
	for url, c := range map[string]struct {
		credential *Credential
		want       string
	}{
		"https://169.254.1.1/x.git":          {nil, reason},
		"http://169.254.1.1/x.git":           {nil, reason},
		"https://[::ffff:169.254.1.1]/x.git": {nil, reason},
		"https://[fe80::1]/x.git":            {nil, "fe80::1 is a link-local address, from which nothing is fetched"},
		"ssh://git@169.254.1.1/x.git":        {key, reason},
		"git@169.254.1.1:x.git":              {key, reason},
		server.URL + "/x.git":                {nil, "it redirects to http://169.254.1.1, and redirects to another server are refused"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // there is no route to such an address on some machines
		_, err := remote(t).Tree(ctx, url, "main", c.credential)
		_, again := remote(t).Commit(ctx, url, "main", c.credential)
		cancel()
		for _, err := range []error{err, again} {
			if err == nil || !strings.HasPrefix(err.Error(), "repository "+giturl.Redact(url)+": ") || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
}

// TestProxy: Git goes by way of the proxies of the environment, and of the repository's Secret before those.
func TestProxy(t *testing.T) {
	var other atomic.Int64
	unused := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	defer unused.Close()
	work := gittest.New(t, "f")
	handler, _ := gitHTTP(t, filepath.Dir(work), everybody)
	proxy := httptest.NewServer(handler)
	defer proxy.Close()
	url := "http://git.example.invalid/" + filepath.Base(work) + "/.git"
	for name, c := range map[string]struct {
		env        string
		credential *Credential
	}{
		"environment": {"http_proxy=" + proxy.URL, nil},
		"Secret":      {"HTTP_PROXY=" + unused.URL, &Credential{proxy: secret.New(proxy.URL)}},
	} {
		r := remote(t)
		r.Env = environ.New(c.env)
		if _, err := r.Tree(t.Context(), url, "main", c.credential); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if other.Load() != 0 {
		t.Error("the other proxy was used")
	}
}
