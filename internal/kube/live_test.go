package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// answers is an API server with fixed answers by path; others are not found.
type answers map[string]string

const forbiddenStatus = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "applications.argoproj.io is forbidden: User \"x\" cannot list resource \"applications\" in API group \"argoproj.io\" at the cluster scope"}`

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if r.URL.Query().Get("watch") != "" {
		path += "?watch"
	}
	if selector := r.URL.Query().Get("fieldSelector"); selector != "" {
		path += "?" + selector
	}
	w.Header().Set("Content-Type", "application/json")
	text, ok := a[path]
	switch {
	case text == "forbidden":
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, forbiddenStatus)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
	case strings.HasSuffix(path, "?watch"):
		fmt.Fprintln(w, text)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	default:
		fmt.Fprint(w, text)
	}
}

func serving(t *testing.T, a answers) *kube.Client {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return open(t, server.URL)
}

// TestLive: where all namespaces are forbidden, Argo CD's own is watched, and the rest is a source that is lost. A cluster without
// ApplicationSets has none. An Application with too many objects is known without them.
func TestLive(t *testing.T) {
	const apps = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications"
	many := strings.Repeat(`{"group": "apps", "kind": "Deployment", "namespace": "default", "name": "web", "status": "Synced"},`, 12_000)
	c := serving(t, answers{
		"/apis/argoproj.io/v1alpha1/applications": "forbidden",
		apps: `{"items": [
			{"metadata": {"namespace": "argocd", "name": "a", "managedFields": [{}]}, "status": {"health": {"status": "Healthy"}, "history": [{}]}},
			{"metadata": {"namespace": "argocd", "name": "large"}, "status": {"resources": [` + strings.TrimSuffix(many, ",") +
			`], "sync": {"status": "Synced"}}}], "metadata": {"resourceVersion": "7"}}`,
		apps + "?watch": `{"type": "MODIFIED", "object": {"metadata": {"namespace": "argocd", "name": "a"}, "status": {"health": {"status": "Degraded"}}}}
			{"type": "DELETED", "object": {"metadata": {"namespace": "argocd", "name": "large"}}}`,
	})
	ctx, cancel := context.WithCancel(t.Context())
	events, ready, done := make(chan live.Event, 100), make(chan struct{}), make(chan struct{})
	failed := make(chan error, 100)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	go func() {
		defer close(done)
		c.Live(ctx, kube.LiveWatch{
			Namespaces: []string{"*"}, Now: func() time.Time { return noon }, Apply: func(e live.Event) { events <- e }, Ready: func() { close(ready) },
			Failed: func(err error) { failed <- err },
		})
	}()
	<-ready
	lacks := (*live.NoRightError)(nil)
	if err := <-failed; !errors.Is(err, kube.ErrForbidden) || !errors.As(err, &lacks) ||
		lacks.Right != (live.Right{Verb: "list", Group: "argoproj.io", Resource: "applications"}) {
		t.Error(err)
	}
	m := live.New("argocd")
	var got []string
	for {
		e := <-events
		m.Apply(e)
		switch e.What {
		case live.Seen, live.Gone:
			got = append(got, fmt.Sprintf("%s %s %s", e.What, live.KeyOf(e.Object), manifest.String(e.Object, "status", "health", "status")))
			if manifest.Map(e.Object, "status")["history"] != nil {
				t.Error("fields that nobody needs are kept")
			}
		default:
			line := fmt.Sprintf("%s %s", e.What, e.Source)
			if e.Lacks != nil {
				line += " " + live.Brief(live.Refusal(e.Reason, e.Lacks))
			}
			got = append(got, line)
		}
		if e.What == live.Gone {
			break
		}
		if n := m.Snapshot().Get(live.Key{Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: "large"}); n != nil &&
			(n.Sync != "Synced" || len(n.Resources) > 0 || n.Cut == "") {
			t.Errorf("%+v", n.Application)
		}
	}
	cancel()
	<-done
	slices.Sort(got)
	want := []string{
		"gone Application argocd/large ", "listed ApplicationSets in all namespaces", "listed Applications in namespace argocd",
		"lost Applications in all namespaces no right to list applications.argoproj.io in all namespaces",
		"seen Application argocd/a Degraded", "seen Application argocd/a Healthy", "seen Application argocd/large ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLookup(t *testing.T) {
	c := serving(t, answers{
		"/api/v1": `{"resources": [{"name": "pods", "kind": "Pod", "namespaced": true}, {"name": "pods/eviction", "kind": "Eviction"},
			{"name": "namespaces", "kind": "Namespace"}, {"name": "secrets", "kind": "Secret", "namespaced": true}]}`,
		"/apis/example.com":                                    `{"versions": [{"version": "v1"}, {"version": "v1alpha1"}], "preferredVersion": {"version": "v1"}}`,
		"/apis/example.com/v1":                                 `{"resources": [{"name": "widgets", "kind": "Widget", "namespaced": true}]}`,
		"/apis/example.com/v1alpha1":                           `{"resources": [{"name": "gadgets", "kind": "Gadget", "namespaced": true}, {"name": "widgets", "kind": "Widget", "namespaced": true}]}`,
		"/api/v1/namespaces/apps":                              `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "apps"}}`,
		"/api/v1/namespaces/apps/pods/a":                       `{"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "apps", "name": "a"}}`,
		"/api/v1/namespaces/apps/pods":                         `{"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]}`,
		"/apis/example.com/v1/namespaces/apps/widgets/w":       `{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}`,
		"/apis/example.com/v1alpha1/namespaces/apps/gadgets/g": "forbidden",
		"/api/v1/namespaces/apps/events?involvedObject.kind=Pod,involvedObject.name=a": `{"apiVersion": "v1", "kind": "EventList", "metadata": {},
			"items": [{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "Failed"}]}`,
		"/api/v1/namespaces/argocd/pods": `{"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [{"apiVersion": "v1", "kind": "Pod",
			"metadata": {"name": "argocd-application-controller-0"},
			"spec": {"containers": [{"image": "mesh:1.2"}, {"image": "quay.io/argoproj/argocd:v3.3.9"}]}}]}`,
		"/api/v1/namespaces/argocd/configmaps/argocd-cm": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm"},
			"data": {"resource.customizations.health.example.com_Widget": "return {}"}}`,
	})
	l := &kube.Lookup{Client: c}
	for key, want := range map[live.Key]string{
		{Kind: "Pod", Namespace: "apps", Name: "a"}:                           "Pod apps/a",
		{Kind: "Pod", Namespace: "apps", Name: "b"}:                           "",
		{Kind: "Namespace", Namespace: "ignored", Name: "apps"}:               "Namespace apps",
		{Group: "example.com", Kind: "Widget", Namespace: "apps", Name: "w"}:  "Widget w",
		{Group: "example.com", Kind: "Gadget", Namespace: "apps", Name: "g"}:  "error",
		{Group: "example.com", Kind: "Nothing", Namespace: "apps", Name: "n"}: "no kind",
		{Group: "none.example.com", Kind: "X", Name: "x"}:                     "no kind",
		{Kind: "Eviction", Namespace: "apps", Name: "a"}:                      "no kind",
		{Kind: "Secret", Namespace: "apps", Name: "s"}:                        "error",
	} {
		o, err := l.Get(t.Context(), key)
		got := ""
		switch {
		case errors.Is(err, cause.ErrNoKind):
			got = "no kind"
		case err != nil:
			got = "error"
		case o != nil:
			got = live.KeyOf(o).String()
		}
		if got != want {
			t.Errorf("%v: %s (%v), want %s", key, got, err, want)
		}
	}
	if list, err := l.List(t.Context(), "", "Pod", "apps"); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
	if list, err := l.Events(t.Context(), live.Key{Kind: "Pod", Namespace: "apps", Name: "a"}); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
	if checks, err := l.Checks(t.Context()); err != nil || checks["example.com/Widget"].Health == "" {
		t.Error(checks, err)
	}
	if v := l.Version(t.Context()); v != 3 {
		t.Errorf("Argo CD %d", v)
	}
	if v := (&kube.Lookup{Client: serving(t, answers{})}).Version(t.Context()); v != 0 {
		t.Errorf("Argo CD %d, and nobody knows", v)
	}
}

// TestRediscover: a kind that is added later is found, without a request for each question.
func TestRediscover(t *testing.T) {
	var mu sync.Mutex
	a, requests := answers{}, 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests++
		a.ServeHTTP(w, r)
	}))
	defer server.Close()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := &kube.Lookup{Client: open(t, server.URL), Now: func() time.Time { return now }}
	serves := func(kind string, want bool, most int) {
		t.Helper()
		mu.Lock()
		requests = 0
		mu.Unlock()
		if got, err := l.Serves(t.Context(), "example.com", kind); err != nil || got != want {
			t.Errorf("%s: %t, %v", kind, got, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if requests > most {
			t.Errorf("%s: %d requests", kind, requests)
		}
	}
	add := func(path, text string) {
		mu.Lock()
		defer mu.Unlock()
		a[path] = text
	}
	serves("Widget", false, 1)
	add("/apis/example.com", `{"versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}}`)
	add("/apis/example.com/v1", `{"resources": [{"name": "widgets", "kind": "Widget"}]}`)
	serves("Widget", false, 0)
	now = now.Add(10 * time.Second)
	serves("Widget", true, 3)
	add("/apis/example.com/v1", `{"resources": [{"name": "widgets", "kind": "Widget"}, {"name": "gadgets", "kind": "Gadget"}]}`)
	serves("Gadget", false, 0)
	now = now.Add(10 * time.Second)
	serves("Widget", true, 0)
	serves("Gadget", true, 3)
}

