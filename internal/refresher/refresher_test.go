package refresher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/metrics"
	"github.com/argosy-cd/argosy/internal/refresh"
	"github.com/argosy-cd/argosy/internal/serve"
)

// cluster is an API server with one Application, and counts how often its Secrets are read.
func cluster(t *testing.T, secrets *int) *kube.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/secrets"):
			*secrets++
			fmt.Fprint(w, `{"kind": "SecretList", "apiVersion": "v1", "metadata": {}, "items": []}`)
		case strings.Contains(r.URL.Path, "/namespaces/closed/"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "may not"}`)
		case !strings.HasSuffix(r.URL.Path, "/applications"):
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
		case r.URL.Query().Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			fmt.Fprint(w, `{"kind": "ApplicationList", "apiVersion": "argoproj.io/v1alpha1", "metadata": {"resourceVersion": "1"}, "items": [
				{"kind": "Application", "apiVersion": "argoproj.io/v1alpha1", "metadata": {"name": "web", "namespace": "argocd", "resourceVersion": "1"}, "spec": {"source": {"repoURL": "https://git.example.com/x"}}}]}`)
		}
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
	return api
}

func page(m *metrics.Registry) string {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// TestWork: hints are of use from when Applications are known to when it ends.
func TestWork(t *testing.T) {
	ready := make(chan struct{})
	m := metrics.New()
	reads := 0
	r := New(Config{
		API: cluster(t, &reads), Settings: Settings{Interval: time.Hour}, Now: time.Now, Log: serve.Log(t.Output(), "text"), Metrics: m,
		Hinted: true, Ready: func() { close(ready) },
	})
	if r.Known() || r.Hint("b", "k") || !strings.Contains(page(m), "argosy_refresh_applications 0") {
		t.Error("it knows Applications before it has begun")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.Work(ctx); close(ended) }()
	<-ready
	if !r.Known() || !r.Hint("b", "k") || !strings.Contains(page(m), "argosy_refresh_applications 1") {
		t.Errorf("it does not know the Application:\n%s", page(m))
	}
	cancel()
	<-ended
	if r.Known() || r.Hint("b", "k") {
		t.Error("it still takes hints")
	}
}

// TestUnwatched: a namespace that cannot be watched does not keep the others waiting, and is logged and counted.
func TestUnwatched(t *testing.T) {
	ready := make(chan struct{})
	var log strings.Builder
	m := metrics.New()
	reads := 0
	r := New(Config{
		API: cluster(t, &reads), Settings: Settings{Interval: time.Hour, Namespaces: []string{"closed"}}, Now: time.Now,
		Log: serve.Log(&log, "text"), Metrics: m, Hinted: true, Ready: func() { close(ready) },
	})
	if !strings.Contains(page(m), "argosy_refresh_watch_failures_total 0") {
		t.Errorf("the counter does not begin with 0:\n%s", page(m))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.Work(ctx); close(ended) }()
	<-ready
	if got := page(m); !strings.Contains(got, "argosy_refresh_watch_failures_total 1") || !strings.Contains(got, "argosy_refresh_applications 1") {
		t.Errorf("it is not counted:\n%s", got)
	}
	cancel()
	<-ended
	if got := log.String(); !strings.Contains(got, `msg=watching error="watching Applications in namespace closed: forbidden: `) {
		t.Error(got)
	}
}

// TestObserve: what is asked for is logged and counted.
func TestObserve(t *testing.T) {
	var log strings.Builder
	m := metrics.New()
	reads := 0
	r := New(Config{API: cluster(t, &reads), Now: time.Now, Log: serve.Log(&log, "text"), Metrics: m})
	app := argo.Ref{Namespace: "argocd", Name: "web"}
	r.observe(refresh.Event{
		App: app, Kind: refresh.Hard, Why: "bucket", What: "s3://b/p is abc", Late: time.Second,
		Warn: "without selfHeal",
	})
	r.observe(refresh.Event{App: app, Kind: refresh.Soft, Why: "clock", Err: errors.New("away")})
	for _, want := range []string{
		`level=INFO msg=refresh application=argocd/web kind=hard why=bucket what="s3://b/p is abc" late=1s`,
		`level=WARN msg="not deployed" application=argocd/web warning="without selfHeal"`,
		`level=WARN msg="not refreshed" application=argocd/web kind=normal why=clock what="" error=away`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in\n%s", want, log.String())
		}
	}
	for _, want := range []string{
		`argosy_refresh_requests_total{kind="hard",result="ok",why="bucket"} 1`,
		`argosy_refresh_requests_total{kind="normal",result="error",why="clock"} 1`, `argosy_refresh_late_seconds_count{why="bucket"} 1`,
	} {
		if !strings.Contains(page(m), want) {
			t.Errorf("no %s in\n%s", want, page(m))
		}
	}
}

// TestCredentials: they are read once in a minute, however many repositories are asked for.
func TestCredentials(t *testing.T) {
	now := time.Unix(0, 0).Add(time.Hour)
	reads := 0
	b := bucketHeads{api: cluster(t, &reads), now: func() time.Time { return now }}
	b.known(t.Context())
	once := reads
	b.known(t.Context())
	now = now.Add(time.Minute)
	if b.known(t.Context()); reads != once || once == 0 {
		t.Errorf("read %d times at first, %d in all", once, reads)
	}
	now = now.Add(time.Second)
	if b.known(t.Context()); reads != 2*once {
		t.Errorf("read %d times at first, %d in all", once, reads)
	}
}
