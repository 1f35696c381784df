package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/problem"
)

// start runs a server until the test ends, which must end without an error.
func start(t *testing.T, cfg Config, handler http.Handler) (*Server, context.CancelFunc) {
	t.Helper()
	cfg.Address = "127.0.0.1:0"
	server, err := Listen(t.Context(), cfg, handler)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server, cancel
}

// TestSlowClients: a client that does not finish its request loses its connection.
func TestSlowClients(t *testing.T) {
	server, _ := start(t, Config{Patience: 20 * time.Millisecond}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, "too slow", http.StatusRequestTimeout)
		}
	}))
	for name, begin := range map[string]string{
		"head": "GET / HTTP/1.1\r\nHost: x\r\n",
		"body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n0032want",
	} {
		conn, err := net.Dial("tcp", server.Address())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, begin); err != nil {
			t.Fatal(err)
		}
		// It ends when the server has lost its patience.
		answer, err := io.ReadAll(conn)
		if err != nil || strings.HasPrefix(string(answer), "HTTP/1.1 200") {
			t.Errorf("%s: %q, %v", name, answer, err)
		}
		conn.Close()
	}
}

// TestStop: a request that runs may finish, and new ones are refused.
func TestStop(t *testing.T) {
	running, finish := make(chan struct{}), make(chan struct{})
	server, cancel := start(t, Config{Grace: time.Minute}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(running)
		<-finish
		fmt.Fprint(w, "done")
	}))
	answer := make(chan string, 1)
	go func() {
		res, err := http.Get("http://" + server.Address())
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		data, _ := io.ReadAll(res.Body)
		answer <- string(data)
	}()
	<-running
	cancel()
	for { // until it does not listen any more
		c, err := net.Dial("tcp", server.Address())
		if err != nil {
			break
		}
		c.Close()
	}
	close(finish)
	if got := <-answer; got != "done" {
		t.Error(got)
	}
}

func TestListenRefuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cfg   Config
		want  string
		usage bool
	}{
		{Config{Address: "127.0.0.1:0", Cert: empty}, "--tls-cert and --tls-key require each other", true},
		{Config{Address: "127.0.0.1:0", Cert: empty, Key: empty}, "loading the certificate: ", false},
		{Config{Address: "127.0.0.1:none"}, "listening on 127.0.0.1:none: ", false},
	} {
		_, err := Listen(t.Context(), c.cfg, nil)
		var usage problem.UsageError
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || errors.As(err, &usage) != c.usage {
			t.Errorf("%+v: %v", c.cfg, err)
		}
	}
}

// TestStart: a server in the background outlives the call that started it, and says when it begins and ends.
func TestStart(t *testing.T) {
	var log strings.Builder
	cfg := Config{Address: "127.0.0.1:0", Log: Log(&log, "text"), Fields: []any{"version", "v1"}}
	server, err := Listen(t.Context(), cfg, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stop := server.Start(ctx)
	res, err := http.Get("http://" + server.Address())
	if err != nil || res.StatusCode != http.StatusNoContent {
		t.Errorf("%v, %v", res, err)
	}
	_ = res.Body.Close()
	for range 2 {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
	if _, err := net.Dial("tcp", server.Address()); err == nil {
		t.Error("it still listens")
	}
	http.DefaultClient.CloseIdleConnections()
	lines := strings.Split(log.String(), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[0], "msg=listening address="+server.Address()+" tls=false version=v1") ||
		!strings.HasSuffix(lines[1], "msg=stopped") {
		t.Errorf("%q", lines)
	}
}

func TestProbes(t *testing.T) {
	broken, note := error(nil), ""
	mux := http.NewServeMux()
	Probes{Ready: func() (string, error) { return note, broken }, Metrics: http.NotFoundHandler()}.Handle(mux)
	ask := func(path string) string {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String()))
	}
	for _, c := range []struct {
		note  string
		err   error
		ready string
	}{
		{"", nil, "200 ok"},
		{"degraded: one is slow", nil, "200 degraded: one is slow"},
		{"never said", errors.New("not known yet"), "503 not known yet"},
	} {
		note, broken = c.note, c.err
		if got := ask("/readyz"); got != c.ready {
			t.Errorf("%+v: %s", c, got)
		}
		if got := ask("/healthz"); got != "200 ok" {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestLog(t *testing.T) {
	for format, want := range map[string]string{"text": "level=INFO msg=hello a=b", "json": `"level":"INFO","msg":"hello","a":"b"`} {
		var out strings.Builder
		if Log(&out, format).Info("hello", "a", "b"); !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}

// TestFile: a file that changes counts at once, and one that is broken has nothing.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "settings")
	reads := 0
	f := Watch(name, "settings", func(name string, data []byte) (string, error) {
		reads++
		if len(data) == 0 {
			return "", fmt.Errorf("%s: it is empty", filepath.Base(name))
		}
		return string(data), nil
	})
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Current(); err == nil || err.Error() != "reading settings: "+name+": no such file or directory" {
		t.Errorf("a file that is not there: %v", err)
	}
	for i, content := range []string{"a", "second"} {
		write(content)
		for range 2 {
			if got, err := f.Current(); err != nil || got != content || reads != i+1 {
				t.Errorf("%q, %v, read %d times", got, err, reads)
			}
		}
	}
	write("")
	for range 2 {
		if got, err := f.Current(); got != "" || err == nil || err.Error() != "settings: it is empty" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := os.Truncate(name, MaxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Current(); err == nil || !strings.HasSuffix(err.Error(), "over the limit of 16777216 bytes") {
		t.Errorf("a file over the limit: %v", err)
	}
	if got, err := Watch("", "settings", f.parse).Current(); got != "" || err != nil {
		t.Errorf("without a name: %q, %v", got, err)
	}
}

// TestConnections: connections over the limits are closed at once.
func TestConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := &limitedListener{Listener: listener, open: map[string]int{}, all: 10, each: 2}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })} // a test
	go func() { _ = server.Serve(limited) }()
	defer server.Close()
	ask := func(c net.Conn) string {
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		return strings.TrimSpace(line)
	}
	var open []net.Conn
	for i := range 3 {
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		if got := ask(c); (got == "") != (i == 2) {
			t.Errorf("connection %d: %q", i, got)
		}
	}
	for _, c := range open {
		c.Close()
	}
	for limitedCount(limited) > 0 {
		runtime.Gosched()
	}
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := ask(c); got == "" {
		t.Error("nobody is let in any more")
	}
}

func limitedCount(l *limitedListener) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count + len(l.open)
}
