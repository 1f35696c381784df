package kube_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/kube"
)

// api is an API server that knows some paths; lab/ has a real one.
func api(t *testing.T, answers map[string]string, secrets ...string) *kube.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		key := r.URL.Path
		if selector := r.URL.Query().Get("labelSelector"); selector != "" {
			key += "?" + selector
		}
		if next := r.URL.Query().Get("continue"); next != "" {
			key += "&" + next
		}
		body, ok := answers[key]
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			body = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "no ` + key +
				`"}`
		case body == "forbidden":
			w.WriteHeader(http.StatusForbidden)
			body = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "may not"}`
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return open(t, server.URL, secrets...)
}

// open returns a client of a server.
func open(t testing.TB, url string, secrets ...string) *kube.Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := `{"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}], "clusters": [{"name": "x", "cluster": {"server": "` + url + `"}}], "users": [{"name": "x", "user": {"token": "t0ken"}}]}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := kube.Open(kube.Config{Kubeconfig: file, Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	if c.Namespace != "argocd" {
		t.Errorf("namespace %q", c.Namespace)
	}
	return c
}

// TestMerged: the files of $KUBECONFIG are one, and those that do not exist are skipped.
func TestMerged(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion": "v1", "kind": "SecretList", "items": []}`)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"contexts": `{"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}]}`,
		"clusters": `{"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "x", "cluster": {"server": "` + server.URL +
			`"}}], "users": [{"name": "x", "user": {}}]}`,
		"later":  `{"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "x", "cluster": {"server": "http://127.0.0.1:1"}}]}`,
		"broken": "{",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	c, err := kube.Open(kube.Config{Merged: []string{in("none"), in("contexts"), in("clusters"), in("later")}})
	if err != nil || c.Namespace != "argocd" {
		t.Fatal(c, err)
	}
	if _, err := c.Clusters(t.Context()); err != nil || !asked {
		t.Errorf("%v, %t", err, asked)
	}
	if _, err := kube.Open(kube.Config{Merged: []string{in("none")}}); err == nil ||
		err.Error() != "KUBECONFIG: there is no cluster in its files" {
		t.Error(err)
	}
	if _, err := kube.Open(kube.Config{Merged: []string{in("broken")}}); err == nil || !strings.HasPrefix(err.Error(), "KUBECONFIG: ") {
		t.Error(err)
	}
}

