package scm_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/scm"
	"github.com/argosy-cd/argosy/internal/scm/scmtest"
	"github.com/argosy-cd/argosy/internal/secret"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// objects decodes manifests.
func objects(t testing.TB, text string) scm.Manifests {
	t.Helper()
	docs, err := manifest.Decode("objects.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out scm.Manifests
	for _, d := range docs {
		out = append(out, d.Object)
	}
	return out
}

func newAsker(t testing.TB, bitbucket string) *scm.Asker {
	t.Helper()
	return &scm.Asker{Client: &scm.Client{Now: func() time.Time {
		return noon
	}, Bitbucket: bitbucket}, Objects: objects(t, scmtest.Secret), Namespace: "argocd"}
}

// render renders a set, as Argo CD 3.5 does.
func render(t testing.TB, apis generator.APIs, text string) (*appset.Result, error) {
	t.Helper()
	docs, err := manifest.Decode("set.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	set, _, err := appset.Parse(docs[0])
	if err != nil {
		t.Fatal(err)
	}
	return appset.Generate(context.Background(), appset.Config{APIs: apis, AllowEmpty: true, Version: versions.Newest}, set)
}

// TestCases compares the parameters of all cases with the golden file. The module conformance compares them with Argo CD's own.
func TestCases(t *testing.T) {
	var out bytes.Buffer
	for _, c := range scmtest.Cases() {
		server := scmtest.New(t, c.Provider)
		res, err := render(t, newAsker(t, server.URL), c.Set(server.URL, true))
		if (err != nil) != c.IsError(true) {
			t.Errorf("%s: %v", c.Name, err)
		}
		fmt.Fprintf(&out, "== %s\n", c.Name)
		host := strings.TrimPrefix(server.URL, "http://")
		if err != nil {
			fmt.Fprintln(&out, "error:", strings.ReplaceAll(err.Error(), host, "HOST"))
			continue
		}
		for _, w := range generator.Texts(res.Warnings) {
			if strings.Contains(w, "<no value>") { // of the template, which is one for all
				continue
			}
			fmt.Fprintln(&out, "warning:", strings.ReplaceAll(w, host, "HOST"))
		}
		for _, app := range res.Applications[0] {
			a := manifest.Map(app, "metadata", "annotations")
			fmt.Fprint(&out, manifest.String(app, "metadata", "name"))
			for _, k := range manifest.Keys(a) {
				if a[k] != "<no value>" {
					fmt.Fprintf(&out, " %s=%v", k, a[k])
				}
			}
			fmt.Fprintln(&out)
		}
	}
	golden := filepath.Join("testdata", "cases.golden")
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOlderFields: what a version does not know is ignored, with a warning.
func TestOlderFields(t *testing.T) {
	server := scmtest.New(t, "github")
	docs, err := manifest.Decode("set.yaml",
		[]byte(scmtest.Case{Generator: `scmProvider: {github: {organization: acme, api: $API, excludeArchivedRepos: true, tokenRef: {secretName: scm, key: token}}}`}.Set(server.URL, true)))
	if err != nil {
		t.Fatal(err)
	}
	set, _, err := appset.Parse(docs[0])
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[versions.Version]int{4: 4, 5: 3} {
		res, err := appset.Generate(context.Background(), appset.Config{APIs: newAsker(t, ""), Version: version}, set)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(res.Applications[0]); n != want || strings.Contains(strings.Join(generator.Texts(res.Warnings), "\n"),
			"Argo CD knows it since 3.5") != (version == 4) {
			t.Errorf("%s: %d, %v", version, n, res.Warnings)
		}
	}
}

// question is one to a server that answers like GitHub.
func question(server string) generator.Question {
	spec, _ := json.Marshal(map[string]any{
		"organization": "acme", "api": server,
		"tokenRef": map[string]string{"secretName": "scm", "key": "token"},
	})
	return generator.Question{
		Ask: generator.AskRepositories, Set: generator.SetName{Namespace: "argocd", Name: "set"}, Provider: "github",
		Spec: spec,
	}
}

// TestFaults: an answer that is not whole is an error that says who said what, without the token.
func TestFaults(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server was asked: %s with %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	status := func(code int, body string, header ...string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
			return true
		}
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		want   string
	}{
		"401": {
			status(401, `{"message": "Bad credentials"}`),
			"HOST answered 401 Unauthorized to GET /api/v3/orgs/acme/repos: Bad credentials",
		},
		"403": {status(403, `{"message": "Resource not accessible"}`), "answered 403 Forbidden"},
		"404": {status(404, `{"message": "Not Found"}`), "answered 404 Not Found"},
		"500": {status(500, `<html>`), "answered 500 Internal Server Error"},
		"429": {
			status(429, ``, "Retry-After", "90"),
			"HOST allows no more requests until 2026-03-01T12:01:30Z (429 Too Many Requests)",
		},
		"429 by date":  {status(429, ``, "Retry-After", "Sun, 01 Mar 2026 12:05:00 GMT"), "until 2026-03-01T12:05:00Z"},
		"429 by reset": {status(429, ``, "RateLimit-Reset", "1772366460"), "until 2026-03-01T12:01:00Z"},
		"429 plain":    {status(429, ``), "until 2026-03-01T12:01:00Z"},
		"429 for ever": {status(429, ``, "Retry-After", "99999999"), "until 2026-03-01T13:00:00Z"},
		"403 limit": {
			status(403, `{}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1772366700"),
			"until 2026-03-01T12:05:00Z (403 Forbidden)",
		},
		"403 secondary":    {status(403, `{}`, "Retry-After", "5"), "until 2026-03-01T12:00:05Z"},
		"503":              {status(503, ``, "Retry-After", "7"), "until 2026-03-01T12:00:07Z"},
		"truncated":        {status(200, `[{"id": 1, "name": "we`), "is not what the API documents: unexpected end of JSON input"},
		"other shape":      {status(200, `{"id": "x"}`), "is not what the API documents"},
		"empty":            {status(200, ``), "is empty"},
		"cut off":          {status(200, `[]`, "Content-Length", "500"), "reading the answer"},
		"token in message": {status(400, `{"message": "bad token `+scmtest.Token+`"}`), "contains a secret, so the error is not shown"},
		"elsewhere":        {status(302, ``, "Location", other.URL+"/x"), "redirects to another server are refused"},
		"same page":        {status(200, `[]`, "Link", `<http://x/?page=1>; rel="next"`), "page 1 is followed by page 1"},
		"sign in":          {status(203, `<html>`, "Content-Type", "text/html"), "asks to sign in"},
		"endless": {func(w http.ResponseWriter, r *http.Request) bool {
			block := bytes.Repeat([]byte(" "), 1<<20)
			for r.Context().Err() == nil {
				if _, err := w.Write(block); err != nil {
					break
				}
			}
			return true
		}, "over the limit of 32 MiB"},
		"closed": {func(w http.ResponseWriter, _ *http.Request) bool {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
			return true
		}, "HOST: GET /api/v3/orgs/acme/repos: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			server := scmtest.New(t, "github")
			server.Before(c.answer)
			_, err := newAsker(t, "").Ask(context.Background(), question(server.URL))
			if err == nil {
				t.Fatal("no error")
			}
			text := strings.ReplaceAll(err.Error(), strings.TrimPrefix(server.URL, "http://"), "HOST")
			if !strings.Contains(text, c.want) || strings.Contains(text, scmtest.Token) || strings.Contains(text, "\n") {
				t.Errorf("got %q, want %q in it", text, c.want)
			}
		})
	}
}

// TestSlow: a question ends with its context.
func TestSlow(t *testing.T) {
	server := scmtest.New(t, "github")
	ctx, cancel := context.WithCancel(context.Background())
	server.Before(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
		return true
	})
	if _, err := newAsker(t, "").Ask(ctx, question(server.URL)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRedirect: a redirect to the same server is followed.
func TestRedirect(t *testing.T) {
	server := scmtest.New(t, "github")
	server.Before(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/moved/") || r.URL.Path != "/api/v3/orgs/acme/repos" || r.URL.Query().Get("moved") != "" {
			return false
		}
		http.Redirect(w, r, r.URL.Path+"?moved=yes&"+r.URL.RawQuery, http.StatusMovedPermanently)
		return true
	})
	a, err := newAsker(t, "").Ask(context.Background(), question(server.URL))
	if err != nil || len(a.Repositories) != 5 {
		t.Error(a, err)
	}
}

// TestConditional: what has not changed is asked for with its ETag, and costs no body.
func TestConditional(t *testing.T) {
	server := scmtest.New(t, "github")
	sent := 0
	server.Before(func(w http.ResponseWriter, r *http.Request) bool {
		tag := fmt.Sprintf("%q", r.URL.RequestURI())
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			// As GitHub: no Link header with it.
			w.WriteHeader(http.StatusNotModified)
			return true
		}
		sent++
		return false
	})
	asker := newAsker(t, "")
	first, err := asker.Ask(context.Background(), question(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	full := sent
	second, err := asker.Ask(context.Background(), question(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	if sent != full || full != 3 {
		t.Errorf("%d, then %d bodies", full, sent)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	// Another credential does not see these answers.
	asker.Objects = objects(t, strings.ReplaceAll(scmtest.Secret, scmtest.Token, "another"))
	if _, err := asker.Ask(context.Background(), question(server.URL)); err == nil || !strings.Contains(err.Error(), "401") {
		t.Error(err)
	}
}

// TestCacheControl: a whole answer is used again for as long as its host allows, for the shortest time of its parts, and not for longer than
// five minutes.
func TestCacheControl(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string // of page 1 and the others
		lasts         time.Duration
	}{
		"as GitHub":     {"private, max-age=60, s-maxage=60", "private, max-age=60", time.Minute},
		"one part less": {"max-age=60", "max-age=30", 30 * time.Second},
		"one part none": {"max-age=60", "", 0},
		"not at all":    {"no-store, max-age=60", "max-age=60", 0},
		"ask again":     {"max-age=60, no-cache", "max-age=60", 0},
		"for ever":      {"max-age=99999999", "max-age=99999999", 5 * time.Minute},
		"nonsense":      {"max-age=-5", "max-age=x", 0},
		"old already":   {"max-age=60|50", "max-age=60|50", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			server := scmtest.New(t, "github")
			server.Before(func(w http.ResponseWriter, r *http.Request) bool {
				text, age, _ := strings.Cut(c.second, "|")
				if page := r.URL.Query().Get("page"); page == "" || page == "1" {
					text, age, _ = strings.Cut(c.first, "|")
				}
				w.Header().Set("Cache-Control", text)
				w.Header().Set("Age", age)
				return false
			})
			asker := newAsker(t, "")
			now := noon
			asker.Client.Now = func() time.Time { return now }
			want, err := asker.Ask(context.Background(), question(server.URL))
			if err != nil {
				t.Fatal(err)
			}
			asked := func(at time.Duration) bool {
				server.Requests()
				now = noon.Add(at)
				got, err := asker.Ask(context.Background(), question(server.URL))
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("%v\n%s", err, diff)
				}
				return len(server.Requests()) > 0
			}
			if c.lasts > 0 && asked(c.lasts-time.Second) {
				t.Errorf("asked again within %s", c.lasts)
			}
			if !asked(c.lasts) {
				t.Errorf("not asked again after %s", c.lasts)
			}
			// Another credential does not see the answer, and neither does somebody who may not ask.
			asker.Allow = func(scm.Target) error { return errors.New("no") }
			if _, err := asker.Ask(context.Background(), question(server.URL)); err == nil {
				t.Error("answered to somebody else")
			}
		})
	}
}

// TestCA: a host with a certificate of a private authority is trusted by caRef, and by nothing else.
func TestCA(t *testing.T) {
	for _, c := range []struct{ provider, generator string }{
		{"gitlab", `scmProvider: {gitlab: {group: acme/platform, api: $API, tokenRef: {secretName: scm, key: token}, TLS}}`},
		{"gitlab", `pullRequest: {gitlab: {project: acme/web, api: $API, tokenRef: {secretName: scm, key: token}, TLS}}`},
		{"bitbucketServer", `scmProvider: {bitbucketServer: {project: SHOP, api: $API, bearerToken: {tokenRef: {secretName: scm, key: token}}, TLS}}`},
		{"bitbucketServer", `pullRequest: {bitbucketServer: {project: SHOP, repo: web, api: $API, bearerToken: {tokenRef: {secretName: scm, key: token}}, TLS}}`},
	} {
		server := scmtest.NewTLS(t, c.provider)
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that fail are meant to
		encode := func(der []byte) string {
			return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
		}
		another := newCA(t)
		ca, err := manifest.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "ca", "namespace": "argocd"},
			"data": map[string]any{
				"right": encode(server.Certificate().Raw), "both": encode(another) + encode(server.Certificate().Raw), "wrong": encode(another),
				"broken": "not a certificate",
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for tls, want := range map[string]string{
			"":                                        "certificate",
			"caRef: {configMapName: ca, key: right}":  "",
			"caRef: {configMapName: ca, key: both}":   "",
			"insecure: true":                          "",
			"caRef: {configMapName: ca, key: wrong}":  "certificate",
			"caRef: {configMapName: ca, key: broken}": "certificate",
			"caRef: {configMapName: ca, key: none}":   `the ConfigMap ca has no key "none"`,
			"caRef: {configMapName: other, key: x}":   "the ConfigMap other in namespace argocd is not known",
		} {
			asker := newAsker(t, "")
			asker.Objects = objects(t, scmtest.Secret+"---\n"+string(ca))
			text := scmtest.Case{Generator: strings.Replace(c.generator, ", TLS", strings.TrimSuffix(", "+tls, ", "), 1)}.Set(server.URL, true)
			_, err := render(t, asker, text)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s with %q: %v", c.generator, tls, err)
			}
			if err != nil && len(server.Requests()) > 0 {
				t.Errorf("%q: it was asked", tls)
			}
			server.Requests()
		}
	}
}

// TestPluginCA: a plugin has no caRef, so its certificate must be one that the system trusts.
func TestPluginCA(t *testing.T) {
	asked := false
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	asker := newAsker(t, "")
	asker.Objects = objects(t, scmtest.Secret+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: p}\ndata: {baseUrl: '"+server.URL+
		"', token: '$scm:token', caRef: x}\n")
	_, err := render(t, asker, scmtest.Case{Generator: "plugin: {configMapRef: {name: p}}"}.Set(server.URL, true))
	if err == nil || !strings.Contains(err.Error(), "certificate") || asked {
		t.Error(err)
	}
}

// newCA is a certificate of nobody here.
func newCA(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: noon.AddDate(100, 0, 0), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// TestWait: a host that says wait is not asked before that time; until then the last whole answer counts.
func TestWait(t *testing.T) {
	server := scmtest.New(t, "github")
	asker := newAsker(t, "")
	now := noon
	asker.Client.Now = func() time.Time { return now }
	want, err := asker.Ask(context.Background(), question(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	server.Requests()
	limited := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("page") != "2" {
			return false
		}
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	server.Before(limited)
	for i, requests := range []int{2, 0} { // the second time, nothing is asked
		got, err := asker.Ask(context.Background(), question(server.URL))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "until 2026-03-01T12:01:00Z") ||
			!strings.Contains(got.Warnings[0], "the answer of 2026-03-01T12:00:00Z is used") {
			t.Errorf("%d: %q", i, got.Warnings)
		}
		if diff := cmp.Diff(want.Repositories, got.Repositories); diff != "" || len(server.Requests()) != requests {
			t.Errorf("%d: (-want +got):\n%s", i, diff)
		}
	}
	// A question that was not answered before is an error, and asks nothing, either.
	q := question(server.URL)
	q.CloneProtocol = "https"
	var limit *scm.LimitError
	if _, err := asker.Ask(context.Background(), q); !errors.As(err, &limit) || len(server.Requests()) != 0 {
		t.Error(err)
	}
	now = noon.Add(61 * time.Second)
	server.Before(nil)
	if got, err := asker.Ask(context.Background(), q); err != nil || len(got.Warnings) != 0 {
		t.Error(got, err)
	}
}

// TestRights: what sets may name.
func TestRights(t *testing.T) {
	server := scmtest.New(t, "github")
	for name, c := range map[string]struct {
		change func(*scm.Asker)
		want   string
	}{
		"allowed":     {func(a *scm.Asker) { a.Allowed = []string{"https://other", server.URL} }, ""},
		"not allowed": {func(a *scm.Asker) { a.Allowed = []string{server.URL + "/"} }, "is not one of those that are allowed"},
		"strict":      {func(a *scm.Asker) { a.Strict = true }, ""},
		"strict, plain": {func(a *scm.Asker) {
			a.Strict, a.Objects = true, objects(t, strings.ReplaceAll(scmtest.Secret, "scm-creds", "x"))
		}, "must have the label argocd.argoproj.io/secret-type: scm-creds"},
		"elsewhere": {func(a *scm.Asker) {
			a.Objects = objects(t, strings.ReplaceAll(scmtest.Secret, "namespace: argocd", "namespace: other"))
		}, "the Secret scm in namespace argocd is not known"},
		"refused": {func(a *scm.Asker) {
			a.Allow = func(t scm.Target) error { return fmt.Errorf("no %s", t.Resource) }
		}, "no " + server.URL + "/api/v3/acme"},
	} {
		t.Run(name, func(t *testing.T) {
			server.Requests()
			asker := newAsker(t, "")
			c.change(asker)
			_, err := asker.Ask(context.Background(), question(server.URL))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Error(err)
			}
			if c.want != "" && len(server.Requests()) > 0 {
				t.Error("the server was asked")
			}
		})
	}
}

// TestApp: a GitHub App gets a token of its installation, which is looked for since Argo CD 3.3.
func TestApp(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	server := scmtest.New(t, "github")
	tokens := 0
	server.Before(func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/api/v3/app/installations":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`[{"id": 1, "account": {"login": "other"}}, {"id": 77, "account": {"login": "Acme"}}]`))
		case "/app/installations/77/access_tokens":
			tokens++
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, `{"token": %q, "expires_at": "2026-03-01T13:00:00Z"}`, scmtest.Token)
		default:
			return false
		}
		return true
	})
	app, err := manifest.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "app", "namespace": "argocd"},
		"stringData": map[string]string{"githubAppID": "5", "githubAppPrivateKey": text},
	})
	if err != nil {
		t.Fatal(err)
	}
	asker := newAsker(t, "")
	asker.Objects = objects(t, string(app))
	q := question(server.URL)
	q.Spec, _ = json.Marshal(map[string]string{"organization": "acme", "api": server.URL, "appSecretName": "app"})
	for range 2 {
		if a, err := asker.Ask(context.Background(), q); err != nil || len(a.Repositories) != 5 {
			t.Fatal(err)
		}
	}
	if tokens != 1 {
		t.Errorf("%d tokens", tokens)
	}
	// Without the Secret, a token of the user does, and nothing else.
	known := asker.Objects
	asker.Objects = objects(t, "")
	if _, err := asker.Ask(context.Background(), q); err == nil || !strings.Contains(err.Error(), "the Secret app in namespace argocd is not known") {
		t.Error(err)
	}
	asker.Token = func(generator.Provider, string) secret.Text { return secret.New(scmtest.Token) }
	if a, err := asker.Ask(context.Background(), q); err != nil || len(a.Repositories) != 5 {
		t.Error(err)
	}
	asker.Objects, asker.Token = known, nil
	q.Version = 2
	if _, err := asker.Ask(context.Background(), q); err == nil || !strings.Contains(err.Error(), "githubAppInstallationID must be set") {
		t.Error(err)
	}
	q.Version, q.Spec = 5, json.RawMessage(fmt.Sprintf(`{"organization": "nobody", "api": %q, "appSecretName": "app"}`, server.URL))
	if _, err := asker.Ask(context.Background(), q); err == nil ||
		!strings.Contains(err.Error(), "GitHub App 5 is not installed in nobody") {
		t.Error(err)
	}
}

