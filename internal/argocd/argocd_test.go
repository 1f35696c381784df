package argocd_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/argocd"
	"github.com/argosy-cd/argosy/internal/manifest"
)

const app = `{"metadata": {"name": %q, "namespace": "other", "creationTimestamp": null, "finalizers": ["x"]}, "spec": {"project": "default", "source": {"repoURL": "https://x/y", "directory": {"recurse": true, "jsonnet": {}}}, "destination": {"name": "in-cluster"}}, "status": {"health": {}, "sync": {"status": ""}}}`

func answer(names ...string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf(app, name))
	}
	return `{"applications": [` + strings.Join(list, ", ") + `]}`
}

// server answers with one status and body after the other, the last for ever, and keeps the requests.
type server struct {
	answers  []func(w http.ResponseWriter)
	requests []map[string]any
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if r.URL.Path != "/api/v1/applicationsets/generate" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Authorization") != "Bearer t0ken" || json.NewDecoder(r.Body).Decode(&body) != nil {
		http.Error(w, "no", http.StatusTeapot)
		return
	}
	s.requests = append(s.requests, body)
	s.answers[min(len(s.requests), len(s.answers))-1](w)
}

func says(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(status); fmt.Fprint(w, body) }
}

func cut(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "1000")
	fmt.Fprint(w, answer("a")[:50])
}

func engine(t *testing.T, url string) argocd.Engine {
	t.Helper()
	c, err := argocd.New(argocd.Config{Server: url, Token: func() (string, error) { return "t0ken", nil }, After: atOnce})
	if err != nil {
		t.Fatal(err)
	}
	return argocd.Engine{Client: c, Name: "root"}
}

// atOnce is a timer that has fired.
func atOnce(time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return c
}