// TestLookupWaits: a discovery that hangs delays nobody who asks for another group, and nobody beyond the end of his context.
func TestLookupWaits(t *testing.T) {
	asked, end := make(chan struct{}, 10), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis/slow.example.com" {
			asked <- struct{}{}
			select {
			case <-r.Context().Done():
			case <-end:
			}
		}
		answers{}.ServeHTTP(w, r)
	}))
	defer server.Close()
	l := &kube.Lookup{Client: open(t, server.URL)}
	done := make(chan error)
	go func() {
		_, err := l.Serves(context.WithoutCancel(t.Context()), "slow.example.com", "X")
		done <- err
	}()
	<-asked
	if got, err := l.Serves(t.Context(), "other.example.com", "X"); got || err != nil {
		t.Error(got, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Serves(over, "slow.example.com", "X"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(end)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestContext: one kubeconfig has several clusters.
func TestContext(t *testing.T) {
	server := httptest.NewServer(answers{"/api/v1/namespaces/argocd/configmaps/argocd-cm": `{"data": {}}`})
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := `{"apiVersion": "v1", "kind": "Config", "current-context": "first", "contexts": [{"name": "first", "context": {"cluster": "first"}},
		{"name": "second", "context": {"cluster": "second"}}], "clusters": [{"name": "first", "cluster": {"server": "http://127.0.0.1:1"}},
		{"name": "second", "cluster": {"server": "` + server.URL + `"}}]}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, merged := range []bool{false, true} {
		cfg := kube.Config{Kubeconfig: file, Context: "second"}
		if merged {
			cfg = kube.Config{Merged: []string{file}, Context: "second"}
		}
		c, err := kube.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.KnownHosts(t.Context()); err != nil {
			t.Error(err)
		}
		cfg.Context = "third"
		if _, err := kube.Open(cfg); err == nil || !strings.Contains(err.Error(), `"third"`) {
			t.Error(err)
		}
	}
}

// TestBounded: an answer without an end is an error, and not all memory; a name is no path and no selector.
func TestBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/api/v1" {
			fmt.Fprint(w, `{"resources": [{"name": "pods", "kind": "Pod", "namespaced": true}, {"name": "events", "kind": "Event", "namespaced": true}]}`)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/events") {
			if got := r.URL.Query().Get("fieldSelector"); got != `involvedObject.kind=Pod,involvedObject.name=x\,metadata.name!\=y` {
				t.Errorf("%s", got)
			}
		}
		part := []byte(`{"metadata": "` + strings.Repeat("x", 1<<20))
		for r.Context().Err() == nil {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	l := &kube.Lookup{Client: open(t, server.URL)}
	pod := live.Key{Kind: "Pod", Namespace: "apps", Name: "x"}
	if _, err := l.Get(t.Context(), pod); err == nil || !strings.Contains(err.Error(), "the answer has more than 32 MiB") {
		t.Error(err)
	}
	pod.Name = "x,metadata.name!=y"
	if _, err := l.Events(t.Context(), pod); err == nil || !strings.Contains(err.Error(), "the answer has more than 32 MiB") {
		t.Error(err)
	}
	pod.Name = "../../../../api/v1/namespaces/argocd/secrets/argocd-secret"
	if _, err := l.Get(t.Context(), pod); err == nil || !strings.Contains(err.Error(), "may not contain") {
		t.Error(err)
	}
}

// TestPages: a list is read to its end, up to a bound, and one that is cut says so.
func TestPages(t *testing.T) {
	for name, c := range map[string]struct {
		pages int // 0 is no end, -1 the same page again and again
		want  int
		err   string
	}{
		"all":     {3, 3 * 500, ""},
		"many":    {0, 2_000, "there are more than 2000 events in namespace apps"},
		"endless": {-1, 2 * 500, "the list does not end"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			page, _ := strconv.Atoi(r.URL.Query().Get("continue"))
			next := strconv.Itoa(page + 1)
			switch {
			case page+1 == c.pages:
				next = ""
			case c.pages < 0:
				next = "1"
			}
			item := `{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}}`
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "EventList", "metadata": {"continue": %q}, "items": [%s]}`, next,
				strings.Repeat(item+",", 499)+item)
		}))
		l := &kube.Lookup{Client: open(t, server.URL)}
		list, err := l.Events(t.Context(), live.Key{Kind: "Pod", Namespace: "apps", Name: "a"})
		if len(list) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d, %v", name, len(list), err)
		}
		server.Close()
	}
}
