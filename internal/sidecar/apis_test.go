package sidecar

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/scm"
	"github.com/argosy-cd/argosy/internal/scm/scmtest"
)

// TestGeneratorAPIs: the plugin asks APIs with Secrets of the cluster, where the administrator and the policy allow it.
func TestGeneratorAPIs(t *testing.T) {
	github := scmtest.New(t, "github")
	label := ""
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/v1/namespaces/argocd/secrets/scm" {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
			return
		}
		fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "scm", "labels": {"argocd.argoproj.io/secret-type": %q}}, "data": {"token": %q}}`, label, base64.StdEncoding.EncodeToString([]byte(scmtest.Token)))
	}))
	defer cluster.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := `{"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}], "clusters": [{"name": "x", "cluster": {"server": "` + cluster.URL + `"}}], "users": [{"name": "x", "user": {}}]}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := policy.Parse("p.yaml", []byte(`projects: [{name: team, applications: [{projects: [team], apis: ['`+github.URL+
		`/api/v3/acme']}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	set := "goTemplate: true\ngenerators: [{scmProvider: {github: {organization: ORG, api: '" + github.URL +
		"', tokenRef: {secretName: scm, key: token}}}}]\n" +
		"template: {metadata: {name: '{{ .repository }}'}, spec: {project: PROJECT, source: {repoURL: '{{ .url }}', path: x}, destination: {name: in-cluster, namespace: x}}}\n"
	for name, c := range map[string]struct {
		off          bool
		project, org string
		label        string
		policy       *policy.Policy
		want         string // of the error; "" is four Applications
	}{
		"admin":           {project: "default", org: "acme"},
		"off":             {off: true, project: "default", org: "acme", want: "are off in this sidecar (--generator-apis)"},
		"tenant":          {project: "team", org: "acme", label: "scm-creds", want: `generators of project "team" may ask no API`},
		"tenant, allowed": {project: "team", org: "acme", label: "scm-creds", policy: rules},
		"tenant, unmarked": {
			project: "team", org: "acme", policy: rules,
			want: "must have the label argocd.argoproj.io/secret-type: scm-creds",
		},
		"tenant, other": {project: "team", org: "other", label: "scm-creds", policy: rules, want: "apis does not include"},
	} {
		t.Run(name, func(t *testing.T) {
			label = c.label
			github.Requests()
			api, err := kube.Open(kube.Config{Kubeconfig: file, Namespace: "argocd"})
			if err != nil {
				t.Fatal(err)
			}
			cfg := AppSetConfig{Dir: t.TempDir(), Now: time.Now, Note: func(string) {}}
			if !c.off {
				cfg.APIs.Client = &scm.Client{Now: time.Now}
			}
			plugin := NewAppSet(ArgoCD{Admins: []string{"default"}, Namespace: "argocd", API: api}, cfg)
			plugin.Config.Policy = c.policy
			env := map[string]string{
				"ARGOCD_APP_NAME": "root", "ARGOCD_APP_PROJECT_NAME": c.project,
				"PARAM_SPEC": strings.NewReplacer("ORG", c.org, "PROJECT", c.project).Replace(set),
			}
			call, err := argo.NewCall(func(name string) string { return env[name] }, appsetplugin.Parameters())
			if err != nil {
				t.Fatal(err)
			}
			answer, err := plugin.Config.Generate(t.Context(), appsetplugin.Request{Call: call, Dir: "."})
			if c.want == "" {
				if err != nil || answer.Applications != 4 {
					t.Errorf("%d Applications, %v", answer.Applications, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), scmtest.Token) ||
				len(github.Requests()) > 0 {
				t.Error(err)
			}
		})
	}
}
