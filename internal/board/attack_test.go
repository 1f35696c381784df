package board

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/board/scene"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/cause"
	"github.com/argosy-cd/argosy/internal/serve"
)

// TestManyStreams opens a thousand streams that are never read. One client gets its share, the rest is refused, nobody else waits, and all of
// it is gone with the connections.
func TestManyStreams(t *testing.T) {
	s, server := serveBoard(t, Config{})
	transport := &http.Transport{MaxConnsPerHost: 0, DisableKeepAlives: true}
	client := &http.Client{Transport: transport}
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	status := map[int]int{}
	var open []*http.Response
	var all sync.WaitGroup
	places := make(chan struct{}, 50)
	for range 1000 {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			r, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/events", nil)
			res, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if status[res.StatusCode]++; res.StatusCode == http.StatusOK {
				open = append(open, res)
			} else {
				_ = res.Body.Close()
			}
		})
	}
	all.Wait()
	if status[200] != maxStreamsEach || status[429] != 1000-maxStreamsEach {
		t.Errorf("%v", status)
	}
	// Changes do not wait for readers, and are not collected for them.
	big := *example(t).whole
	big.Title = strings.Repeat("x", 100<<10)
	var heap runtime.MemStats
	for i := range 400 {
		next := big
		next.Title += fmt.Sprint(i)
		s.store.publish(&next)
	}
	if s.store.bytes > ringBytes || len(s.store.changes) > ring {
		t.Errorf("%d changes with %d bytes are kept", len(s.store.changes), s.store.bytes)
	}
	runtime.GC()
	runtime.ReadMemStats(&heap)
	if heap.HeapAlloc > 256<<20 {
		t.Errorf("%d MB are in use", heap.HeapAlloc>>20)
	}
	if code, _ := request(t, "GET", server.URL+"/api/scene", "", nil); code != http.StatusOK {
		t.Errorf("others get %d", code)
	}
	cancel()
	for _, res := range open {
		_ = res.Body.Close()
	}
	for end := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > before+20; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left, there were %d", runtime.NumGoroutine(), before)
		}
	}
	if names, _, _ := listen(t, server.URL+"/api/events", 1); names[0] != "scene" {
		t.Error("the places are not free again")
	}
}

// TestBehindProxy has more viewers behind one proxy than one client may have streams.
func TestBehindProxy(t *testing.T) {
	access, err := WithHeader("X-User", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, server := serveBoard(t, Config{Access: access})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range maxStreamsEach + 20 {
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/events", nil)
		r.Header.Set("X-User", fmt.Sprintf("viewer%d", i))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("viewer %d gets %s", i, res.Status)
		}
	}
	// A page of somebody else that lets its name point here could set the header, if its browser runs beside the proxy.
	for _, host := range []string{"evil.example", "board.example"} {
		if status, _ := request(t, "GET", server.URL+"/api/scene", "", map[string]string{"Host": host, "X-User": "ann"}); status != 421 {
			t.Errorf("%s: %d", host, status)
		}
	}
	_, named := serveBoard(t, Config{Access: access, Hosts: []string{"board.example"}})
	for host, want := range map[string]int{"evil.example": 421, "board.example": 200, "board.example:443": 200} {
		if status, _ := request(t, "GET", named.URL+"/api/scene", "", map[string]string{"Host": host, "X-User": "ann"}); status != want {
			t.Errorf("%s: %d", host, status)
		}
	}
}

