package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/cmp/cmptest"
)

// TestCmpArgoCDVersion runs the sidecar beside Argo CD 3.2, beside none, and beside one that does not answer: sets are rendered by the
// version that is known.
func TestCmpArgoCDVersion(t *testing.T) {
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"Version": "v3.2.11+abc"}`)
	}))
	defer answers.Close()
	away := httptest.NewServer(http.NotFoundHandler())
	defer away.Close()
	spec := strings.Replace(pluginSpec, "spec: {project", "spec: {syncPolicy: {automated: {prune: false}}, project", 1)
	for name, c := range map[string]struct {
		args    []string
		version string
		from    string
	}{
		"server":          {[]string{"--argocd-server", answers.URL}, "3.2", "server"},
		"server and flag": {[]string{"--argocd-server", answers.URL, "--argocd-version", "3.4"}, "3.2", "server"},
		"flag":            {[]string{"--argocd-version", "3.3"}, "3.3", "flag"},
		"newest":          {nil, "3.5", "newest"},
		"away":            {[]string{"--argocd-server", away.URL}, "3.5", "newest"},
		"away, flag":      {[]string{"--argocd-server", away.URL, "--argocd-version", "3.2"}, "3.2", "flag"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, address, log := startCmp(t, []string{"KUBERNETES_SERVICE_HOST="}, append(c.args, "--plugin", "appset")...)
			got, err := cmptest.Generate(t.Context(), filepath.Join(dir, "appset.sock"), cmptest.Request{
				Files: map[string]string{"x": ""}, Env: map[string]string{
					"PARAM_SPEC": spec, "ARGOCD_APP_NAME": "web",
					"ARGOCD_APP_PROJECT_NAME": "default",
				},
			})
			if err != nil || len(got) != 2 || strings.Contains(got[0], `"prune":false`) != (c.version > "3.3") {
				t.Errorf("%v, %v", got, err)
			}
			_, metrics := get(t, address+"/metrics")
			if want := fmt.Sprintf(`argosy_cmp_argocd_version_info{from=%q,version=%q} 1`, c.from, c.version); !strings.Contains(metrics,
				want) {
				t.Errorf("no %s", want)
			}
			if want := "argocd=" + c.version + " from=" + c.from; !strings.Contains(log.String(), want) {
				t.Errorf("no %s in\n%s", want, log)
			}
			if away := strings.Contains(log.String(),
				"asking the Argo CD API server for its version: 404 Not Found"); away != strings.Contains(name, "away") {
				t.Errorf("%s", log)
			}
		})
	}
}
