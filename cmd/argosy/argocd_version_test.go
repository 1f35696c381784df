package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/argocd"
	"github.com/argosy-cd/argosy/internal/cmp/cmptest"
)

// TestInstalledVersion follows a server that is away at first, is upgraded, and goes away again. No request fails, and the server is asked no more
// often than it must be.
func TestInstalledVersion(t *testing.T) {
	says, asked := "", 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if says == "" || r.URL.Path != "/api/version" {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `{"Version": %q}`, says)
	}))
	defer server.Close()
	client, err := argocd.New(argocd.Config{Server: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	var told []string
	i := &installedVersion{server: client, given: 3, now: func() time.Time { return now }, tell: func(v versions.Version, from string, err error) {
		told = append(told, fmt.Sprintf("%s %s %v", v, from, err))
	}}
	for _, step := range []struct {
		after time.Duration
		says  string
		want  versions.Version
		asked int
	}{
		{0, "", 3, 1},                             // away: the flag
		{29 * time.Second, "v3.4.1+abc", 3, 1},    // not yet asked again
		{time.Second, "v3.4.1+abc", 4, 2},         // it is back
		{9 * time.Minute, "v3.5.0", 4, 2},         // upgraded, not yet asked
		{time.Minute, "v3.5.0", 5, 3},             // asked
		{10 * time.Minute, "", 5, 4},              // away: the last answer
		{30 * time.Second, "v3.1.0", 2, 5},        // older than all that are known
		{10 * time.Minute, "not a version", 2, 6}, // nonsense: the last answer
		{30 * time.Second, "v4.0.0", 5, 7},        // newer than all that are known
	} {
		now, says = now.Add(step.after), step.says
		if got := i.current(t.Context()); got != step.want || asked != step.asked {
			t.Errorf("%+v: %s, asked %d times", step, got, asked)
		}
		if got := i.current(t.Context()); got != step.want || asked != step.asked {
			t.Errorf("%+v: %s, asked %d times at once", step, got, asked)
		}
	}
	const known = "which is not known here (3.2 to 3.5), so the nearest is taken"
	want := []string{
		"3.3 flag asking the Argo CD API server for its version: 503 Service Unavailable", "3.4 server <nil>", "3.5 server <nil>",
		"3.5 server asking the Argo CD API server for its version: 503 Service Unavailable",
		"3.2 server the Argo CD API server is v3.1.0, " + known,
		`3.2 server the Argo CD API server says that it is "not a version", which is no version`,
		"3.5 server the Argo CD API server is v4.0.0, " + known,
	}
	if !slices.Equal(told, want) {
		t.Errorf("told: %q", told)
	}
}

func TestInstalledVersionWithoutServer(t *testing.T) {
	for given, want := range map[versions.Version]string{0: "3.5 newest", 2: "3.2 flag"} {
		told := ""
		i := &installedVersion{given: given, tell: func(v versions.Version, from string, _ error) { told += v.String() + " " + from }}
		for range 2 {
			if got := i.current(t.Context()); got.String()+" "+i.from() != want {
				t.Errorf("%s", got)
			}
		}
		if told != want {
			t.Errorf("told %q", told)
		}
	}
}

// TestCmpArgoCDVersion runs the sidecar beside Argo CD 3.2, beside none, and beside one that does not answer: sets are rendered by the version that is known.
func TestCmpArgoCDVersion(t *testing.T) {
	answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"Version": "v3.2.11+abc"}`) }))
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
				Files: map[string]string{"x": ""}, Env: map[string]string{"PARAM_SPEC": spec, "ARGOCD_APP_NAME": "web", "ARGOCD_APP_PROJECT_NAME": "default"},
			})
			if err != nil || len(got) != 2 || strings.Contains(got[0], `"prune":false`) != (c.version > "3.3") {
				t.Errorf("%v, %v", got, err)
			}
			_, metrics := get(t, address+"/metrics")
			if want := fmt.Sprintf(`argosy_cmp_argocd_version_info{from=%q,version=%q} 1`, c.from, c.version); !strings.Contains(metrics, want) {
				t.Errorf("no %s", want)
			}
			if want := "argocd=" + c.version + " from=" + c.from; !strings.Contains(log.String(), want) {
				t.Errorf("no %s in\n%s", want, log)
			}
			if away := strings.Contains(log.String(), "asking the Argo CD API server for its version: 404 Not Found"); away != strings.Contains(name, "away") {
				t.Errorf("%s", log)
			}
		})
	}
}