func TestPaths(t *testing.T) {
	_, server := serveBoard(t, Config{})
	for _, path := range []string{
		"/%2e%2e/board.go", "/..%2fboard.go", "/page/index.html", "/./../../etc/passwd", "/index.html%00.js", "/INDEX.HTML", "/api", "/api/", "/api/scene/",
		"/.git/config", "/main.js/", "/main.js~", "/debug/pprof/", "/metrics/",
	} {
		if status, body := request(t, "GET", server.URL+path, "", nil); status != http.StatusNotFound || strings.Contains(body, "package") {
			t.Errorf("%s: %d %.80s", path, status, body)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT"} {
		if status, _ := request(t, method, server.URL+"/api/scene", "", nil); status < 400 {
			t.Errorf("%s: %d", method, status)
		}
	}
}

// TestRawRequests sends what no browser does to the server as it is run.
func TestRawRequests(t *testing.T) {
	url := make(chan string, 1)
	s, err := New(Config{
		Config: serve.Config{Address: "127.0.0.1:0"}, Source: example(t), Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Ready: func(u string) { url <- u },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}()
	host := strings.TrimSuffix(strings.TrimPrefix(<-url, "http://"), "/")
	for name, c := range map[string]struct{ text, want string }{
		"header bomb":   {"GET / HTTP/1.1\r\nHost: " + host + "\r\n" + strings.Repeat("X-Bomb: "+strings.Repeat("x", 1000)+"\r\n", 200) + "\r\n", "431"},
		"long path":     {"GET /" + strings.Repeat("x", 200<<10) + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n", "4"},
		"no host":       {"GET /api/scene HTTP/1.1\r\n\r\n", "400"},
		"two hosts":     {"GET /api/scene HTTP/1.1\r\nHost: " + host + "\r\nHost: evil.example\r\n\r\n", "400"},
		"absolute":      {"GET http://evil.example/api/scene HTTP/1.1\r\nHost: " + host + "\r\n\r\n", "421"},
		"old":           {"GET /api/scene HTTP/1.0\r\n\r\n", "421"},
		"smuggled":      {"POST /api/simulate HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "4"},
		"cookie bomb":   {"GET /api/scene HTTP/1.1\r\nHost: " + host + "\r\nCookie: " + strings.Repeat("a=b; ", 30<<10) + "\r\n\r\n", "431"},
		"garbage":       {"\x16\x03\x01\x02\x00\r\n\r\n", "400"},
		"HTTP/2 at all": {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
			go func() { _, _ = io.WriteString(conn, c.text) }()
			line, _ := bufio.NewReader(conn).ReadString('\n')
			_, status, _ := strings.Cut(line, " ")
			if !strings.HasPrefix(status, c.want) || strings.HasPrefix(status, "2") {
				t.Errorf("%q", line)
			}
		})
	}
}

// TestSecretsOfOthers follows a boot as somebody who may see one Application: neither names nor the number of changes of others are told.
func TestSecretsOfOthers(t *testing.T) {
	sim := example(t)
	sim.Pace(1, func(float64) {})
	access := WithArgoCD(lister{"ann": {{Namespace: "argocd", Name: "b"}}}, time.Now)
	s, server := serveBoard(t, Config{Source: sim, Access: access})
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/events", nil)
	r.Header.Set("Authorization", "Bearer ann")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	var events []string
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "id: ") && lines.Text() != "id: "+s.store.id(0) {
			t.Errorf("%s says how much has changed", lines.Text())
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			events = append(events, data)
			if len(events) == 1 { // a is created, and becomes healthy, while b waits
				for _, at := range []time.Duration{2, 3, 10, 20} {
					_, _, changed := s.store.current()
					sim.At(at * time.Second)
					<-changed
				}
				sim.At(sim.Boot().Total)
			}
			if strings.Contains(data, `"is":"healthy"`) {
				break
			}
		}
	}
	if len(events) != 2 && len(events) != 3 {
		t.Errorf("%d events are sent: %s", len(events), strings.Join(events, "\n"))
	}
	for _, word := range []string{"argocd/a", "root", `"wave 1`} {
		if strings.Contains(strings.Join(events, "\n"), word) {
			t.Errorf("%s is told: %s", word, events)
		}
	}
}

// TestRestricted: a cause of somebody's own Application names no other one, whatever Argo CD says. They learn that something could not be
// looked at, and not what.
func TestRestricted(t *testing.T) {
	node := func(name string, children ...*live.Node) *live.Node {
		return &live.Node{Application: &live.Application{Ref: argo.Ref{Namespace: "argocd", Name: name}}, Children: children}
	}
	root := node("root", node("secret"), node("secret-b"))
	r := &cause.Report{Causes: []cause.Cause{
		{App: root, Text: "its sync waits", Detail: "waiting for healthy state of argoproj.io/Application/secret and 1 more"},
		{App: root, Text: "secret-b has failed.", Fix: "look", Command: []string{"argosy", "why", "secret-b"}},
		{App: root, Text: "not-secret is a Secret", Detail: "secrets of secret.example.com"},
		{App: root.Children[0], Text: "it is broken"},
	}, Unseen: []cause.Unseen{
		{Text: "no right to list pods in namespace secret", Lacks: &live.Right{Verb: "list", Resource: "pods", Namespace: "secret"}},
		{Text: "no right to list pods in namespace b", Lacks: &live.Right{Verb: "list", Resource: "pods", Namespace: "b"}},
		{Text: "Deployment b/secret: timeout"},
		{Text: "Pod b/x: timeout"},
	}}
	got := restricted(&live.Snapshot{Roots: []*live.Node{root}}, r, func(key string) bool { return key == "argocd/root" })
	var texts []string
	for _, c := range got.Causes {
		texts = append(texts, strings.Join(append([]string{c.Text, c.Detail, c.Fix}, c.Command...), "|"))
	}
	want := []string{"its sync waits||", "it waits for " + scene.Hidden + "||", "not-secret is a Secret|secrets of secret.example.com|"}
	unseen := []string{"no right to list pods", "some objects could not be read", "causes of " + scene.Hidden}
	if diff := cmp.Diff(want, texts) + cmp.Diff(unseen, got.NotRead()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
