package sidecar

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/policy"
)

// connected is the plugin with an API server that has Secrets, by their kind; nil may not be read.
func connected(t *testing.T, secrets map[string][]map[string]string, note func(string)) *AppSet {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if secrets == nil {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "may not"}`))
			return
		}
		var items []any
		for kind, list := range secrets {
			if r.URL.Path != "/api/v1/namespaces/argocd/secrets" || !strings.Contains(r.URL.Query().Get("labelSelector"), kind) {
				continue
			}
			for _, fields := range list {
				data := map[string]string{}
				for key, value := range fields {
					data[key] = base64.StdEncoding.EncodeToString([]byte(value))
				}
				items = append(items, map[string]any{"metadata": map[string]any{
					"name":   fields["name"],
					"labels": map[string]any{"argocd.argoproj.io/secret-type": kind},
				}, "data": data})
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind": "SecretList", "apiVersion": "v1", "metadata": map[string]any{},
			"items": items,
		})
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := `{"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x"}}], "clusters": [{"name": "x", "cluster": {"server": "` + server.URL + `"}}]}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	api, err := kube.Open(kube.Config{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	return NewAppSet(ArgoCD{API: api, Namespace: "argocd"}, AppSetConfig{Note: note})
}

// TestClusters: generators know the clusters of Argo CD that are not another project's own.
func TestClusters(t *testing.T) {
	a := connected(t, map[string][]map[string]string{"cluster": {
		{"name": "shared", "server": "https://shared"},
		{"name": "team", "server": "https://team", "project": "team"},
		{"name": "other", "server": "https://other", "project": "other"},
	}}, nil)
	for _, c := range []struct {
		parent policy.Parent
		want   []string
	}{
		{policy.Parent{Project: "team"}, []string{"shared", "team"}},
		{policy.Parent{Project: "third"}, []string{"shared"}},
		{policy.Parent{Project: "default", Admin: true}, []string{"other", "shared", "team"}},
	} {
		list, err := a.knowledge(appsetplugin.For{Parent: c.parent}).Clusters(t.Context())
		var got []string
		for _, cluster := range list {
			if cluster.Name != "in-cluster" {
				got = append(got, cluster.Name)
			}
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, %v", c.parent, got, err)
		}
	}
	none := NewAppSet(ArgoCD{}, AppSetConfig{Note: func(string) {}})
	if _, err := none.knowledge(appsetplugin.For{}).Clusters(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "there is no access to a cluster") {
		t.Error(err)
	}
}

// TestCredential: a repository that is not the application's own, nor its project's, is read with a credential only if the policy allows
// it.
func TestCredential(t *testing.T) {
	const own, shared, teams = "https://git.example.com/team/web", "https://git.example.com/shared", "https://git.example.com/team/lib"
	a := connected(t, map[string][]map[string]string{"repository": {
		{"name": "a", "url": own, "password": "s3cret"},
		{"name": "b", "url": shared, "password": "s3cret"},
		{"name": "c", "url": teams, "password": "s3cret", "project": "team"},
	}}, nil)
	for _, c := range []struct {
		project, url string
		admin        bool
		denied       string
	}{
		{project: "team", url: own},
		{project: "team", url: teams},
		{
			project: "team", url: shared,
			denied: `repository https://git.example.com/shared: project "team" may use credentials of its own repositories only`,
		},
		{project: "other", url: "https://user:s3cret@git.example.com/shared", denied: "repository https://git.example.com/shared: "},
		{project: "default", admin: true, url: shared},
	} {
		k := a.knowledge(appsetplugin.For{Parent: policy.Parent{Project: c.project, Admin: c.admin}, Call: argo.Call{RepoURL: own}})
		found, err := k.credential(t.Context(), c.url)
		if c.denied == "" && (err != nil || found == nil) || c.denied != "" &&
			(err == nil || !strings.HasPrefix(err.Error(), c.denied) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%+v: %v, %v", c, found, err)
		}
	}
	var notes []string
	forbidden := connected(t, nil, func(line string) { notes = append(notes, line) })
	k := forbidden.knowledge(appsetplugin.For{Call: argo.Call{RepoURL: own}})
	for range 2 {
		if found, err := k.credential(t.Context(), own); found != nil || err != nil {
			t.Errorf("%v, %v", found, err)
		}
	}
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "repositories are read without credentials: ") {
		t.Errorf("%q", notes)
	}
}
