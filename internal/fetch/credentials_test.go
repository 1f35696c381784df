package fetch

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/secret"
)

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// private lets requests with a password pass to what a path was served with.
func (s *server) private(user, password string) {
	for path, h := range s.handlers {
		s.handlers[path] = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != basic(user, password) {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			h(w, r)
		}
	}
}

func TestRepositoriesYAML(t *testing.T) {
	const login = "  username: u\n  password: hunter2\n"
	const file = ".config/helm/repositories.yaml"
	for name, tt := range map[string]struct {
		entry  func(url string) string // of repositories.yaml
		asked  func(url string) string
		denied bool
	}{
		"same URL": {func(u string) string {
			return entryYAML("x", u+"/stable", login)
		}, func(u string) string { return u + "/stable" }, false},
		"slash": {func(u string) string {
			return entryYAML("x", u+"/stable/", login)
		}, func(u string) string { return u + "/stable" }, false},
		"prefix": {func(u string) string {
			return entryYAML("x", u, login)
		}, func(u string) string { return u + "/stable/" }, false},
		"at": {func(u string) string { return entryYAML("x", u+"/stable", login) }, func(string) string { return "@x" }, false},
		"alias": {func(u string) string {
			return entryYAML("x", u+"/stable", login)
		}, func(string) string { return "alias:x" }, false},
		"in the URL": {func(string) string {
			return ""
		}, func(u string) string { return strings.Replace(u, "://", "://u:hunter2@", 1) + "/stable" }, false},
		"no prefix": {func(u string) string {
			return entryYAML("x", u+"/sta", login)
		}, func(u string) string { return u + "/stable" }, true},
		"wrong password": {func(u string) string {
			return entryYAML("x", u, "  username: u\n  password: hunter22\n")
		}, func(u string) string { return u + "/stable" }, true},
		"other host": {func(string) string {
			return entryYAML("x", "http://127.0.0.1:1", login)
		}, func(u string) string { return u + "/stable" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRepository(t, "app 1.0.0")
			s.private("u", "hunter2")
			f := newFetcher(t, Config{Env: environ.New(homeWith(t, map[string]string{file: tt.entry(s.URL)})...)})
			_, err := f.Chart(t.Context(), tt.asked(s.URL), "app", "1.0.0")
			if tt.denied {
				wantError(t, err, `fetching chart "app" 1.0.0 from `+s.URL+"/stable: index.yaml: 401 Unauthorized")
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRepositoriesPath(t *testing.T) {
	for want, env := range map[string][]string{
		"/a":                           {"HELM_REPOSITORY_CONFIG=/a", "HELM_CONFIG_HOME=/b", "HOME=/h"},
		"/b/repositories.yaml":         {"HELM_CONFIG_HOME=/b", "XDG_CONFIG_HOME=/c", "HOME=/h"},
		"/c/helm/repositories.yaml":    {"XDG_CONFIG_HOME=/c", "HOME=/h"},
		"":                             {"PATH=/bin"},
		"/d/registry/repositories.yml": {"HELM_REPOSITORY_CONFIG=/d/registry/repositories.yml"},
	} {
		if got := New(Config{Env: environ.New(env...)}).repositoriesPath(); got != filepath.FromSlash(want) {
			t.Errorf("%v: got %s, want %s", env, got, want)
		}
	}
}

func TestBrokenRepositoriesYAML(t *testing.T) {
	f := newFetcher(t, Config{Env: environ.New(homeWith(t, map[string]string{".config/helm/repositories.yaml": "repositories: hunter2"})...)})
	_, err := f.Chart(t.Context(), "https://127.0.0.1:1", "app", "1.0.0")
	wantError(t, err, "repositories.yaml: not a list of Helm repositories")
}

// TestCredentialsStay: credentials go to no other host, neither by a redirect nor by an address in the index.
func TestCredentialsStay(t *testing.T) {
	for name, all := range map[string]bool{"to their host": false, "to all hosts": true} {
		t.Run(name, func(t *testing.T) {
			other := newServer(t)
			other.serve("/redirected.tgz", packed(t, "app", "1.0.0"))
			other.serve("/direct.tgz", packed(t, "app", "2.0.0"))
			s := newServer(t)
			s.serve("/index.yaml", []byte("entries: {app: [{version: 1.0.0, urls: [app.tgz]}, {version: 2.0.0, urls: ['"+other.URL+
				"/direct.tgz']}]}"))
			s.handle("/app.tgz", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+"/back.tgz", http.StatusFound)
			})
			other.handle("/back.tgz", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, s.URL+"/again.tgz", http.StatusFound)
			})
			s.handle("/again.tgz", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+"/redirected.tgz", http.StatusFound)
			})
			entry := entryYAML("x", s.URL, "  username: u\n  password: p\n")
			if all {
				entry += "  pass_credentials_all: true\n"
			}
			f := newFetcher(t, Config{Env: environ.New(homeWith(t, map[string]string{".config/helm/repositories.yaml": entry})...)})
			for _, version := range []string{"1.0.0", "2.0.0"} {
				if _, err := f.Chart(t.Context(), s.URL, "app", version); err != nil {
					t.Fatal(err)
				}
			}
			direct := ""
			if all {
				direct = basic("u", "p")
			}
			got := map[string][]string{
				"index": s.authorizations("/index.yaml"), "app": s.authorizations("/app.tgz"), "back": other.authorizations("/back.tgz"),
				"again": s.authorizations("/again.tgz"), "redirected": other.authorizations("/redirected.tgz"),
				"direct": other.authorizations("/direct.tgz"),
			}
			want := map[string][]string{
				"index": {basic("u", "p")}, "app": {basic("u", "p")}, "back": {""}, "again": {""},
				"redirected": {""}, "direct": {direct},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	plain := newRepository(t, "app 1.0.0")
	s := httptest.NewUnstartedServer(plain)
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	for name, tt := range map[string]struct {
		more string
		want string
	}{
		"unknown":  {"", "certificate"},
		"ca":       {"  caFile: CA\n", ""},
		"insecure": {"  insecure_skip_tls_verify: true\n", ""},
		"no ca":    {"  caFile: /none\n", "reading caFile"},
		"no pair":  {"  certFile: CA\n  keyFile: CA\n", "not a certificate and its key"},
	} {
		t.Run(name, func(t *testing.T) {
			env := homeWith(t, map[string]string{"ca.pem": string(ca)})
			file := filepath.Join(strings.TrimPrefix(env[0], "HOME="), "ca.pem")
			more := homeWith(t, map[string]string{"r.yaml": entryYAML("x", s.URL, strings.ReplaceAll(tt.more, "CA", file))})
			env = append(env, "HELM_REPOSITORY_CONFIG="+filepath.Join(strings.TrimPrefix(more[0], "HOME="), "r.yaml"))
			_, err := newFetcher(t, Config{Env: environ.New(env...)}).Chart(t.Context(), s.URL+"/stable", "app", "1.0.0")
			if tt.want != "" {
				wantError(t, err, tt.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	// A redirect must not take away what TLS gave.
	down := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/stable/index.yaml", http.StatusFound))
	defer down.Close()
	_, err := newFetcher(t, Config{Client: down.Client()}).File(t.Context(), down.URL+"/x")
	wantError(t, err, "a redirect from https to http://", "is refused")
}

func TestNetrc(t *testing.T) {
	s := newRepository(t, "app 1.0.0")
	s.private("u", "hunter2")
	env := homeWith(t, map[string]string{".netrc": "machine other login x password y\nmachine 127.0.0.1\n  login u\n  password hunter2\n"})
	if _, err := newFetcher(t, Config{Env: environ.New(env...)}).Chart(t.Context(), s.URL+"/stable", "app", "1.0.0"); err != nil {
		t.Error(err)
	}
	got := parseNetrc("machine a login b password c account d machine a login e macdef x login y default login f password g machine h password")
	if !maps.Equal(map[string]login{"a": {"b", secret.New("c")}}, got) {
		t.Errorf("%v, password of a %q", got, got["a"].password.Reveal())
	}
}

// TestPasswordOfDigits: YAML takes it for a number, and Helm for a password. Whatever it is, it is not printed.
func TestPasswordOfDigits(t *testing.T) {
	for text, want := range map[string]string{"12345678": "12345678", "'12345678'": "12345678", "hunter2": "hunter2", "null": "", "": ""} {
		var r helmRepository
		if err := manifest.Unmarshal([]byte("name: x\npassword: "+text+"\n"), &r); err != nil || r.Password.Reveal() != want {
			t.Errorf("%s: %v, %q", text, err, r.Password.Reveal())
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			if printed := fmt.Sprintf(verb, []any{r, &access{login: login{"u", r.Password}}}); want != "" &&
				strings.Contains(printed, want) {
				t.Errorf("%s: %s", verb, printed)
			}
		}
	}
}

func TestProxy(t *testing.T) {
	s := newServer(t)
	s.serve("/x", []byte("by way of the proxy"))
	f := newFetcher(t, Config{Env: environ.New("http_proxy=" + s.URL)})
	data, err := f.File(t.Context(), "http://charts.example.invalid/x")
	if err != nil || string(data) != "by way of the proxy" {
		t.Errorf("%q, %v", data, err)
	}
}
