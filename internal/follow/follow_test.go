package follow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/follow"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
)

// api is an API server with one Application that can be changed. Nothing else may be read.
type api struct {
	app     string // as JSON
	changes chan string
	forbid  bool
	down    chan struct{} // closed, it answers nothing any more; nil is up
}

const applications = "/apis/argoproj.io/v1alpha1/applications"

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	watch := r.URL.Query().Get("watch") != ""
	select {
	case <-a.down:
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "ServiceUnavailable", "code": 503, "message": "down"}`)
		return
	default:
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/applicationsets"):
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
	case r.URL.Path != applications || a.forbid:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "may not"}`)
	case watch:
		w.(http.Flusher).Flush()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-a.down:
				return
			case app := <-a.changes:
				fmt.Fprintf(w, `{"type": "MODIFIED", "object": %s}`+"\n", app)
				w.(http.Flusher).Flush()
			}
		}
	default:
		fmt.Fprintf(w, `{"items": [%s], "metadata": {"resourceVersion": "1"}}`, a.app)
	}
}

func app(health, sync string) string {
	return fmt.Sprintf(`{"metadata": {"namespace": "argocd", "name": "root"}, "spec": {"syncPolicy": {"automated": {}}},
		"status": {"health": {"status": %q}, "sync": {"status": %q, "revision": "abcdef1"}, "reconciledAt": "2026-03-01T11:00:00Z"}}`, health, sync)
}

// output is written by one and read by another.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
	to  chan string
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p)
	if o.to != nil {
		o.to <- string(p)
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func config(t *testing.T, a *api, out, talk *output) follow.Config {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return configOf(t, server.URL, out, talk)
}

func configOf(t *testing.T, url string, out, talk *output) follow.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x"}}], "clusters": [{"name": "x", "cluster": {"server": "` + url + `"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := kube.Open(kube.Config{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return follow.Config{
		Client: c, Namespaces: []string{"*"}, Now: func() time.Time { return noon }, Out: out, Err: talk, Format: report.Text,
	}
}