// TestAddress: an API has one address, however it is written, and nothing leads out of it.
func TestAddress(t *testing.T) {
	asker := newAsker(t, "")
	for _, c := range []struct {
		provider   generator.Provider
		spec, want string
	}{
		{"github", `{}`, "https://api.github.com"},
		{"github", `{"api": "https://git.example.com"}`, "https://git.example.com/api/v3/"},
		{"github", `{"api": "https://git.example.com/api/v3"}`, "https://git.example.com/api/v3/"},
		{"github", `{"api": "https://api.example.com"}`, "https://api.example.com/"},
		{"gitlab", `{}`, "https://gitlab.com/api/v4"},
		{"gitlab", `{"api": "https://git.example.com/api/v4/"}`, "https://git.example.com/api/v4"},
		{"bitbucket", `{}`, "https://api.bitbucket.org/2.0"},
		{"azureDevOps", `{"organization": "a/b"}`, "https://dev.azure.com/a%2Fb"},
	} {
		if got, err := asker.Address(generator.Question{Provider: c.provider, Spec: json.RawMessage(c.spec)}); err != nil || got != c.want {
			t.Errorf("%s %s: %q, %v", c.provider, c.spec, got, err)
		}
	}
	for _, unknown := range []generator.Provider{"", "gogs", "GitHub", "AzureDevOps"} {
		q := generator.Question{Ask: generator.AskRepositories, Provider: unknown, Spec: json.RawMessage(`{"organization": "acme"}`)}
		want := fmt.Sprintf("%q is not a provider", unknown)
		if _, err := asker.Address(q); err == nil || err.Error() != want {
			t.Errorf("%q: %v", unknown, err)
		}
		if _, err := asker.Ask(t.Context(), q); err == nil || err.Error() != want {
			t.Errorf("%q: %v", unknown, err)
		}
	}
	server := scmtest.New(t, "github")
	for _, spec := range []string{
		`{"organization": "..", "api": "` + server.URL + `"}`, `{"organization": "acme", "api": "https://user:pass@example.com"}`,
		`{"organization": "acme", "api": "ftp://example.com"}`,
		`{"organization": "acme", "api": "https://example.com/?x="}`,
	} {
		q := question("")
		q.Spec = json.RawMessage(spec)
		_, err := asker.Ask(context.Background(), q)
		if err == nil || strings.Contains(err.Error(), "pass") {
			t.Errorf("%s: %v", spec, err)
		}
	}
	for _, r := range server.Requests() {
		if !strings.HasPrefix(r, "GET /api/v3/orgs/") {
			t.Error(r)
		}
	}
}