func TestGenerate(t *testing.T) {
	set := appset.Set{Name: "web", Namespace: "argocd", Spec: map[string]any{"generators": []any{}}, Position: manifest.Position{File: "set.yaml", Line: 3}}
	const asking = `set.yaml:3: ApplicationSet "web": asking the Argo CD API server: `
	for name, c := range map[string]struct {
		answers  []func(http.ResponseWriter)
		want     string // names, or an error
		requests int
	}{
		"two":               {[]func(http.ResponseWriter){says(200, answer("a", "b"))}, "a b", 1},
		"away for a moment": {[]func(http.ResponseWriter){says(503, ""), says(502, "<html>"), cut, says(200, answer("a"))}, "a", 4},
		"away":              {[]func(http.ResponseWriter){says(503, "")}, asking + "503 Service Unavailable", 4},
		"cut off":           {[]func(http.ResponseWriter){cut}, asking + "the answer ends too early: unexpected EOF", 4},
		"refused":           {[]func(http.ResponseWriter){says(400, `{"error": "x", "code": 3, "message": "unable to generate\nApplications"}`)}, asking + "400 Bad Request: unable to generate Applications", 1},
		"no permission":     {[]func(http.ResponseWriter){says(403, `{"message": "permission denied"}`)}, asking + "403 Forbidden: permission denied", 1},
		"sent elsewhere": {[]func(http.ResponseWriter){func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://evil.test/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}}, asking + "307 Temporary Redirect", 1},
		"empty":        {[]func(http.ResponseWriter){says(200, `{}`)}, `set.yaml:3: ApplicationSet "web": no Applications`, 1},
		"not JSON":     {[]func(http.ResponseWriter){says(200, `<html>{`)}, `ApplicationSet "web": the answer of the Argo CD API server`, 1},
		"not a list":   {[]func(http.ResponseWriter){says(200, `{"applications": {}}`)}, `has no list of applications`, 1},
		"a bad item":   {[]func(http.ResponseWriter){says(200, `{"applications": [1]}`)}, `applications[0] is not an object`, 1},
		"the same one": {[]func(http.ResponseWriter){says(200, answer("a", "a"))}, `metadata.name: "a" is the name of another Application`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{answers: c.answers}
			h := httptest.NewServer(s)
			defer h.Close()
			res, err := engine(t, h.URL).Generate(t.Context(), set)
			if len(s.requests) != c.requests {
				t.Errorf("%d requests, want %d", len(s.requests), c.requests)
			}
			if err != nil {
				if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "t0ken") || strings.Contains(err.Error(), "\n") || len(res.Applications) > 0 {
					t.Errorf("%v\nwant %s", err, c.want)
				}
				return
			}
			var names []string
			for _, app := range res.Applications[0] {
				names = append(names, manifest.String(app, "metadata", "name"))
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("got %q", got)
			}
			want := manifest.Object{
				"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "a", "namespace": "argocd", "finalizers": []any{"x"}},
				"spec": map[string]any{"project": "default", "source": map[string]any{"repoURL": "https://x/y", "directory": map[string]any{"recurse": true}}, "destination": map[string]any{"name": "in-cluster"}},
			}
			if diff := cmp.Diff(want, res.Applications[0][0]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			sent := s.requests[0]["applicationSet"].(map[string]any)
			if manifest.String(sent, "kind") != "ApplicationSet" || manifest.String(sent, "metadata", "name") != "web" || manifest.String(sent, "metadata", "namespace") != "argocd" {
				t.Errorf("%v", sent)
			}
		})
	}
}

// TestAllOrNothing: two sets, of which one fails.
func TestAllOrNothing(t *testing.T) {
	s := &server{answers: []func(http.ResponseWriter){says(200, answer("a")), says(400, "")}}
	h := httptest.NewServer(s)
	defer h.Close()
	res, err := engine(t, h.URL).Generate(t.Context(), appset.Set{Spec: map[string]any{}}, appset.Set{Spec: map[string]any{}})
	if err == nil || len(res.Applications) > 0 {
		t.Errorf("%v, %v", res, err)
	}
	if name := manifest.String(s.requests[0], "applicationSet", "metadata", "name"); name != "root" {
		t.Errorf("the name of a bare spec is %q", name)
	}
}

func TestTLS(t *testing.T) {
	h := httptest.NewTLSServer(&server{answers: []func(http.ResponseWriter){says(200, answer("a"))}})
	defer h.Close()
	host := strings.TrimPrefix(h.URL, "https://")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	token := func() (string, error) { return "t0ken", nil }
	set := appset.Set{Spec: map[string]any{}}
	for name, c := range map[string]struct {
		cfg argocd.Config
		ok  bool
	}{
		"its CA":     {argocd.Config{Server: host, CA: ca}, true},
		"a URL":      {argocd.Config{Server: h.URL + "/", CA: ca}, true},
		"insecure":   {argocd.Config{Server: host, Insecure: true}, true},
		"unknown CA": {argocd.Config{Server: host}, false},
		"plaintext":  {argocd.Config{Server: host, Plaintext: true}, false},
	} {
		c.cfg.Token, c.cfg.After = token, atOnce
		client, err := argocd.New(c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (argocd.Engine{Client: client}).Generate(t.Context(), set); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, address := range []string{"", "ftp://x", "https://user:s3cret@x", "https://"} {
		if _, err := argocd.New(argocd.Config{Server: address}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := argocd.New(argocd.Config{Server: "x", CA: []byte("x")}); err == nil {
		t.Error("no certificates in the CA")
	}
}

func TestVersion(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		want   string // or an error
	}{
		"a version":      {says(200, `{"Version": "v3.4.2+abc", "BuildDate": "x"}`), "v3.4.2+abc"},
		"no version":     {says(200, `{}`), "the answer has no version"},
		"a long one":     {says(200, `{"Version": "`+strings.Repeat("3", 200)+`"}`), "the answer has no version"},
		"not JSON":       {says(200, "<html>"), "the answer is not JSON"},
		"too long":       {says(200, `{"x": "`+strings.Repeat("x", 1<<20)+`", "Version": "v3.4.2"}`), "the answer is not JSON"},
		"refused":        {says(403, ""), "403 Forbidden"},
		"sent elsewhere": {func(w http.ResponseWriter) { w.Header().Set("Location", "/x"); w.WriteHeader(http.StatusFound) }, "302 Found"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.URL.Path != "/sub/api/version" || r.Header.Get("Authorization") != "" {
					http.Error(w, "no", http.StatusTeapot)
					return
				}
				c.answer(w)
			}))
			defer s.Close()
			client, err := argocd.New(argocd.Config{Server: s.URL + "/sub/"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.Version(t.Context())
			if err != nil {
				got = strings.TrimPrefix(err.Error(), "asking the Argo CD API server for its version: ")
			}
			if got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}