func open(t *testing.T, cfg follow.Config) *follow.Boot {
	t.Helper()
	b, err := follow.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// TestWait: it ends when the goal is reached, and not before.
func TestWait(t *testing.T) {
	a := &api{app: app("Progressing", "Synced"), changes: make(chan string)}
	var out, talk output
	b := open(t, config(t, a, &out, &talk))
	done := make(chan error)
	go func() {
		done <- b.Wait(t.Context(), "root", []live.Goal{{State: "healthy"}, {State: "revision", Revision: "abcdef1"}}, time.Hour)
	}()
	for talk.String() == "" { // it has not looked yet
		time.Sleep(time.Millisecond)
	}
	a.changes <- app("Degraded", "Synced")
	a.changes <- app("Healthy", "OutOfSync")
	select {
	case err := <-done:
		t.Fatalf("it ended too early: %v", err)
	default:
	}
	a.changes <- app("Healthy", "Synced")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if want := "waiting: not healthy: root (Progressing, Synced)\n"; !strings.HasPrefix(talk.String(), want) || out.String() != "" {
		t.Errorf("%q, %q", talk.String(), out.String())
	}
}

// TestWaitLate: after the time it says what is missing, and why, as far as it may look.
func TestWaitLate(t *testing.T) {
	var out, talk output
	b := open(t, config(t, &api{app: app("Progressing", "Synced")}, &out, &talk))
	if err := b.Wait(t.Context(), "root", []live.Goal{{State: "healthy"}}, time.Millisecond); !errors.Is(err, problem.ErrFound) {
		t.Error(err)
	}
	for _, want := range []string{"after 1ms: not healthy: root (Progressing, Synced)", "1. root is Progressing, Synced; Argosy found no reason", "NOT READ"} {
		if !strings.Contains(talk.String(), want) {
			t.Errorf("no %q in\n%s", want, talk.String())
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Wait(ended, "root", []live.Goal{{State: "healthy"}}, time.Hour); err == nil || errors.Is(err, problem.ErrFound) {
		t.Errorf("an interrupted wait is %v", err)
	}
}

// TestWaitLost: a state that was reached does not count while the watch is lost.
func TestWaitLost(t *testing.T) {
	a := &api{app: app("Healthy", "Synced"), changes: make(chan string), down: make(chan struct{})}
	var out, talk output
	b := open(t, config(t, a, &out, &talk))
	goals := []live.Goal{{State: "healthy"}}
	if err := b.Wait(t.Context(), "root", goals, time.Minute); err != nil {
		t.Fatal(err)
	}
	close(a.down)
	for len(b.Snapshot().Stale()) == 0 {
		<-b.Changed()
	}
	if err := b.Wait(t.Context(), "root", goals, time.Millisecond); !errors.Is(err, problem.ErrFound) {
		t.Error(err)
	}
	if want := "after 1ms: the watch of Applications in all namespaces is lost and is retried; the state may be outdated: "; !strings.Contains(talk.String(), want) {
		t.Errorf("no %q in\n%s", want, talk.String())
	}
}

// TestRecord: what is watched, and what is looked at for causes, can be replayed.
func TestRecord(t *testing.T) {
	var recording, out output
	cfg := config(t, &api{app: app("Progressing", "Synced")}, &output{}, &output{})
	cfg.Record = &recording
	b := open(t, cfg)
	b.Explain(t.Context(), b.Snapshot(), b.Snapshot().Roots...)
	r := open(t, follow.Config{Recording: strings.NewReader(recording.String()), Name: "x", Namespace: "argocd", Out: &out, Format: report.Text})
	if err := r.Status(""); err != nil || !strings.Contains(out.String(), "root         Progressing  Synced") {
		t.Errorf("%v\n%s\n%s", err, out.String(), recording.String())
	}
}

// TestRecordSecrets: a recording has no passwords of repositories, neither in Applications nor in what Argo CD says about them.
func TestRecordSecrets(t *testing.T) {
	const text = `{"metadata": {"namespace": "argocd", "name": "root"}, "spec": {"source": {"repoURL": "https://me:s3cret@git.example.com/a"},
		"sources": [{"repoURL": "https://me:s3cret pass@git.example.com/b"}, {"repoURL": "https://charts.example.com"}],
		"destination": {"server": "https://10.0.0.1:6443"}},
		"status": {"health": {"status": "Degraded"}, "sync": {"status": "Unknown"}, "operationState": {"phase": "Failed",
			"message": "cloning https://me:s3cret@git.example.com/a: denied"},
		"conditions": [{"type": "ComparisonError", "message": "fetching https://me:s3cret pass@git.example.com/b: denied"}]}}`
	var recording output
	cfg := config(t, &api{app: text}, &output{}, &output{})
	cfg.Record = &recording
	open(t, cfg)
	got := recording.String()
	if strings.Contains(got, "s3cret") || strings.Contains(got, "pass@") {
		t.Error(got)
	}
	for _, want := range []string{
		`"repoURL":"https://git.example.com/a"`, `"repoURL":"https://charts.example.com"`, `"server":"https://10.0.0.1:6443"`,
		`cloning https://git.example.com/a: denied`, `fetching https://git.example.com/b: denied`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// TestWatch prints a line for each state.
func TestWatch(t *testing.T) {
	a := &api{app: app("Progressing", "Synced"), changes: make(chan string)}
	out := &output{to: make(chan string)}
	cfg := config(t, a, out, &output{})
	cfg.Format = report.JSON
	b := open(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- b.Watch(ctx, "root") }()
	for _, state := range []string{"Progressing", "Healthy"} {
		if state != "Progressing" {
			a.changes <- app(state, "Synced")
		}
		line := <-out.to
		if !strings.Contains(line, `"health":"`+state+`"`) || strings.Count(line, "\n") != 1 {
			t.Errorf("%s: %s", state, line)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestScreen: on a terminal a state is drawn over the one before, and fits.
func TestScreen(t *testing.T) {
	var out output
	cfg := config(t, &api{app: app("Progressing", "Synced")}, &out, &output{})
	cfg.Size = func() (int, int) { return 20, 4 }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := open(t, cfg).Watch(ctx, ""); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[H\x1b[Jroot: 0 of 1 Applic…\n\nand 2 more lines\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestUnreadable: a cluster that does not answer, or that forbids everything, is an error at once.
func TestUnreadable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	gone := server.URL
	server.Close()
	for name, cfg := range map[string]follow.Config{
		"connection refused": configOf(t, gone, &output{}, &output{}),
		"forbidden":          config(t, &api{forbid: true}, &output{}, &output{}),
	} {
		if b, err := follow.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
}

// TestTooLarge: one Application that is too large to be read is named, and the others are followed.
func TestTooLarge(t *testing.T) {
	large := `{"metadata": {"namespace": "argocd", "name": "large"}, "x": "` + strings.Repeat("x", 5<<20) + `"}`
	var out output
	cfg := config(t, &api{app: app("Healthy", "Synced") + "," + large}, &out, &output{})
	if err := open(t, cfg).Status(""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"root", "Application argocd/large: it has more than 4 MiB"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
}
