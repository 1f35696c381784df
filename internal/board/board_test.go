package board

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argocd"
	"github.com/argosy-cd/argosy/internal/board/scene"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/simulate"
)

// example is a small simulation: root deploys a in wave 0 and b in wave 1.
func example(t *testing.T) *Simulation {
	t.Helper()
	app := func(name string, items ...*plan.Item) *plan.Application {
		return &plan.Application{
			Ref: argo.Ref{Namespace: "argocd", Name: name}, Automated: true, Items: items,
			Object: map[string]any{"kind": "Application", "metadata": map[string]any{"name": name}, "spec": map[string]any{
				"source": map[string]any{"repoURL": "https://u:hunter2@git.example.com/x.git"},
			}},
		}
	}
	work := func() *plan.Item {
		return &plan.Item{Kind: "Deployment", Name: "x", Phase: plan.Sync, Waits: true}
	}
	a, b := app("a", work()), app("b", work())
	item := func(x *plan.Application, wave int) *plan.Item {
		return &plan.Item{Kind: "Application", Name: x.Name, Phase: plan.Sync, Wave: wave, Application: x, Waits: true}
	}
	root := app("root", item(a, 0), item(b, 1))
	s, err := FromSimulation(Checked{Plan: &plan.Plan{Root: root, Applications: []*plan.Application{root, a, b}}}, simulate.DefaultModel())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serveBoard serves a board, and returns its URL.
func serveBoard(t *testing.T, cfg Config) (*Server, *httptest.Server) {
	t.Helper()
	cfg.Log, cfg.Now = slog.New(slog.DiscardHandler), time.Now
	if cfg.Address == "" {
		cfg.Address = "127.0.0.1:0"
	}
	if cfg.Source == nil {
		cfg.Source = example(t)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	published := make(chan struct{}, 100)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cfg.Source.Run(ctx, func(x *scene.Scene) { s.store.publish(x); published <- struct{}{} })
	}()
	<-published
	server := httptest.NewServer(s.handler(ctx))
	t.Cleanup(func() { cancel(); server.Close(); <-ended })
	return s, server
}

// request asks, and returns the status and the body.
func request(t *testing.T, method, url, body string, header map[string]string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			r.Host = v
		} else {
			r.Header.Set(k, v)
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.Header.Get("Content-Security-Policy") != policy || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s %s: headers are missing: %v", method, url, res.Header)
	}
	return res.StatusCode, string(data)
}

