package kube_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/refresh"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

// server is an API server that keeps objects by path, and knows versions, merge patches and failures; lab/ has a real one.
type server struct {
	*testing.T
	mu      sync.Mutex
	version int
	objects map[string]map[string]any
	status  int // of every answer, if it is not 0
	writes  []string
}

func newServer(t *testing.T) (*server, *kube.Client) {
	s := &server{T: t, objects: map[string]map[string]any{}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return s, open(t, web.URL)
}

func (s *server) set(path string, o map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(path, o)
}

func (s *server) put(path string, o map[string]any) {
	s.version++
	manifest.Map(o, "metadata")["resourceVersion"] = fmt.Sprint(s.version)
	s.objects[path] = o
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fail := func(code int, reason string) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "code": %d, "message": "%s"}`, reason,
			code, strings.ToLower(reason))
	}
	reasons := map[int]string{
		403: "Forbidden", 404: "NotFound", 409: "Conflict", 422: "Invalid", 503: "ServiceUnavailable",
		500: "InternalError",
	}
	if s.status != 0 {
		fail(s.status, reasons[s.status])
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.Error(err)
	}
	var in map[string]any
	if len(body) > 0 {
		if err := json.Unmarshal(body, &in); err != nil {
			s.Error(err)
		}
		s.writes = append(s.writes, r.Method+" "+r.URL.Path+" "+string(body))
	}
	path := r.URL.Path
	if r.Method == http.MethodPost {
		path += "/" + manifest.String(in, "metadata", "name")
	}
	old, ok := s.objects[path]
	switch {
	case r.Method == http.MethodPost && ok:
		fail(409, "AlreadyExists")
		return
	case r.Method != http.MethodPost && !ok:
		fail(404, "NotFound")
		return
	case r.Method == http.MethodPost:
		s.put(path, in)
	case r.Method == http.MethodPut || r.Method == http.MethodPatch:
		if v := manifest.String(in, "metadata", "resourceVersion"); v != "" && v != manifest.String(old, "metadata", "resourceVersion") {
			fail(409, "Conflict")
			return
		}
		if r.Method == http.MethodPatch {
			in = merge(old, in)
		}
		s.put(path, in)
	}
	_ = json.NewEncoder(w).Encode(s.objects[path])
}

func merge(old, patch map[string]any) map[string]any {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		before, _ := old[key].(map[string]any)
		switch {
		case value == nil:
			delete(old, key)
		case isMap:
			if before == nil {
				before = map[string]any{}
			}
			old[key] = merge(before, inner)
		default:
			old[key] = value
		}
	}
	return old
}

const apps = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/"

func TestRefresh(t *testing.T) {
	s, c := newServer(t)
	s.set(apps+"a", map[string]any{
		"apiVersion": argo.APIVersion, "kind": "Application",
		"metadata": map[string]any{"name": "a", "namespace": "argocd"},
	})
	a := argo.Ref{Namespace: "argocd", Name: "a"}
	version, err := c.Refresh(t.Context(), a, "1", refresh.Hard)
	if err != nil || version != "2" || manifest.String(s.objects[apps+"a"], "metadata", "annotations", argo.RefreshAnnotation) != "hard" {
		t.Errorf("%s, %v, %v", version, err, s.objects)
	}
	if _, err := c.Refresh(t.Context(), a, "1", refresh.Soft); !errors.Is(err, refresh.ErrConflict) {
		t.Error(err)
	}
	if _, err := c.Refresh(t.Context(), argo.Ref{Namespace: "argocd", Name: "none"}, "1", refresh.Soft); !errors.Is(err, refresh.ErrGone) {
		t.Error(err)
	}
	for status, refused := range map[int]bool{403: true, 422: true, 500: false} {
		s.status = status
		_, err := c.Refresh(t.Context(), a, "2", refresh.Soft)
		if err == nil || errors.Is(err, refresh.ErrRefused) != refused ||
			!strings.Contains(err.Error(), "asking for a refresh of argocd/a: ") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestWarn(t *testing.T) {
	s, c := newServer(t)
	app := refresh.App{Ref: argo.Ref{Namespace: "team", Name: "a"}, UID: "u"}
	for _, id := range []string{"1", "1", "2"} {
		if err := c.Warn(t.Context(), app, refresh.Warning{ID: id, Reason: "NotDeployed", Message: "why"}); err != nil {
			t.Error(err)
		}
	}
	if len(s.objects) != 2 {
		t.Errorf("%v", s.objects)
	}
	for path, o := range s.objects {
		if !strings.HasPrefix(path, "/api/v1/namespaces/team/events/a.") || manifest.String(o, "involvedObject", "uid") != "u" ||
			manifest.String(o, "type") != "Warning" {
			t.Errorf("%s: %v", path, o)
		}
	}
	s.status = 403
	if err := c.Warn(t.Context(), app, refresh.Warning{ID: "3"}); !errors.Is(err, kube.ErrForbidden) {
		t.Error(err)
	}
}

// TestReads publishes, reads, and forgets what applications read.
func TestReads(t *testing.T) {
	s, c := newServer(t)
	for i := range 8 {
		s.set(fmt.Sprintf("/api/v1/namespaces/argocd/configmaps/argosy-reads-%d", i),
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("argosy-reads-%d", i)}})
	}
	reads := func(path string, sums ...string) s3source.Reads {
		sources, err := triggerfile.Parse("x", []byte("bucket: manifests\npath: "+path+"\ninclude: ['*.yaml']"))
		if err != nil {
			t.Fatal(err)
		}
		r := s3source.Reads{Sources: sources}
		for _, sum := range sums {
			r.Marks = append(r.Marks, bucket.Mark{Key: "k", Sum: sum})
		}
		return r
	}
	all := map[refresh.Place]s3source.Reads{}
	for i := range 50 {
		all[refresh.Place{App: argo.Ref{Namespace: "argocd", Name: fmt.Sprintf("app.%d", i)}, Origin: "abcd"}] = reads("apps", "1")
	}
	if _, err := c.Publish(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if n := len(s.writes); n < 4 || n > 8 {
		t.Errorf("%d writes", n)
	}
	check := func(place refresh.Place, path, sum string) {
		t.Helper()
		got, err := c.Reads(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := got[place]
		if len(r.Sources) != 1 || r.Sources[0].Path != path || !r.Sources[0].Keeps("a.yaml") || r.Sources[0].Keeps("a.txt") ||
			r.Changed([]bucket.Mark{{Key: "k", Sum: sum}}) != (sum == "") {
			t.Errorf("%+v, want %s %s", r, path, sum)
		}
	}
	// An older one, of a replica that was slow, does not replace a newer one.
	older, newer := reads("apps", "old"), reads("apps", "new")
	older.At, newer.At = time.UnixMilli(1000), time.UnixMilli(2000)
	slow := refresh.Place{App: argo.Ref{Namespace: "argocd", Name: "app.0"}, Origin: "abcd"}
	for _, r := range []s3source.Reads{newer, older} {
		if _, err := c.Publish(t.Context(), map[refresh.Place]s3source.Reads{slow: r}); err != nil {
			t.Fatal(err)
		}
	}
	check(slow, "apps", "new")
	one := refresh.Place{App: argo.Ref{Namespace: "argocd", Name: "app.7"}, Origin: "abcd"}
	check(one, "apps", "1")
	publish := func(r s3source.Reads) {
		t.Helper()
		s.writes = nil
		if _, err := c.Publish(t.Context(), map[refresh.Place]s3source.Reads{one: r}); err != nil {
			t.Fatal(err)
		}
	}
	publish(reads("apps", "1"))
	publish(reads("apps")) // could not be read: what was known stays
	if len(s.writes) != 0 {
		t.Errorf("written without need: %v", s.writes)
	}
	publish(reads("apps", "2"))
	check(one, "apps", "2")
	publish(reads("other")) // somewhere else, and could not be read
	check(one, "other", "")
	if err := c.Forget(t.Context(), []refresh.Place{one}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Reads(t.Context())
	if _, ok := got[one]; ok || len(got) != 49 || err != nil {
		t.Errorf("%d, %v", len(got), err)
	}

	// What cannot be understood hurts nobody else.
	s.mu.Lock()
	s.objects["/api/v1/namespaces/argocd/configmaps/argosy-reads-0"]["data"] = map[string]any{"argocd.bad.abcd": `{"sources": [{"bucket": "b"}]}`, "nodots": `{"sources": [{"bucket": "manifests", "path": "x"}]}`}
	s.mu.Unlock()
	got, err = c.Reads(t.Context())
	if len(got) < 30 || err == nil || !strings.Contains(err.Error(), "ConfigMap argosy-reads-0: key argocd.bad.abcd: ") ||
		!strings.Contains(err.Error(), "key nodots: it is not NAMESPACE.NAME.SOURCE") {
		t.Errorf("%d, %v", len(got), err)
	}
	// Too much, and too long.
	long := refresh.Place{App: argo.Ref{Namespace: "argocd", Name: strings.Repeat("a", 250)}, Origin: "abcd"}
	good := refresh.Place{App: argo.Ref{Namespace: "argocd", Name: "good"}, Origin: "abcd"}
	again, err := c.Publish(t.Context(), map[refresh.Place]s3source.Reads{long: reads("x"), good: reads("x", "1")})
	if err == nil || !strings.Contains(err.Error(), "its name is too long") || len(again) > 0 {
		t.Error(again, err)
	}
	s.status = 503
	if again, err := c.Publish(t.Context(), map[refresh.Place]s3source.Reads{long: reads("x"), good: reads("x", "2")}); err == nil ||
		len(again) != 1 || again[0] != good {
		t.Error(again, err)
	}
	s.status = 0
	s.mu.Lock()
	for i := range 8 {
		s.objects[fmt.Sprintf("/api/v1/namespaces/argocd/configmaps/argosy-reads-%d", i)]["data"] = map[string]any{"x": strings.Repeat("x",
			1<<20)}
	}
	s.mu.Unlock()
	if _, err := c.Publish(t.Context(), map[refresh.Place]s3source.Reads{one: reads("x")}); err == nil ||
		!strings.Contains(err.Error(), "is full") {
		t.Error(err)
	}
	_, none := newServer(t)
	if _, err := none.Publish(t.Context(), map[refresh.Place]s3source.Reads{one: reads("x")}); err == nil ||
		!strings.Contains(err.Error(), "it comes with deploy/kustomize/cmp") {
		t.Error(err)
	}
}

// TestLargeReads: a project that fills the ConfigMaps keeps no other from being published, and gives way to it. Alone, it may have
// all.
func TestLargeReads(t *testing.T) {
	hostile.Unraced(t)
	s, c := newServer(t)
	for i := range 8 {
		s.set(fmt.Sprintf("/api/v1/namespaces/argocd/configmaps/argosy-reads-%d", i),
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("argosy-reads-%d", i)}})
	}
	publish := func(project string, number, length int) error {
		t.Helper()
		sources, err := triggerfile.Parse("x", []byte("bucket: manifests\nsources:"+
			strings.Repeat("\n- path: "+strings.Repeat("x", 1000), length/1000)+"\n- path: y"))
		if err != nil {
			t.Fatal(err)
		}
		all := map[refresh.Place]s3source.Reads{}
		for i := range number {
			all[refresh.Place{
				App:    argo.Ref{Namespace: "argocd", Name: fmt.Sprintf("%s-%d", project, i)},
				Origin: "abcd",
			}] = s3source.Reads{Sources: sources, Marks: []bucket.Mark{{Sum: "1"}}, Project: project}
		}
		again, err := c.Publish(t.Context(), all)
		if len(again) > 0 {
			t.Errorf("%d may be tried again", len(again))
		}
		return err
	}
	count := func() map[string]int {
		t.Helper()
		out := map[string]int{}
		for _, o := range s.objects {
			for _, text := range manifest.Map(o, "data") {
				var r struct{ Project string }
				if err := json.Unmarshal([]byte(text.(string)), &r); err != nil {
					t.Fatal(err)
				}
				out[r.Project]++
			}
		}
		return out
	}
	if err := publish("evil", 3000, 3000); err == nil || !strings.Contains(err.Error(), "is full, and evicting larger projects would not free enough space") {
		t.Error("evil is not refused")
	}
	full := count()["evil"]
	if full < 1500 || full > 2999 {
		t.Errorf("%d of evil", full)
	}
	if err := publish("other", 3000, 3000); err == nil {
		t.Error("other is not refused")
	}
	if err := publish("honest", 400, 0); err == nil || !strings.Contains(err.Error(), "from ConfigMap argosy-reads-") {
		t.Errorf("%.200v", err)
	}
	got := count()
	if got["honest"] != 400 || got["evil"]+got["other"] > full || got["evil"]+got["other"] < full-100 || got["evil"] < full/3 ||
		got["other"] < full/3 {
		t.Errorf("%v of %d", got, full)
	}
	// Nothing goes back and forth.
	_ = publish("evil", 3000, 3000)
	if again := count(); again["honest"] != 400 || again["other"] < full/3 {
		t.Errorf("%v", again)
	}
}

// election is processes that want a Lease, and a time that passes when the test says so.
type election struct {
	*testing.T
	server *server
	client *kube.Client
	mu     sync.Mutex
	now    time.Time
	timers []timer
}

type timer struct {
	at time.Time
	c  chan time.Time
}

func (e *election) time() time.Time { e.mu.Lock(); defer e.mu.Unlock(); return e.now }

func (e *election) after(d time.Duration) <-chan time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := make(chan time.Time, 1)
	e.timers = append(e.timers, timer{e.now.Add(d), c})
	return c
}

// pass waits until all processes wait, and lets a second pass.
func (e *election) pass(waiting int) { e.passes(waiting, time.Second) }

func (e *election) passes(waiting int, d time.Duration) {
	e.Helper()
	for {
		e.mu.Lock()
		if len(e.timers) >= waiting {
			break
		}
		e.mu.Unlock()
		time.Sleep(time.Millisecond) // until goroutines are where they should be; no result depends on it
	}
	e.now = e.now.Add(d)
	timers := e.timers
	e.timers = nil
	for _, t := range timers {
		t.c <- e.now
	}
	e.mu.Unlock()
}

// leader lets time pass until one of the processes leads, and returns which. Errors before that are left out.
func (e *election) leader(waiting int, processes ...chan string) int {
	e.Helper()
	for {
		e.pass(waiting)
		for i, states := range processes {
			for len(states) > 0 {
				switch got := <-states; {
				case got == "leads":
					return i
				case !strings.HasPrefix(got, "error: "):
					e.Fatal(got)
				}
			}
		}
	}
}

// process wants the Lease until it is stopped; states tells when it leads and when it does not.
func (e *election) process(name string) (stop context.CancelFunc, states chan string) {
	return e.works(name, func(ctx context.Context, states chan<- string) {
		states <- "leads"
		<-ctx.Done()
		states <- "stops"
	})
}

// works is a process with work of its own.
func (e *election) works(name string, work func(context.Context, chan<- string)) (stop context.CancelFunc, states chan string) {
	ctx, cancel := context.WithCancel(e.Context())
	states = make(chan string, 100)
	l := &kube.Lease{
		Client: e.client, Name: "argosy-refresh", Holder: name, Duration: 6 * time.Second, Patience: 4 * time.Second, Pause: time.Second,
		Now: e.time, After: e.after,
		Failed: func(err error) { states <- "error: " + err.Error() },
	}
	go func() {
		l.Hold(ctx, func(ctx context.Context) { work(ctx, states) })
		states <- "ended"
	}()
	return cancel, states
}

func expect(t *testing.T, states chan string, want string) {
	t.Helper()
	if got := <-states; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestLease(t *testing.T) {
	s, c := newServer(t)
	e := &election{T: t, server: s, client: c, now: time.Unix(1_700_000_000, 0)}
	const path = "/apis/coordination.k8s.io/v1/namespaces/argocd/leases/argosy-refresh"
	holder := func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return manifest.String(s.objects[path], "spec", "holderIdentity")
	}
	// acquired is how long after a time the Lease was taken.
	acquired := func(since time.Time) time.Duration {
		t.Helper()
		s.mu.Lock()
		defer s.mu.Unlock()
		taken, err := time.Parse(time.RFC3339, manifest.String(s.objects[path], "spec", "acquireTime"))
		if err != nil {
			t.Error(err)
		}
		return taken.Sub(since)
	}
	s.mu.Lock()
	s.status = 403
	s.mu.Unlock()
	stopA, a := e.process("a")
	expect(t, a, "error: taking the Lease argosy-refresh: forbidden: ")
	s.mu.Lock()
	s.status = 0
	s.mu.Unlock()
	e.pass(1) // it is made where there is none
	expect(t, a, "leads")
	stopB, b := e.process("b")
	for range 20 {
		e.pass(2)
	}
	if holder() != "a" || len(b) > 0 {
		t.Fatalf("%s holds it", holder())
	}
	// The API is away: who leads stops before another one could take over.
	s.mu.Lock()
	s.status = 503
	s.mu.Unlock()
	for range 6 {
		e.pass(2)
	}
	expect(t, a, "error: the Lease argosy-refresh could not be renewed for 4s: taking the Lease argosy-refresh: ")
	expect(t, a, "stops")
	expect(t, b, "error: taking the Lease argosy-refresh: ")
	s.mu.Lock()
	s.status = 0
	s.mu.Unlock()
	e.pass(2)
	// One of them has it again, and only one.
	leader, other, stopLeader, stopOther := a, b, stopA, stopB
	if e.leader(2, a, b) == 1 {
		leader, other, stopLeader, stopOther = b, a, stopB, stopA
	}
	// It is told to end, and gives the Lease back: the other need not wait.
	stopped := e.time()
	stopLeader()
	expect(t, leader, "stops")
	expect(t, leader, "ended")
	e.leader(1, other)
	if waited := acquired(stopped); waited > 4*time.Second {
		t.Errorf("it waited for %s", waited)
	}
	// It is killed, as far as others can see: a third one waits for as long as it was promised.
	s.mu.Lock()
	spec := manifest.Map(s.objects[path], "spec")
	spec["holderIdentity"] = "dead"
	s.mu.Unlock()
	stopOther()
	expect(t, other, "stops")
	expect(t, other, "ended")
	began := e.time()
	stopC, third := e.process("c")
	defer stopC()
	for len(third) == 0 {
		e.pass(1)
	}
	expect(t, third, "leads")
	if waited := acquired(began); waited < 6*time.Second || waited > 8*time.Second {
		t.Errorf("it waited for %s", waited)
	}
	if diff := cmp.Diff("c", holder()); diff != "" {
		t.Error(diff)
	}
}

// TestLeaseSuspended: a process that did not run has lost the Lease for that, and not for an error of long ago.
func TestLeaseSuspended(t *testing.T) {
	s, c := newServer(t)
	e := &election{T: t, server: s, client: c, now: time.Unix(1_700_000_000, 0)}
	answers := func(status int) {
		e.passes(1, 0) // whatever it has asked is answered
		s.mu.Lock()
		s.status = status
		s.mu.Unlock()
	}
	stop, a := e.process("a")
	defer stop()
	expect(t, a, "leads")
	answers(503)
	e.pass(1)
	answers(0)
	e.pass(1)
	e.passes(1, time.Minute)
	expect(t, a, "error: the Lease argosy-refresh could not be renewed for 1m0s: this process was paused")
	expect(t, a, "stops")
}

// TestLeaseWorkEnds: a process whose work has panicked or returned gives the Lease back, and wants it again.
func TestLeaseWorkEnds(t *testing.T) {
	s, c := newServer(t)
	e := &election{T: t, server: s, client: c, now: time.Unix(1_700_000_000, 0)}
	times := 0
	stop, states := e.works("a", func(ctx context.Context, states chan<- string) {
		times++
		states <- fmt.Sprint("leads ", times)
		switch times {
		case 1:
			panic("oh")
		case 2:
			return
		}
		<-ctx.Done()
	})
	expect(t, states, "leads 1")
	expect(t, states, "error: panic: oh")
	for range 20 {
		e.pass(1)
	}
	s.mu.Lock()
	lease := s.objects["/apis/coordination.k8s.io/v1/namespaces/argocd/leases/argosy-refresh"]
	transitions := fmt.Sprint(manifest.Map(lease, "spec")["leaseTransitions"])
	s.mu.Unlock()
	if transitions != "3" {
		t.Fatalf("it was taken %s times", transitions)
	}
	expect(t, states, "leads 2")
	expect(t, states, "leads 3")
	stop()
	expect(t, states, "ended")
}
