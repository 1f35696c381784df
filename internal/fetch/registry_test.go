package fetch

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/tree"
)

const (
	chartType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	tarType   = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// registry is a small OCI registry with a token server.
type registry struct {
	*server
	user, password string // "" gives tokens to everybody
	tags           map[string][]string
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{server: newServer(t), tags: map[string][]string{}}
	r.handle("/token", func(w http.ResponseWriter, req *http.Request) {
		if r.user != "" && req.Header.Get("Authorization") != basic(r.user, r.password) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"errors":[{"code":"UNAUTHORIZED","message":"incorrect username\nor password"}]}`)
			return
		}
		fmt.Fprintf(w, `{"token":"t-%s"}`, req.URL.Query().Get("scope"))
	})
	return r
}

// host is host and port.
func (r *registry) host() string { return strings.TrimPrefix(r.URL, "http://") }

// authorized lets requests with a token for a repository pass.
func (r *registry) authorized(repo string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		scope := "repository:" + repo + ":pull"
		if req.Header.Get("Authorization") != "Bearer t-"+scope {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="test",scope=%q`, r.URL, scope))
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h(w, req)
	}
}

// push adds an artifact and returns the digest of its manifest. Layers are media type and content.
func (r *registry) push(repo, tag string, layers ...any) string {
	type descriptor struct {
		MediaType string `json:"mediaType"`
		Digest    string `json:"digest"`
		Size      int    `json:"size"`
	}
	add := func(mediaType string, data []byte) descriptor {
		r.handle("/v2/"+repo+"/blobs/"+digest(data), r.authorized(repo, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(data)
		}))
		return descriptor{mediaType, digest(data), len(data)}
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	m := map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": add("application/vnd.cncf.helm.config.v1+json", []byte("{}")),
	}
	var list []descriptor
	for i := 0; i < len(layers); i += 2 {
		list = append(list, add(layers[i].(string), layers[i+1].([]byte)))
	}
	m["layers"] = list
	data, _ := json.Marshal(m)
	serve := r.authorized(repo, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", manifestType)
		w.Header().Set("Docker-Content-Digest", digest(data))
		_, _ = w.Write(data)
	})
	r.handle("/v2/"+repo+"/manifests/"+tag, serve)
	r.handle("/v2/"+repo+"/manifests/"+digest(data), serve)
	r.tags[repo] = append(r.tags[repo], tag)
	r.handle("/v2/"+repo+"/tags/list", r.authorized(repo, func(w http.ResponseWriter, req *http.Request) {
		all := r.tags[repo]
		at := slices.Index(all, req.URL.Query().Get("last")) + 1
		if at+1 < len(all) { // pages of one
			w.Header().Set("Link", fmt.Sprintf(`</v2/%s/tags/list?last=%s>; rel="next"`, repo, all[at]))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": repo, "tags": all[at : at+1]})
	}))
	return digest(data)
}

func TestRegistryChart(t *testing.T) {
	r := newRegistry(t)
	for _, version := range []string{"1.0.0", "1.2.0", "1.10.0_build.1", "2.0.0-rc.1", "latest"} {
		r.push("team/charts/app", version, chartType, packed(t, "app", version), "application/vnd.cncf.helm.chart.provenance.v1.prov",
			[]byte("x"))
	}
	for _, tt := range []struct{ repository, name, version, want string }{
		{"team/charts", "app", "1.0.0", "1.0.0"},
		{"team", "charts/app", "1.0.0", "1.0.0"},
		{"", "team/charts/app", "1.0.0", "1.0.0"},
		{"team/charts", "app", "1.10.0+build.1", "1.10.0+build.1"},
		{"team/charts", "app", "1.*", "1.10.0+build.1"},
		{"team/charts", "app", "1.0", "1.0.0"},
		{"team/charts/", "app", "", "1.10.0+build.1"},
		{"team/charts", "app", "latest", "latest"},
	} {
		for _, scheme := range []string{"", "oci://"} {
			c, err := newFetcher(t, Config{}).Chart(t.Context(), scheme+r.host()+"/"+tt.repository, tt.name, tt.version)
			if err != nil {
				t.Errorf("%v: %v", tt, err)
			} else if c.Version != tt.want || c.Name != "app" || len(c.Files) != 2 || c.Files[0].Name != "Chart.yaml" {
				t.Errorf("%v: got %s %s, %v", tt, c.Name, c.Version, tree.Names(c.Files))
			}
		}
	}
	f := newFetcher(t, Config{})
	_, err := f.Chart(t.Context(), r.host()+"/team/charts", "app", "9.9.9")
	wantError(t, err, `fetching chart "app" 9.9.9 from oci://`+r.host()+"/team/charts: 404 Not Found")
	_, err = f.Chart(t.Context(), r.host()+"/team/charts", "app", "9.*")
	wantError(t, err, `none of its 5 versions satisfies "9.*"`)
	_, err = f.Chart(t.Context(), r.host()+"/team/charts", "none", "1.*")
	wantError(t, err, "listing tags: "+r.host()+": 404 Not Found")
	_, err = f.Chart(t.Context(), r.host()+"/Team/charts", "app", "1.0.0")
	wantError(t, err, "is not the name of a repository in a registry")
}

