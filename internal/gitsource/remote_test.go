package gitsource

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// gitHTTP serves a directory of repositories by git's own program, to those that allow lets in.
func gitHTTP(t *testing.T, dir string, allow func(*http.Request) bool) (http.Handler, *atomic.Int64) {
	t.Helper()
	var packs atomic.Int64
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(runGit(t, dir, "--exec-path")), "git-http-backend"),
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

func content(t *testing.T, tree *Tree, pattern string) map[string]string {
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

func TestRemote(t *testing.T) {
	work := newRepository(t, "apps/a/f", "apps/b/f")
	runGit(t, work, "tag", "v1.0.0")
	runGit(t, work, "tag", "-a", "-m", "x", "v1.1.0")
	first := strings.TrimSpace(runGit(t, work, "rev-parse", "HEAD"))
	runGit(t, work, "checkout", "-q", "-b", "feature/x")
	write(t, filepath.Join(work, "apps/c/f"), "new")
	runGit(t, work, "add", "--all")
	runGit(t, work, "commit", "-q", "-m", "c")
	runGit(t, work, "checkout", "-q", "main")
	runGit(t, work, "config", "uploadpack.allowReachableSHA1InWant", "true")
	handler, packs := gitHTTP(t, filepath.Dir(work), everybody)
	server := httptest.NewServer(handler)
	defer server.Close()
	url := server.URL + "/" + filepath.Base(work) + "/.git"
	r := remote(t)
	old := map[string]string{"apps/a/f": "content of apps/a/f", "apps/b/f": "content of apps/b/f"}
	for revision, want := range map[string]int{"": 2, "HEAD": 2, "main": 2, "refs/heads/main": 2, "v1.0.0": 2, "v1.1.0": 2, "v1.*": 2, first: 2, "feature/x": 3} {
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
	for revision, want := range map[string]string{"none": `there is no branch or tag "none"`, first[:8]: "a commit must have all of its 40 digits", "v3.*": "none of 2 tags satisfies"} {
		if _, err := r.Tree(t.Context(), url, revision, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", revision, err)
		}
	}
	// A branch that moves is a new commit, at once.
	write(t, filepath.Join(work, "apps/d/f"), "new")
	runGit(t, work, "add", "--all")
	runGit(t, work, "commit", "-q", "-m", "d")
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
	if _, err := r.Tree(t.Context(), server.URL+"/none.git", "", nil); err == nil || !strings.HasSuffix(err.Error(), "there is no such repository, or it may not be read") {
		t.Error(err)
	}
	for url, want := range map[string]string{"file:///etc": "not a URL", "/etc": "not a URL", "git://x/y": `scheme "git" is not supported`, "ssh://git@127.0.0.1/x": "there is no SSH key for it"} {
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

// TestEviction: commits go some time after they were used last.
func TestEviction(t *testing.T) {
	now := time.Unix(1e9, 0)
	r := remote(t)
	r.Now = func() time.Time { return now }
	for i := range keepMost + 5 {
		dir := filepath.Join(r.Dir, fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r.keep(fmt.Sprint(i), &snapshot{dir: dir})
	}
	if len(r.kept) != keepMost+5 {
		t.Errorf("%d kept of those that may be in use", len(r.kept))
	}
	now = now.Add(keepMin + time.Second)
	r.find("3")
	r.keep("new", &snapshot{dir: filepath.Join(r.Dir, "new")})
	if r.find("3") == nil || len(r.kept) > keepMost {
		t.Errorf("%d kept", len(r.kept))
	}
	now = now.Add(keepFor + time.Second)
	r.keep("newer", &snapshot{dir: filepath.Join(r.Dir, "newer")})
	if len(r.kept) != 1 {
		t.Errorf("%d kept", len(r.kept))
	}
	if left, _ := os.ReadDir(r.Dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// secret is a Secret as the API server has it.
func secret(name, kind string, data ...string) manifest.Object {
	encoded := map[string]any{}
	for i := 0; i < len(data); i += 2 {
		encoded[data[i]] = base64.StdEncoding.EncodeToString([]byte(data[i+1]))
	}
	return manifest.Object{"kind": "Secret", "metadata": map[string]any{"name": name, "labels": map[string]any{"argocd.argoproj.io/secret-type": kind}}, "data": encoded}
}

func parse(t *testing.T, secrets ...manifest.Object) []Credential {
	t.Helper()
	all, err := ParseCredentials(secrets)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFindCredential(t *testing.T) {
	all := parse(t,
		secret("a", "repository", "url", "https://git.example.com/team/web.git", "username", "u", "password", "1"),
		secret("b", "repository", "url", "https://git.example.com/team/web", "username", "u", "password", "2", "project", "team"),
		secret("c", "repository", "url", "https://git.example.com/team/plain", "proxy", "http://proxy"),
		secret("d", "repo-creds", "url", "https://git.example.com", "username", "u", "password", "3"),
		secret("e", "repo-creds", "url", "https://git.example.com/team", "username", "u", "password", "4"),
		secret("f", "repo-creds", "url", "git@git.example.com:team", "sshPrivateKey", "5"),
		secret("g", "repository", "url", "https://git.example.com/other/x", "password", "6", "project", "other"),
		secret("h", "repository", "url", "oci://x", "type", "helm"),
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
	} {
		got := ""
		if found := FindCredential(all, c.url, c.project); found != nil {
			got = found.password + found.sshKey
		}
		if got != c.want {
			t.Errorf("%s for %q: %q, want %q", c.url, c.project, got, c.want)
		}
	}
	if c := FindCredential(all, "https://git.example.com/team/plain", ""); c.proxy != "http://proxy" {
		t.Error("the proxy of the repository is lost")
	}
	_, err := ParseCredentials([]manifest.Object{secret("x", "repository", "url", "https://x/y", "githubAppID", "s3cret"), {"metadata": map[string]any{"name": "y"}, "data": map[string]any{"url": "%"}}})
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "Secret x: data.githubAppID: not a number") {
		t.Error(err)
	}
}

// TestHTTPS: user and password, a CA of Argo CD's, and errors without secrets.
func TestHTTPS(t *testing.T) {
	work := newRepository(t, "f")
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
		return FindCredential(parse(t, secret("a", "repository", append([]string{"url", url, "username", "u", "password", password}, more...)...)), url, "")
	}
	if tree, err := r.Tree(t.Context(), url, "main", with("s3cret")); err != nil || len(content(t, tree, "f")) != 1 {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		credential *Credential
		want       string
	}{
		// What was fetched for others is not for everybody.
		"none":  {nil, "it wants credentials"},
		"wrong": {with("wr0ng"), "it wants credentials"},
	} {
		if _, err := r.Tree(t.Context(), url, "main", c.credential); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "wr0ng") {
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
	work := newRepository(t, "f")
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
		return FindCredential(parse(t, secret("a", "repo-creds", "url", server.URL, "githubAppID", "7", "githubAppInstallationID", installation, "githubAppPrivateKey", key, "githubAppEnterpriseBaseUrl", server.URL+"/api/v3")), url, "")
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
	if _, err := r.Tree(t.Context(), url, "main", app("43", text)); err == nil || !strings.Contains(err.Error(), "GitHub App 7: no token for installation 43: 401") {
		t.Error(err)
	}
	if _, err := r.Tree(t.Context(), url, "main", app("42", "s3cret")); err == nil || !strings.HasSuffix(err.Error(), "GitHub App 7: its private key is not PEM") {
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
	work := newRepository(t, "f")
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
	credential := FindCredential(parse(t, secret("a", "repository", "url", url, "sshPrivateKey", string(pem.EncodeToMemory(block)))), url, "")
	if tree, err := r.Tree(t.Context(), url, "main", credential); err != nil || len(content(t, tree, "f")) != 1 {
		t.Fatal(err)
	}
	known = ""
	if _, err := r.Tree(t.Context(), url, "main", credential); err == nil || !strings.HasSuffix(err.Error(), "add it to argocd-ssh-known-hosts-cm") {
		t.Error(err)
	}
	known = knownhosts.Line([]string{address}, client) + "\n"
	if _, err := r.Tree(t.Context(), url, "main", credential); err == nil || !strings.HasSuffix(err.Error(), "is not the one in argocd-ssh-known-hosts-cm") {
		t.Error(err)
	}
	credential.insecure = true
	if _, err := r.Tree(t.Context(), url, "main", credential); err != nil {
		t.Error(err)
	}
	credential.sshKey = "s3cret"
	if _, err := r.Tree(t.Context(), url, "main", credential); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
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
