package kube_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/refresh"
)

// feed is an API server with Applications that can be watched.
type feed struct {
	*testing.T
	mu       sync.Mutex
	apps     []string // namespace/name
	version  int
	forbid   map[string]bool // namespaces; "" is all
	limits   []string
	watching []chan string
	specs    map[string]string // by namespace/name
}

func (f *feed) object(id string) string {
	namespace, name, _ := strings.Cut(id, "/")
	return fmt.Sprintf(`{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"namespace": %q, "name": %q, "resourceVersion": "%d"}, "spec": %s}`, namespace, name, f.version, cmp.Or(f.specs[id], "{}"))
}

func (f *feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	namespace := ""
	if parts := strings.Split(r.URL.Path, "/"); len(parts) > 6 {
		namespace = parts[5]
	}
	w.Header().Set("Content-Type", "application/json")
	f.mu.Lock()
	if f.forbid[namespace] {
		f.mu.Unlock()
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "may not"}`)
		return
	}
	query := r.URL.Query()
	if query.Get("watch") != "" {
		events := make(chan string, 10)
		f.watching = append(f.watching, events)
		f.mu.Unlock()
		w.(http.Flusher).Flush()
		for {
			select {
			case <-r.Context().Done():
				return
			case line := <-events:
				if line == "" {
					return
				}
				fmt.Fprintln(w, line)
				w.(http.Flusher).Flush()
			}
		}
	}
	defer f.mu.Unlock()
	f.limits = append(f.limits, query.Get("limit"))
	// The metadata of a list is behind its items, as a real server has it.
	fmt.Fprint(w, `{"apiVersion": "argoproj.io/v1alpha1", "items": [`)
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		f.Error(err)
	}
	items, last, next := 0, "", ""
	for _, id := range f.apps {
		if namespace != "" && !strings.HasPrefix(id, namespace+"/") || id <= query.Get("continue") {
			continue
		}
		if items == limit {
			next = last
			break
		}
		if items++; items > 1 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprint(w, f.object(id))
		last = id
	}
	fmt.Fprintf(w, `], "kind": "ApplicationList", "metadata": {"resourceVersion": "%d", "continue": %q}}`+"\n", f.version, next)
}

// send tells who watches, once somebody does.
func (f *feed) send(line string) {
	for {
		f.mu.Lock()
		if len(f.watching) > 0 {
			f.watching[0] <- line
			if line == "" || strings.Contains(line, "ERROR") {
				f.watching = f.watching[1:]
			}
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
		select {
		case <-f.Context().Done():
			f.Fatal("nobody watches")
		default:
		}
	}
}

func (f *feed) follow(namespaces ...string) chan string {
	server := httptest.NewServer(f)
	f.Cleanup(server.Close)
	c := open(f.T, server.URL)
	ctx, cancel := context.WithCancel(context.Background())
	told := make(chan string, 1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Watch(ctx, namespaces, kube.Watcher{
			Seen:   func(app refresh.App) { told <- "seen " + app.Ref.String() },
			Gone:   func(r argo.Ref) { told <- "gone " + r.String() },
			Listed: func(namespace string) { told <- "listed " + namespace },
			Synced: func() { told <- "synced" },
			Failed: func(err error) { told <- "failed " + err.Error() },
		})
	}()
	f.Cleanup(func() { cancel(); <-done })
	return told
}

func (f *feed) expect(told chan string, want ...string) {
	f.Helper()
	for _, text := range want {
		if got := <-told; got != text {
			f.Errorf("%s, want %s", got, text)
		}
	}
}

// TestWatch tells about all Applications by pages, about changes, and after a gap about what is different.
func TestWatch(t *testing.T) {
	f := &feed{T: t, version: 7}
	for i := range 250 {
		f.apps = append(f.apps, fmt.Sprintf("argocd/app-%03d", i))
	}
	told := f.follow()
	for _, id := range f.apps {
		f.expect(told, "seen "+id)
	}
	f.expect(told, "listed argocd", "synced")
	if got := strings.Join(f.limits, " "); got != "100 100 100" {
		t.Errorf("pages of %s", got)
	}
	f.send(`{"type": "MODIFIED", "object": ` + f.object("argocd/app-001") + `}`)
	f.send(`{"type": "BOOKMARK", "object": ` + f.object("argocd/") + `}`)
	f.send(`{"type": "DELETED", "object": ` + f.object("argocd/app-002") + `}`)
	f.expect(told, "seen argocd/app-001", "gone argocd/app-002")
	// The server has forgotten what was since.
	f.mu.Lock()
	f.apps, f.version = []string{"argocd/app-001", "argocd/new"}, 9
	f.mu.Unlock()
	f.send(`{"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old"}}`)
	f.expect(told, "seen argocd/app-001", "seen argocd/new")
	gone := 0
	for text := <-told; text != "listed argocd"; text = <-told {
		gone++
	}
	if gone != 248 {
		t.Errorf("%d are gone", gone)
	}
	// The server ends.
	f.send("")
	f.send(`{"type": "ADDED", "object": ` + f.object("argocd/late") + `}`)
	f.expect(told, "seen argocd/late")
}

// TestWatchForbidden: a namespace that may not be seen keeps nobody waiting.
func TestWatchForbidden(t *testing.T) {
	f := &feed{T: t, version: 7, apps: []string{"argocd/a", "other/x", "team-a/b"}, forbid: map[string]bool{"team-a": true}}
	told := f.follow("team-a")
	got := []string{<-told, <-told, <-told, <-told}
	slices.Sort(got)
	if want := "failed watching Applications in namespace team-a: forbidden: may not, listed argocd, seen argocd/a, synced"; strings.Join(got, ", ") != want {
		t.Errorf("%v", got)
	}
	// By a pattern, all namespaces are watched, and others are not told.
	f = &feed{T: t, version: 7, apps: []string{"argocd/a", "other/x", "team-a/b"}}
	f.expect(f.follow("team-*"), "seen argocd/a", "seen team-a/b", "listed ", "synced")
	f = &feed{T: t, version: 7, apps: []string{"argocd/a", "other/x"}}
	f.expect(f.follow(`/^o.+r$/`), "seen argocd/a", "seen other/x", "listed ", "synced")
	// Without the right to that, at least Argo CD's own is.
	f = &feed{T: t, version: 7, apps: []string{"argocd/a", "other/x", "team-a/b"}, forbid: map[string]bool{"": true}}
	f.expect(f.follow("team-*"), "failed watching Applications in all namespaces: forbidden: may not", "seen argocd/a", "listed argocd",
		"synced")
}

// TestWatchLarge: large Applications take little memory, and those over a limit are left out by name and keep no others waiting.
func TestWatchLarge(t *testing.T) {
	hostile.Unraced(t)
	f := &feed{T: t, version: 7, specs: map[string]string{
		"argocd/m-bytes":   `{"source": {"helm": {"values": "` + strings.Repeat(`\\\"}`, 1<<20) + `"}}}`,
		"argocd/m-sources": `{"sources": [` + strings.Repeat(`{},`, 100_000) + `{}]}`,
		"argocd/m-url":     `{"source": {"repoURL": "` + strings.Repeat("x", 1<<20) + `"}}`,
	}}
	parameters := `{"project": "evil", "source": {"repoURL": "http://x", "helm": {"parameters": [` +
		strings.Repeat(`{"name":""},`, 110_000) + `{}]}}}`
	for i := range 30 {
		id := fmt.Sprintf("argocd/large-%02d", i)
		f.apps, f.specs[id] = append(f.apps, id), parameters
	}
	f.apps = append(f.apps, "argocd/m-bytes", "argocd/m-sources", "argocd/m-url", "argocd/n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	told := f.follow()
	got := map[string]bool{}
	for text := <-told; text != "listed argocd"; text = <-told {
		got[text] = true
	}
	runtime.ReadMemStats(&after)
	// The server needs most of it.
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 700 {
		t.Errorf("%d MiB were allocated", used)
	}
	for _, id := range f.apps {
		if seen := got["seen "+id]; seen == strings.HasPrefix(id, "argocd/m-") {
			t.Errorf("%s: %t", id, seen)
		}
	}
	const small = "its needed fields have more than 64 KiB"
	for name, why := range map[string]string{"m-bytes": "it has more than 4 MiB", "m-sources": small, "m-url": small} {
		if !got["failed not following Application argocd/"+name+": "+why] {
			t.Errorf("nothing was told about %s", name)
		}
	}
	f.mu.Lock()
	if pages := strings.Join(f.limits, " "); pages != "100 20 20" {
		t.Errorf("pages of %s", pages)
	}
	f.mu.Unlock()
	f.expect(told, "synced")
	// One that becomes too large is followed no longer.
	f.send(`{"type": "MODIFIED", "object": ` + f.object("argocd/large-01") + `}`)
	f.expect(told, "seen argocd/large-01")
	f.specs["argocd/n"] = f.specs["argocd/m-bytes"]
	f.send(`{"type": "MODIFIED", "object": ` + f.object("argocd/n") + `}`)
	f.expect(told, "gone argocd/n", "failed not following Application argocd/n: it has more than 4 MiB")
	f.send(`{"type": "ADDED", "object": ` + f.object("argocd/late") + `}`)
	f.expect(told, "seen argocd/late")
}