func TestRegistryCache(t *testing.T) {
	r := newRegistry(t)
	r.push("charts/app", "1.0.0", chartType, packed(t, "app", "1.0.0"))
	first := r.push("apps/x", "latest", tarType, packed(t, "x", "1"))
	dir := t.TempDir()
	f := newFetcher(t, Config{Dir: dir})
	if _, err := f.Chart(t.Context(), r.host()+"/charts", "app", "1.0.0"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Artifact(t.Context(), "oci://"+r.host()+"/apps/x", "latest"); err != nil {
		t.Fatal(err)
	}
	r.reset()
	f = newFetcher(t, Config{Dir: dir})
	if _, err := f.Chart(t.Context(), "oci://"+r.host()+"/charts/", "app", "1.0.0"); err != nil || r.count("") != 0 {
		t.Errorf("%v after %d requests", err, r.count(""))
	}
	if _, err := f.Artifact(t.Context(), "oci://"+r.host()+"/apps/x", first); err != nil || r.count("") != 0 {
		t.Errorf("%v after %d requests", err, r.count(""))
	}
	r.push("apps/x", "latest", tarType, packed(t, "x", "2"))
	c, err := f.Artifact(t.Context(), "oci://"+r.host()+"/apps/x", "latest")
	if err != nil || string(c.Files[0].Data) != "name: x\nversion: 2\n" {
		t.Errorf("a tag that moved: %v, %v", c, err)
	}
}

func TestArtifact(t *testing.T) {
	r := newRegistry(t)
	plain, err := archive.Pack("x.tar", []tree.File{{Name: "top/a.yaml", Data: []byte("a: b")}})
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := archive.Pack("x.tgz", []tree.File{{Name: "top/a.yaml", Data: []byte("a: b")}})
	if err != nil {
		t.Fatal(err)
	}
	r.push("a", "1.0.0", tarType, zipped)
	at := r.push("a", "1.1.0", "application/vnd.oci.image.layer.v1.tar", plain, "application/json", []byte("{}"))
	r.push("chart", "v1", chartType, packed(t, "chart", "1.0.0"))
	r.push("two", "v1", tarType, zipped, "application/vnd.oci.image.layer.v1.tar", plain)
	r.push("none", "v1", "application/json", []byte("{}"))
	r.push("broken", "v1", tarType, []byte("x"))
	f := newFetcher(t, Config{})
	for _, tt := range []struct {
		path, revision, version string
		files                   []string
	}{
		{"a", "1.0.0", "1.0.0", []string{"top/a.yaml"}},
		{"a", "1.1.0", "1.1.0", []string{"top/a.yaml"}},
		{"a", at, at, []string{"top/a.yaml"}},
		{"a", "1.*", "1.1.0", []string{"top/a.yaml"}},
		{"a", "1.x", "1.1.0", []string{"top/a.yaml"}},
		{"a", "", "1.1.0", []string{"top/a.yaml"}},
		{"chart", "v1", "v1", []string{"Chart.yaml", "templates/a.yaml"}},
	} {
		c, err := f.Artifact(t.Context(), "oci://"+r.host()+"/"+tt.path, tt.revision)
		if err != nil {
			t.Errorf("%s %s: %v", tt.path, tt.revision, err)
			continue
		}
		if diff := cmp.Diff(tt.files, tree.Names(c.Files)); diff != "" || c.Version != tt.version || c.Name != tt.path {
			t.Errorf("%s %s: %s %s\n%s", tt.path, tt.revision, c.Name, c.Version, diff)
		}
	}
	for path, want := range map[string]string{
		"two": "it has 2", "none": "it has 0", "broken": "unpacking the archive",
		"absent": "404 Not Found",
	} {
		_, err := f.Artifact(t.Context(), "oci://"+r.host()+"/"+path, "v1")
		wantError(t, err, "fetching artifact oci://"+r.host()+"/"+path+" v1: ", want)
	}
}

func TestRegistryCredentials(t *testing.T) {
	auths := func(host, user, password string) string {
		return fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
	const helm, docker = ".config/helm/registry/config.json", ".docker/config.json"
	for name, tt := range map[string]struct {
		files func(host string) map[string]string
		want  string
	}{
		"helm":   {func(h string) map[string]string { return map[string]string{helm: auths(h, "u", "hunter2")} }, ""},
		"docker": {func(h string) map[string]string { return map[string]string{docker: auths(h, "u", "hunter2")} }, ""},
		"helm first": {func(h string) map[string]string {
			return map[string]string{helm: auths(h, "u", "hunter2"), docker: auths(h, "u", "x")}
		}, ""},
		"wrong password": {func(h string) map[string]string {
			return map[string]string{helm: auths(h, "u", "hunter22")}
		}, "401 Unauthorized: incorrect username or password; check the credentials"},
		"other host": {func(string) map[string]string {
			return map[string]string{helm: auths("example.com", "u", "hunter2")}
		}, "401 Unauthorized"},
		"none": {func(string) map[string]string { return nil }, "401 Unauthorized"},
		"not JSON": {func(h string) map[string]string {
			return map[string]string{helm: "{", docker: auths(h, "u", "hunter2")}
		}, ""},
		"no helper": {func(string) map[string]string {
			return map[string]string{docker: `{"credsStore":"argosy-none"}`}
		}, "401 Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			r.push("charts/app", "1.0.0", chartType, packed(t, "app", "1.0.0"))
			r.user, r.password = "u", "hunter2"
			_, err := newFetcher(t, Config{Env: environ.New(homeWith(t, tt.files(r.host()))...)}).Chart(t.Context(), r.host()+"/charts", "app", "1.0.0")
			if tt.want != "" {
				wantError(t, err, `fetching chart "app" 1.0.0 from oci://`+r.host()+"/charts: ", tt.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCredentialHelper(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\n[ \"$1\" = get ] && echo '{\"Username\":\"u\",\"Secret\":\"hunter2\"}'\n"
	if err := os.WriteFile(filepath.Join(bin, "docker-credential-argosy-test"), []byte(script), 0o700); err != nil { // it is run
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	r := newRegistry(t)
	r.push("charts/app", "1.0.0", chartType, packed(t, "app", "1.0.0"))
	r.user, r.password = "u", "hunter2"
	env := homeWith(t, map[string]string{".docker/config.json": fmt.Sprintf(`{"credHelpers":{%q:"argosy-test"}}`, r.host())})
	if _, err := newFetcher(t, Config{Env: environ.New(env...)}).Chart(t.Context(), r.host()+"/charts", "app", "1.0.0"); err != nil {
		t.Error(err)
	}
}

// TestRegistryRedirect: a registry sends its blobs from elsewhere, without the token.
func TestRegistryRedirect(t *testing.T) {
	r, other := newRegistry(t), newServer(t)
	data := packed(t, "app", "1.0.0")
	r.push("charts/app", "1.0.0", chartType, data)
	other.serve("/blob", data)
	r.handle("/v2/charts/app/blobs/"+digest(data), r.authorized("charts/app", func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, other.URL+"/blob?signature=hunter2", http.StatusTemporaryRedirect)
	}))
	if _, err := newFetcher(t, Config{}).Chart(t.Context(), r.host()+"/charts", "app", "1.0.0"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{""}, other.authorizations("/blob")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	other.handle("/blob", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	_, err := newFetcher(t, Config{}).Chart(t.Context(), r.host()+"/charts", "app", "1.0.0")
	wantError(t, err, other.Listener.Addr().String()+": 403 Forbidden")
}

// TestTokenServer: a password is not sent over http, unless the registry itself speaks it.
func TestTokenServer(t *testing.T) {
	r := newRegistry(t)
	r.push("charts/app", "1.0.0", chartType, packed(t, "app", "1.0.0"))
	plain := 0
	f := newFetcher(t, Config{PlainHTTP: func(string) bool { plain++; return plain < 3 }})
	_, err := f.Chart(t.Context(), r.host()+"/charts", "app", "1.0.0")
	wantError(t, err, "https is required")
	if r.count("/token") != 0 {
		t.Error("the token server was asked")
	}
}

// TestRegistryLies: what a registry sends must have the digest that it announced.
func TestRegistryLies(t *testing.T) {
	data := packed(t, "app", "1.0.0")
	for name, h := range map[string]http.HandlerFunc{
		"other content": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat("x", len(data)))) },
		"less":          func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data[1:]) },
		"more":          func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(append([]byte("x"), data...)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			r.push("charts/app", "1.0.0", chartType, data)
			r.handle("/v2/charts/app/blobs/"+digest(data), r.authorized("charts/app", h))
			_, err := newFetcher(t, Config{}).Chart(t.Context(), r.host()+"/charts", "app", "1.0.0")
			wantError(t, err, "mismatch")
		})
	}
}

// TestIndexOfRegistry: an index may name archives in a registry.
func TestIndexOfRegistry(t *testing.T) {
	r := newRegistry(t)
	r.push("charts/app", "1.0.0", chartType, packed(t, "app", "1.0.0"))
	r.serve("/index.yaml", []byte("entries: {app: [{version: 1.0.0, urls: ['oci://"+r.host()+"/charts/app:1.0.0']}]}"))
	if c, err := newFetcher(t, Config{}).Chart(t.Context(), r.URL, "app", "1.0.0"); err != nil || len(c.Files) != 2 {
		t.Errorf("%v, %v", c, err)
	}
}

func TestLayerOf(t *testing.T) {
	for manifest, want := range map[string]string{
		"x":             "not JSON",
		`{"layers":[]}`: "it has 0",
		`{"layers":[{"mediaType":"` + chartType +
			`","digest":"x","size":1}]}`: "digest of its layer",
		`{"layers":[{"mediaType":"` + chartType + `","digest":"sha256:` + strings.Repeat("0", 64) +
			`","size":99999999999}]}`: "over the limit of 64 MiB",
		`{"layers":[` + strings.Repeat("{},", 11) + `{}]}`: "12 layers",
	} {
		_, err := layerOf([]byte(manifest), isChartLayer)
		wantError(t, err, want)
	}
}