func TestChildren(t *testing.T) {
	const path = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/"
	c := api(t, map[string]string{
		path + "root": `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "root"}, "spec": {"source": {}, "destination": {"server": "https://kubernetes.default.svc/"}}, "status": {"resources": [
			{"group": "argoproj.io", "kind": "Application", "namespace": "argocd", "name": "a"}, {"kind": "ConfigMap", "name": "x"}, {"group": "app.k8s.io", "kind": "Application", "name": "y"},
			{"group": "argoproj.io", "kind": "ApplicationSet", "namespace": "argocd", "name": "set"}, {"group": "argoproj.io", "kind": "ApplicationSet", "namespace": "argocd", "name": "hook", "hook": true},
			{"group": "argoproj.io", "kind": "Application", "namespace": "argocd", "name": "hook", "hook": true}],
			"operationState": {"startedAt": "2026-01-02T03:04:05Z", "syncResult": {"resources": [
			{"group": "argoproj.io", "kind": "Application", "namespace": "argocd", "name": "a", "status": "Synced"}, {"group": "argoproj.io", "kind": "Application", "namespace": "argocd", "name": "gone", "status": "Pruned"},
			{"group": "", "kind": "ConfigMap", "namespace": "argocd", "name": "x", "status": "Pruned"}]}}}}`,
		path + "dry": `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "dry"}, "spec": {"destination": {"name": "in-cluster"}}, "status": {
			"operationState": {"operation": {"sync": {"dryRun": true}}, "finishedAt": "2026-01-02T03:04:05Z", "syncResult": {"resources": [{"group": "argoproj.io", "kind": "Application", "namespace": "argocd", "name": "a", "status": "Pruned"}]}}}}`,
		path + "new":                  `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "new"}, "spec": {"sources": [{}, {}], "destination": {"name": "far"}}}`,
		path + "secret":               "forbidden",
		strings.TrimSuffix(path, "/"): `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "items": [{"metadata": {"name": "a", "namespace": "argocd"}}, {"metadata": {"name": "other", "namespace": "argocd"}}]}`,
	})
	for name, want := range map[string]*appsetplugin.Children{
		"root": {
			Applications: []argo.Ref{{Namespace: "argocd", Name: "a"}}, Sets: []argo.Ref{{Namespace: "argocd", Name: "set"}}, Sources: 1,
			Pruned: []argo.Ref{{Namespace: "argocd", Name: "gone"}}, PrunedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
		"dry": {Sources: 1}, "new": {Remote: true, Sources: 2}, "none": nil,
	} {
		got, err := c.Children(t.Context(), argo.Ref{Namespace: "argocd", Name: name})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	a, b := argo.Ref{Namespace: "argocd", Name: "a"}, argo.Ref{Namespace: "argocd", Name: "b"}
	got, err := c.Existing(t.Context(), []argo.Ref{a, b})
	if diff := cmp.Diff(map[argo.Ref]bool{a: true}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	full := api(t, map[string]string{
		strings.TrimSuffix(path, "/"): `{"kind": "ApplicationList", "apiVersion": "argoproj.io/v1alpha1", "metadata": {"continue": "more"}, "items": [{"metadata": {"name": "other", "namespace": "argocd"}, "spec": {"project": "x"}}]}`,
		strings.TrimSuffix(path, "/") +
			"&more": `{"kind": "ApplicationList", "apiVersion": "argoproj.io/v1alpha1", "items": [{"metadata": {"name": "a", "namespace": "argocd"}, "spec": {"project": "default"}, "status": {}}]}`,
		"/apis/argoproj.io/v1alpha1/namespaces/far/applications": "forbidden",
	})
	specs, _, err := full.Specs(t.Context(), []argo.Ref{a, b})
	if diff := cmp.Diff(map[argo.Ref]map[string]any{a: {"project": "default"}}, specs); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, _, err := full.Specs(t.Context(), []argo.Ref{{Namespace: "far", Name: "a"}}); !errors.Is(err, kube.ErrForbidden) {
		t.Error(err)
	}
	_, err = c.Children(t.Context(), argo.Ref{Namespace: "argocd", Name: "secret"})
	if !errors.Is(err, kube.ErrForbidden) || err.Error() != "reading Application argocd/secret: forbidden: may not" {
		t.Error(err)
	}
}

// TestLargeApplications: an Application over a limit is named, and does not keep others from being read. What is not needed counts for
// nothing.
func TestLargeApplications(t *testing.T) {
	const path = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
	parameters := `"helm": {"parameters": [` + strings.Repeat(`{"name":""},`, 50_000) + `{}]}`
	item := func(name, spec string) string {
		return `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "` + name +
			`", "namespace": "argocd"}, "spec": {` + spec + `}}`
	}
	source := `"project": "p", "source": {"repoURL": "u", "targetRevision": "r", "path": "x", ` + parameters + `}`
	list := strings.Join([]string{
		item("a", source), item("b", `"x": "`+strings.Repeat("x", 4<<20)+`"`),
		item("c", `"sources": [`+strings.Repeat(`{},`, 50_000)+`{}]`), item("d", `"project": "q"`),
	}, ",")
	c := api(t, map[string]string{
		path: `{"items": [` + list + `], "metadata": {}}`, path + "/a": item("a", source),
		path + "/b": item("b", `"sources": [`+strings.Repeat(`{},`, 500_000)+`{}]`),
	})
	ref := func(name string) argo.Ref { return argo.Ref{Namespace: "argocd", Name: name} }
	all := []argo.Ref{ref("a"), ref("b"), ref("c"), ref("d"), ref("e")}
	specs, large, err := c.Specs(t.Context(), all)
	want := map[argo.Ref]map[string]any{
		ref("a"): {"project": "p", "source": map[string]any{"repoURL": "u", "targetRevision": "r"}}, ref("d"): {"project": "q"},
	}
	if diff := cmp.Diff(want, specs) + cmp.Diff([]argo.Ref{ref("b"), ref("c")}, large); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	there, err := c.Existing(t.Context(), all)
	if diff := cmp.Diff(map[argo.Ref]bool{ref("a"): true, ref("b"): true, ref("c"): true, ref("d"): true}, there); err != nil ||
		diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if got, err := c.Children(t.Context(), ref("a")); err != nil || got.Sources != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := c.Children(t.Context(), ref("b")); err == nil ||
		err.Error() != "reading Application argocd/b: its needed fields have more than 8192 KiB" {
		t.Error(err)
	}
}

func TestSecrets(t *testing.T) {
	b := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	const path = "/api/v1/namespaces/argocd/secrets?argocd.argoproj.io/secret-type in "
	c := api(t, map[string]string{
		path + "(cluster)":               `{"kind": "SecretList", "apiVersion": "v1", "metadata": {"continue": "next"}, "items": [{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "b", "labels": {"argocd.argoproj.io/secret-type": "cluster", "env": "prod"}}, "data": {"name": "` + b("prod") + `", "server": "` + b("https://prod") + `"}}]}`,
		path + "(cluster)&next":          `{"kind": "SecretList", "apiVersion": "v1", "items": [{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a", "labels": {"argocd.argoproj.io/secret-type": "cluster"}}, "data": {"name": "` + b("dev") + `", "server": "` + b("https://dev") + `"}}]}`,
		path + "(repository,repo-creds)": `{"kind": "SecretList", "apiVersion": "v1", "items": [{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "r", "labels": {"argocd.argoproj.io/secret-type": "repository"}}, "data": {"url": "` + b("https://x/y") + `", "password": "` + b("p") + `"}}]}`,
		"/api/v1/namespaces/argocd/configmaps/argocd-ssh-known-hosts-cm": `{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}, "data": {"ssh_known_hosts": "host key"}}`,
		"/api/v1/namespaces/argocd/configmaps/argocd-tls-certs-cm":       `{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}, "data": {"git.example.com": "pem"}}`,
	})
	clusters, err := c.Clusters(t.Context())
	if err != nil || len(clusters) != 2 || clusters[0].Name != "dev" || clusters[1].Labels["env"] != "prod" {
		t.Errorf("%v, %v", clusters, err)
	}
	credentials, err := c.Credentials(t.Context())
	if err != nil || len(credentials) != 1 || credentials[0].URL != "https://x/y" {
		t.Errorf("%d, %v", len(credentials), err)
	}
	if known, err := c.KnownHosts(t.Context()); err != nil || string(known) != "host key" {
		t.Errorf("%s, %v", known, err)
	}
	for host, want := range map[string]string{"git.example.com": "pem", "other": ""} {
		if ca, err := c.CA(t.Context(), host); err != nil || string(ca) != want {
			t.Errorf("%s: %s, %v", host, ca, err)
		}
	}
	none := api(t, map[string]string{path + "(cluster)": "forbidden"})
	if _, err := none.Clusters(t.Context()); !errors.Is(err, kube.ErrForbidden) ||
		!strings.HasPrefix(err.Error(),
			"reading Argo CD's Secrets of cluster: forbidden: may not; the right comes with deploy/kustomize/cmp-secrets") {
		t.Error(err)
	}
	if known, err := none.KnownHosts(t.Context()); err != nil || len(known) > 0 {
		t.Errorf("%s, %v", known, err)
	}
}

// TestNamedSecrets: with names, Secrets are got one by one, and those of another kind, or that are not there, are left.
func TestNamedSecrets(t *testing.T) {
	b := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	const path = "/api/v1/namespaces/argocd/secrets/"
	secret := func(name, kind string) string {
		return `{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "` + name +
			`", "labels": {"argocd.argoproj.io/secret-type": "` + kind + `"}}, "data": {"url": "` + b("https://x/"+name) + `", "name": "` +
			b(name) + `", "server": "` + b("https://"+name) + `"}}`
	}
	answers := map[string]string{
		path + "repo": secret("repo", "repository"), path + "far": secret("far", "cluster"),
		path + "other": secret("other", ""),
	}
	c := api(t, answers, "repo", "far", "none", "other")
	if credentials, err := c.Credentials(t.Context()); err != nil || len(credentials) != 1 || credentials[0].URL != "https://x/repo" {
		t.Errorf("%v, %v", len(credentials), err)
	}
	if clusters, err := c.Clusters(t.Context()); err != nil || len(clusters) != 1 || clusters[0].Name != "far" {
		t.Errorf("%v, %v", clusters, err)
	}
	answers[path+"far"] = "forbidden"
	if _, err := c.Clusters(t.Context()); !errors.Is(err, kube.ErrForbidden) {
		t.Error(err)
	}
}

// TestRedirect: the token goes to no other server, whatever the API server says.
func TestRedirect(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	c := open(t, server.URL)
	if _, err := c.Clusters(t.Context()); err == nil || !strings.Contains(err.Error(), "redirects to") ||
		strings.Contains(err.Error(), "t0ken") {
		t.Error(err)
	}
	if asked {
		t.Error("the other server was asked")
	}
}

func TestNoCluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := kube.Open(kube.Config{}); !errors.Is(err, kube.ErrNoCluster) {
		t.Error(err)
	}
	if _, err := kube.Open(kube.Config{Kubeconfig: "none"}); err == nil || errors.Is(err, kube.ErrNoCluster) {
		t.Error(err)
	}
}

// TestOwnedBy counts by owner references of the same namespace.
func TestOwnedBy(t *testing.T) {
	const path = "/apis/argoproj.io/v1alpha1/namespaces/%s/applications"
	item := func(name, kind, owner string) string {
		return fmt.Sprintf(`{"metadata": {"name": %q, "namespace": "argocd", "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": %q, "name": %q, "uid": "1"}]}}`,
			name, kind, owner)
	}
	c := api(t, map[string]string{
		fmt.Sprintf(path, "argocd"): `{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "items": [` + strings.Join([]string{
			item("a", "ApplicationSet", "set"), item("b", "ApplicationSet", "set"), item("c", "ApplicationSet", "another"),
			item("d", "Widget", "set"), item("a", "ApplicationSet", "set"), `{"metadata": {"name": "e", "namespace": "argocd"}}`,
		}, ",") + `]}`,
		fmt.Sprintf(path, "far"):    "forbidden",
		fmt.Sprintf(path, "larger"): `{"items": [{"metadata": {"name": "x", "namespace": "larger", "ownerReferences": [` + strings.Repeat(`{"name":""},`, 50_000) + `{}]}}]}`,
	})
	set, free := argo.Ref{Namespace: "argocd", Name: "set"}, argo.Ref{Namespace: "argocd", Name: "free"}
	got, err := c.OwnedBy(t.Context(), []argo.Ref{set, free})
	if diff := cmp.Diff(map[argo.Ref]int{set: 2}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := c.OwnedBy(t.Context(), []argo.Ref{{Namespace: "far", Name: "set"}}); !errors.Is(err, kube.ErrForbidden) {
		t.Error(err)
	}
	if _, err := c.OwnedBy(t.Context(), []argo.Ref{{Namespace: "larger", Name: "set"}}); err == nil || !strings.Contains(err.Error(), "Application larger/x: ") {
		t.Error(err)
	}
}