func TestGuard(t *testing.T) {
	_, server := serveBoard(t, Config{})
	host := strings.TrimPrefix(server.URL, "http://")
	for name, c := range map[string]struct {
		path   string
		header map[string]string
		want   int
	}{
		"plain":                 {"/api/scene", nil, 200},
		"same origin":           {"/api/scene", map[string]string{"Origin": server.URL, "Sec-Fetch-Site": "same-origin"}, 200},
		"typed":                 {"/", map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 200},
		"link":                  {"/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200},
		"link to the API":       {"/api/scene", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403},
		"script of another":     {"/main.js", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403},
		"fetch of another":      {"/api/scene", map[string]string{"Origin": "https://evil.example"}, 403},
		"sandboxed":             {"/api/scene", map[string]string{"Origin": "null"}, 403},
		"another port":          {"/api/events", map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		"another subdomain":     {"/api/scene", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403},
		"rebinding":             {"/api/scene", map[string]string{"Host": "evil.example"}, 421},
		"rebinding with a port": {"/", map[string]string{"Host": "evil.example:8484"}, 421},
		"localhost":             {"/", map[string]string{"Host": strings.Replace(host, "127.0.0.1", "localhost", 1)}, 200},
		"probe":                 {"/healthz", map[string]string{"Host": "10.0.0.1"}, 200},
		"outside":               {"/../board.go", nil, 404},
		"unknown Application":   {"/api/app?app=argocd/none", nil, 404},
	} {
		t.Run(name, func(t *testing.T) {
			if got, body := request(t, "GET", server.URL+c.path, "", c.header); got != c.want {
				t.Errorf("%d %s", got, body)
			}
		})
	}
}

func TestNotLoopback(t *testing.T) {
	for _, address := range []string{":8484", "0.0.0.0:8484", "10.0.0.1:80", "board.example:80", "[::]:80", "x"} {
		if _, err := New(Config{Config: serve.Config{Address: address}}); err == nil {
			t.Errorf("%s is served to everybody", address)
		}
	}
	if err := CheckAddress("[::1]:0", nil); err != nil {
		t.Error(err)
	}
}

func TestDetail(t *testing.T) {
	_, server := serveBoard(t, Config{})
	status, body := request(t, "GET", server.URL+"/api/app?app=argocd/a", "", nil)
	if status != 200 || !strings.Contains(body, `"kind":"Deployment"`) || strings.Contains(body, "hunter2") {
		t.Errorf("%d %s", status, body)
	}
}

func TestControl(t *testing.T) {
	s, server := serveBoard(t, Config{})
	good := map[string]string{"Content-Type": "application/json", "Argosy-Control": s.secret.Reveal()}
	with := func(key, value string) map[string]string {
		out := map[string]string{key: value}
		for k, v := range good {
			if k != key {
				out[k] = v
			}
		}
		return out
	}
	const body = `{"break":"argocd/a","at":0}`
	for name, c := range map[string]struct {
		header map[string]string
		body   string
		want   int
	}{
		"no secret":     {with("Argosy-Control", ""), body, 403},
		"wrong secret":  {with("Argosy-Control", "x"), body, 403},
		"form":          {with("Content-Type", "text/plain"), body, 415},
		"other site":    {with("Origin", "https://evil.example"), body, 403},
		"unknown field": {good, `{"deploy":"now"}`, 400},
		"too large":     {good, `{"break":"` + strings.Repeat("x", maxControl) + `"}`, 400},
		"unknown":       {good, `{"break":"argocd/none"}`, 400},
		"speed":         {good, `{"speed":5}`, 400},
		"good":          {good, body, 204},
	} {
		if got, text := request(t, "POST", server.URL+"/api/simulate", c.body, c.header); got != c.want {
			t.Errorf("%s: %d %s", name, got, text)
		}
	}
	if boot := s.cfg.Source.(*Simulation).Boot(); boot.Done() {
		t.Error("it was not broken")
	}
	if status, text := request(t, "GET", server.URL+"/api/why?app=argocd/root", "", nil); status != 200 || !strings.Contains(text, "Deployment x is Degraded") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := request(t, "POST", server.URL+"/api/simulate", `{"repair":"argocd/a","at":400000}`, good); status != 204 {
		t.Errorf("%d %s", status, text)
	}
	if boot := s.cfg.Source.(*Simulation).Boot(); !boot.Done() {
		t.Errorf("it was not repaired: %v", boot.Blocked())
	}
}

func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("short\n")
	if _, err := WithToken(file, false); err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("a short token: %v", err)
	}
	const token = "correct-horse-battery"
	write(token + "\n")
	access, err := WithToken(file, false)
	if err != nil {
		t.Fatal(err)
	}
	_, server := serveBoard(t, Config{Access: access})
	scene := server.URL + "/api/scene"
	for _, header := range []map[string]string{nil, {"Authorization": "Bearer " + token + "x"}, {"Cookie": cookie + "=x"}, {"Authorization": "Bearer "}} {
		if status, _ := request(t, "GET", scene, "", header); status != 401 {
			t.Errorf("%v: %d", header, status)
		}
	}
	if status, _ := request(t, "GET", scene, "", map[string]string{"Authorization": "Bearer " + token}); status != 200 {
		t.Error(status)
	}
	json := map[string]string{"Content-Type": "application/json"}
	if status, _ := request(t, "POST", server.URL+"/api/login", `{"token":"x"}`, json); status != 401 {
		t.Error(status)
	}
	res, err := http.Post(server.URL+"/api/login", "application/json", strings.NewReader(`{"token":"`+token+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	kept := res.Header.Get("Set-Cookie")
	if !strings.Contains(kept, "HttpOnly") || !strings.Contains(kept, "SameSite=Strict") || strings.Contains(kept, token) {
		t.Errorf("the cookie is %s", kept)
	}
	session := map[string]string{"Cookie": strings.Split(kept, ";")[0]}
	if status, _ := request(t, "GET", scene, "", session); status != 200 {
		t.Error(status)
	}
	write("another-token-of-length\n")
	if status, _ := request(t, "GET", scene, "", session); status != 401 {
		t.Errorf("the session outlives its token: %d", status)
	}
}

func TestTrustedHeader(t *testing.T) {
	for _, c := range []struct {
		proxies []string
		values  []string
		want    int
	}{
		{nil, []string{"ann"}, 200},
		{nil, nil, 401},
		{nil, []string{""}, 401},
		{nil, []string{"ann", "root"}, 401},
		{[]string{"10.0.0.0/8"}, []string{"ann"}, 401},
		{[]string{"127.0.0.0/8", "::1/128"}, []string{"ann"}, 200},
	} {
		access, err := WithHeader("X-Forwarded-User", c.proxies)
		if err != nil {
			t.Fatal(err)
		}
		_, server := serveBoard(t, Config{Access: access})
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/scene", nil)
		r.Header["X-Forwarded-User"] = c.values
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%v from %v: %d", c.values, c.proxies, res.StatusCode)
		}
	}
	for _, bad := range []string{"", "a b", "a\r\nb"} {
		if _, err := WithHeader(bad, nil); err == nil {
			t.Errorf("%q is a header", bad)
		}
	}
	if _, err := WithHeader("X-User", []string{"10.0.0.1"}); err == nil {
		t.Error("an address is a network")
	}
}

// lister has the Applications of tokens.
type lister map[string][]argo.Ref

func (l lister) Applications(ctx context.Context, token string) ([]argo.Ref, error) {
	if _, ok := ctx.Deadline(); !ok {
		return nil, errors.New("a server that never answers is asked for ever")
	}
	if token == "down" {
		return nil, errors.New("connection refused")
	}
	list, ok := l[token]
	if !ok {
		return nil, argocd.ErrDenied
	}
	return list, nil
}

func TestArgoCD(t *testing.T) {
	access := WithArgoCD(lister{"ann": {{Namespace: "argocd", Name: "b"}}, "all": {{Namespace: "argocd", Name: "a"}, {Namespace: "argocd", Name: "b"}, {Namespace: "argocd", Name: "root"}}, "new": {}}, time.Now)
	_, server := serveBoard(t, Config{Access: access})
	names := regexp.MustCompile(`"key":"argocd/(\w+)"`)
	for _, c := range []struct {
		header map[string]string
		status int
		want   string
	}{
		{map[string]string{"Authorization": "Bearer ann"}, 200, "b"},
		{map[string]string{"Cookie": "argocd.token=ann"}, 200, "b"},
		{map[string]string{"Cookie": "argocd.token=3:a; argocd.token-1=n; argocd.token-2=n"}, 200, "b"},
		{map[string]string{"Cookie": "argocd.token=9999999:a"}, 401, ""},
		{map[string]string{"Cookie": "argocd.token=3:a"}, 401, ""},
		{map[string]string{"Authorization": "Bearer all"}, 200, "root a b"},
		{map[string]string{"Authorization": "Bearer new"}, 200, ""},
		{map[string]string{"Authorization": "Bearer eve"}, 401, ""},
		{map[string]string{"Authorization": "Bearer down"}, 503, ""},
		{nil, 401, ""},
	} {
		status, body := request(t, "GET", server.URL+"/api/scene", "", c.header)
		var got []string
		for _, m := range names.FindAllStringSubmatch(body, -1) {
			got = append(got, m[1])
		}
		if status != c.status || strings.Join(got, " ") != c.want {
			t.Errorf("%v: %d %v", c.header, status, got)
		}
	}
	ann := map[string]string{"Authorization": "Bearer ann"}
	for _, path := range []string{"/api/app?app=argocd/a", "/api/why?app=argocd/a", "/api/why?app=argocd/root"} {
		if status, body := request(t, "GET", server.URL+path, "", ann); status != 404 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := request(t, "GET", server.URL+"/api/why", "", ann); status != 400 {
		t.Errorf("%d %s", status, body)
	}
}

// listen reads events of a stream: their names and ids.
func listen(t *testing.T, url string, n int) (names, ids []string, data []map[string]any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for len(data) < n && lines.Scan() {
		switch key, value, _ := strings.Cut(lines.Text(), ": "); key {
		case "event":
			names = append(names, value)
		case "id":
			ids = append(ids, value)
		case "data":
			var v map[string]any
			if err := json.Unmarshal([]byte(value), &v); err != nil {
				t.Fatal(err)
			}
			data = append(data, v)
		}
	}
	return names, ids, data
}

func TestEvents(t *testing.T) {
	sim := example(t)
	sim.Pace(20, func(float64) {})
	s, server := serveBoard(t, Config{Source: sim})
	names, ids, _ := listen(t, server.URL+"/api/events", 1)
	if names[0] != "scene" {
		t.Fatalf("the first event is %s", names[0])
	}
	// What is missed while a browser is away comes as changes.
	_, number, changed := s.store.current()
	sim.At(30 * time.Second)
	<-changed
	names, _, data := listen(t, server.URL+"/api/events?since="+ids[0], 1)
	if names[0] != "delta" || data[0]["now"] != float64(30_000) || len(data[0]["apps"].([]any)) == 0 {
		t.Errorf("%v %v", names, data)
	}
	// An id of another process, of the future or garbage is answered with everything.
	for _, id := range []string{"other-1", s.store.id(number + 1000), "garbage", "", s.store.id(-5)} {
		if names, _, _ := listen(t, server.URL+"/api/events?since="+id, 1); names[0] != "scene" {
			t.Errorf("%q: %s", id, names[0])
		}
	}
	// Whoever was away for too long gets everything, too.
	for i := range ring + 10 {
		next, _, _ := s.store.current()
		moved := *next
		moved.Now += int64(i)
		s.store.publish(&moved)
	}
	if names, _, _ := listen(t, server.URL+"/api/events?since="+ids[0], 1); names[0] != "scene" {
		t.Errorf("after %d changes: %s", ring, names[0])
	}
	if len(s.store.changes) > ring {
		t.Errorf("%d changes are kept", len(s.store.changes))
	}
}

// TestPage checks that the page has nothing inline and loads nothing from elsewhere.
func TestPage(t *testing.T) {
	s, server := serveBoard(t, Config{})
	inline := regexp.MustCompile(`(?i)<script>|<style|style="|\son\w+="|javascript:|https?://`)
	markup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function`)
	outside := regexp.MustCompile(`https?://[^/'"\s]+`)
	for name, a := range s.assets {
		text := string(a.data)
		if strings.HasSuffix(name, ".html") && inline.MatchString(text) {
			t.Errorf("%s: %q", name, inline.FindString(text))
		}
		if markup.MatchString(text) {
			t.Errorf("%s: %q", name, markup.FindString(text))
		}
		if found := outside.FindString(text); found != "" && found != "http://www.w3.org" && !strings.HasPrefix(found, `https?:\`) {
			t.Errorf("%s: %q", name, found)
		}
		if status, body := request(t, "GET", server.URL+name, "", nil); status != 200 || body != text {
			t.Errorf("%s: %d", name, status)
		}
		if status, _ := request(t, "GET", server.URL+name, "", map[string]string{"If-None-Match": a.etag}); status != 304 {
			t.Errorf("%s is sent again: %d", name, status)
		}
	}
	// Each part that is imported is there.
	for name, a := range s.assets {
		for _, m := range regexp.MustCompile(`from '\.(/[\w.]+)'`).FindAllStringSubmatch(string(a.data), -1) {
			if _, ok := s.assets[m[1]]; !ok {
				t.Errorf("%s imports %s, which is not there", name, m[1])
			}
		}
	}
}

// TestRing: the changes that are kept are bounded, also by one that is larger than all of them may be.
func TestRing(t *testing.T) {
	s := newStore(time.Now)
	base := *example(t).whole
	size := func() (n int) {
		for _, c := range s.changes {
			n += len(c.data)
		}
		return n
	}
	s.publish(&base)
	for i := range 3 * ring {
		next := base
		next.Title = fmt.Sprint(i)
		if i%100 == 50 {
			next.Title += strings.Repeat("x", ringBytes)
		}
		s.publish(&next)
		if s.bytes != size() || s.bytes > ringBytes || len(s.changes) > ring {
			t.Fatalf("after %d: %d changes with %d bytes, counted as %d", i, len(s.changes), size(), s.bytes)
		}
		if _, ok := s.after(s.number - 1); ok == (i%100 == 50) {
			t.Fatalf("after %d: the newest change is told: %v", i, ok)
		}
	}
	// A slow reader still has its changes when they are forgotten.
	for i := range 3 * ring {
		changes, ok := s.after(s.number - len(s.changes))
		next := base
		next.Title = fmt.Sprint("later ", i)
		s.publish(&next)
		if ok && (changes[0].number == 0 || len(changes[0].data) == 0) {
			t.Fatalf("%d: the reader has change %d, %q", i, changes[0].number, changes[0].data)
		}
	}
}

// pending is a boot that is not known until it is told.
type pending struct {
	*Simulation
	tell chan struct{}
}

func (p pending) Run(ctx context.Context, publish func(*scene.Scene)) error {
	select {
	case <-p.tell:
	case <-ctx.Done():
		return nil
	}
	return p.Simulation.Run(ctx, publish)
}

// TestReady: a board has no requests to answer before it knows the boot.
func TestReady(t *testing.T) {
	source := pending{example(t), make(chan struct{})}
	url := make(chan string, 1)
	var log strings.Builder
	s, err := New(Config{
		Config: serve.Config{Address: "127.0.0.1:0"}, Source: source, Log: serve.Log(&log, "text"), Now: time.Now,
		Ready: func(u string) { url <- u },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	page := strings.TrimSuffix(<-url, "/")
	if status, body := request(t, "GET", page+"/readyz", "", nil); status != 503 || body != "the boot is not known yet\n" {
		t.Errorf("before the first scene: %d %s", status, body)
	}
	if status, _ := request(t, "GET", page+"/healthz", "", nil); status != 200 {
		t.Errorf("healthz: %d", status)
	}
	close(source.tell)
	for status := 0; status != 200; {
		status, _ = request(t, "GET", page+"/readyz", "", nil)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "msg=listening address="+strings.TrimPrefix(page, "http://")+" tls=false") ||
		!strings.HasSuffix(text, "msg=stopped\n") {
		t.Errorf("the log: %s", text)
	}
}

// TestMetrics: everybody may read them, under any name, and they have nothing of the boot.
func TestMetrics(t *testing.T) {
	s, server := serveBoard(t, Config{})
	count := func() string {
		t.Helper()
		status, body := request(t, "GET", server.URL+"/metrics", "", map[string]string{"Host": "10.0.0.1"})
		if status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		var lines []string
		for line := range strings.Lines(body) {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	before := count()
	if want := "argosy_board_requests_running 0\nargosy_board_streams 0\n"; before != want {
		t.Errorf("at first: %s", before)
	}
	if err := s.cfg.Source.(Controls).Control(Control{Break: "argocd/a"}); err != nil {
		t.Fatal(err)
	}
	if after := count(); after != before {
		t.Errorf("a change of the boot is told: %s", after)
	}
	for _, header := range []map[string]string{{"Host": "evil.example"}, {"Origin": "null"}} {
		_, _ = request(t, "GET", server.URL+"/api/scene", "", header)
	}
	if after := count(); after != "argosy_board_refused_total{why=\"site\"} 2\n"+before {
		t.Errorf("after two refusals: %s", after)
	}
}