// TestHostile: a host that wants our memory, our time or our token for somebody else gets an error.
func TestHostile(t *testing.T) {
	elsewhere := func(t *testing.T) *httptest.Server {
		t.Helper()
		other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("another server was asked: %s with %q", r.URL, r.Header.Get("Authorization"))
		}))
		t.Cleanup(other.Close)
		return other
	}
	gitlab := func(server string) generator.Question {
		q := question(server)
		q.Provider = "gitlab"
		q.Spec, _ = json.Marshal(map[string]any{"group": "acme", "api": server, "tokenRef": map[string]string{"secretName": "scm", "key": "token"}})
		return q
	}
	for name, c := range map[string]struct {
		answer func(t *testing.T) http.HandlerFunc
		ask    func(server string) generator.Question
		want   string
	}{
		"endless pages": {func(*testing.T) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				page, _ := strconv.Atoi(r.URL.Query().Get("page"))
				w.Header().Set("Link", fmt.Sprintf(`<http://x/?page=%d>; rel="next"`, page+1))
				_, _ = w.Write([]byte("[]"))
			}
		}, question, "there are more than 300 pages"},
		"endless pages of GitLab": {func(*testing.T) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				page, _ := strconv.Atoi(r.URL.Query().Get("page"))
				w.Header().Set("X-Next-Page", strconv.Itoa(page+1))
				w.Header().Set("X-Total-Pages", "999999")
				_, _ = w.Write([]byte("[]"))
			}
		}, gitlab, "there are more than 300 pages"},
		"a loop of pages": {func(*testing.T) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				page, _ := strconv.Atoi(r.URL.Query().Get("page"))
				w.Header().Set("X-Next-Page", strconv.Itoa(3-page))
				w.Header().Set("X-Total-Pages", "5")
				_, _ = w.Write([]byte("[]"))
			}
		}, gitlab, "page 2 is followed by page 1"},
		"many items": {func(*testing.T) http.HandlerFunc {
			items := "[" + strings.Repeat(`{"id": 1, "name": "x"},`, 1000) + `{"id": 1, "name": "x"}]`
			return func(w http.ResponseWriter, r *http.Request) {
				page, _ := strconv.Atoi(r.URL.Query().Get("page"))
				w.Header().Set("Link", fmt.Sprintf(`<http://x/?page=%d>; rel="next"`, page+1))
				_, _ = w.Write([]byte(items))
			}
		}, question, "there are more than 20000 repositories"},
		"large pages": {func(*testing.T) http.HandlerFunc {
			body := append([]byte("["), bytes.Repeat([]byte(" "), 30<<20)...)
			return func(w http.ResponseWriter, r *http.Request) {
				page, _ := strconv.Atoi(r.URL.Query().Get("page"))
				w.Header().Set("Link", fmt.Sprintf(`<http://x/?page=%d>; rel="next"`, page+1))
				_, _ = w.Write(append(body, ']'))
			}
		}, question, "or all answers over 256 MiB"},
		"a link to another host": {func(t *testing.T) http.HandlerFunc {
			other := elsewhere(t)
			return func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("page") == "2" {
					http.Error(w, `{"message": "asked here"}`, http.StatusTeapot)
					return
				}
				w.Header().Set("Link", `<`+other.URL+`/steal?page=2>; rel="next"`)
				_, _ = w.Write([]byte("[]"))
			}
		}, question, "asked here"},
		"a redirect to another host": {func(t *testing.T) http.HandlerFunc {
			other := elsewhere(t)
			return func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			}
		}, question, "redirects to another server are refused"},
		"redirects without end": {func(*testing.T) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }
		}, question, "redirects more than 5 times"},
		"a bomb of zeros": {func(*testing.T) http.HandlerFunc {
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			block := make([]byte, 1<<20)
			for range 1 << 10 {
				_, _ = z.Write(block)
			}
			_ = z.Close()
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(packed.Bytes())
			}
		}, question, "over the limit of 32 MiB"},
		"deep": {func(*testing.T) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write(append([]byte(`[{"x": `), bytes.Repeat([]byte("["), 30<<20)...))
			}
		}, question, "is not what the API documents"},
		"large headers": {func(*testing.T) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				for i := range 10 {
					w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1<<20))
				}
				_, _ = w.Write([]byte("[]"))
			}
		}, question, "exceeded 1048576"},
		"a message of control characters": {func(*testing.T) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{"message": "\u001b[2Jgone\u202e\n\nsecond line"}`, http.StatusBadRequest)
			}
		}, question, "answered 400 Bad Request"},
		"a body that does not end": {func(*testing.T) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					if _, err := w.Write([]byte(" ")); err != nil {
						return
					}
					_ = http.NewResponseController(w).Flush()
				}
			}
		}, func(string) generator.Question {
			return generator.Question{
				Ask: generator.AskParameters, Set: generator.SetName{Namespace: "argocd", Name: "set"}, Spec: json.RawMessage(`{"configMap": "slow"}`),
			}
		}, "Timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			hostile.Survived(t, func() {
				server := httptest.NewServer(c.answer(t))
				defer server.Close()
				asker := newAsker(t, "")
				asker.Objects = objects(t, scmtest.Secret+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: slow}\ndata: {baseUrl: '"+server.URL+
					"', token: '$scm:token', requestTimeout: '1'}\n")
				_, err := asker.Ask(context.Background(), c.ask(server.URL))
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got %v, want %q in it", err, c.want)
				}
				if text := err.Error(); len(text) > 2000 || strings.Contains(text, scmtest.Token) || strings.ContainsAny(text, "\n\x1b\u202e") {
					t.Errorf("%.600q", text)
				}
			})
		})
	}
}

// FuzzAnswers: no answer of a host makes us panic.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[{"name": "x", "commit": null}]`, `{"values": [{}], "next": "http://x/?page=2"}`,
		`{"values": [{"links": {"clone": [{}]}}], "isLastPage": false}`, `{"value": [{"id": null}]}`, `null`,
		`{"output": {"parameters": [null]}}`, `"`,
	} {
		f.Add(seed, 200)
	}
	f.Add(`{"typeKey": "GitItemNotFoundException"}`, 404)
	var body string
	var code int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	f.Cleanup(server.Close)
	text := scmtest.Secret + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: p}\ndata: {baseUrl: '" + server.URL +
		"', token: '$scm:token'}\n"
	asker := newAsker(f, server.URL)
	asker.Objects = objects(f, text)
	now := noon
	asker.Client.Now = func() time.Time { return now }
	f.Fuzz(func(t *testing.T, text2 string, status int) {
		body, code = text2, 200+max(0, status)%400
		now = now.Add(2 * time.Hour) // nobody says wait from the time before
		for _, c := range []struct{ kind, spec string }{
			{"scmProvider", `github: {organization: a, api: $API}`},
			{"scmProvider", `gitlab: {group: a, api: $API}`},
			{"scmProvider", `gitea: {owner: a, api: $API}`},
			{"scmProvider", `bitbucket: {owner: a, user: b, appPasswordRef: {secretName: scm, key: token}}`},
			{"scmProvider", `bitbucketServer: {project: a, api: $API}`},
			{"scmProvider", `azureDevOps: {organization: a, teamProject: b, api: $API, accessTokenRef: {secretName: scm, key: token}}`},
			{"pullRequest", `github: {owner: a, repo: b, api: $API}`},
			{"pullRequest", `gitlab: {project: a, api: $API}`},
			{"pullRequest", `gitea: {owner: a, repo: b, api: $API}`},
			{"pullRequest", `bitbucket: {owner: a, repo: b, api: $API}`},
			{"pullRequest", `bitbucketServer: {project: a, repo: b, api: $API}`},
			{"pullRequest", `azuredevops: {organization: a, project: c, repo: b, api: $API}`},
			{"plugin", `configMapRef: {name: p}`},
		} {
			_, err := render(t, asker, scmtest.Case{Generator: c.kind + ": {" + c.spec + "}"}.Set(server.URL, true))
			if err != nil && strings.Contains(err.Error(), scmtest.Token) {
				t.Error(err)
			}
		}
	})
}
