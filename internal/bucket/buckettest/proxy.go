package buckettest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"testing"
)

// Proxy stands between a client and an S3 server and lets requests fail.
type Proxy struct {
	URL string

	mu    sync.Mutex
	fault Fault
	count map[string]int
}

// Fault looks at a request. It returns false to let it pass, or deals with it and returns true. It may change the server
// behind the client's back before it lets the request pass.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// NewProxy starts a proxy in front of a server.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		ErrorLog: log.New(io.Discard, "", 0), // clients that go away are part of the tests
	}
	p := &Proxy{count: map[string]int{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.count[Kind(r)]++
		fault := p.fault
		p.mu.Unlock()
		if fault == nil || !fault(w, r) {
			forward.ServeHTTP(w, r)
		}
	}))
	p.URL = s.URL
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return p
}

// Kind is LIST for a listing, otherwise the method.
func Kind(r *http.Request) string {
	if r.URL.Query().Has("list-type") {
		return "LIST"
	}
	return r.Method
}

// Set sets the fault; nil ends it. Counts start again.
func (p *Proxy) Set(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.count = f, map[string]int{}
}

// Count returns how many requests of a kind there were since Set.
func (p *Proxy) Count(kind string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count[kind]
}

// Times applies a fault to the first n requests of a kind.
func Times(n int, kind string, f Fault) Fault {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		hit := n > 0 && Kind(r) == kind
		if hit {
			n--
		}
		mu.Unlock()
		return hit && f(w, r)
	}
}

// Answer answers as S3 does.
func Answer(status int, code string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<?xml version=\"1.0\"?><Error><Code>"+code+
			"</Code><Message>a message with\nsecret words</Message><RequestId>1</RequestId></Error>")
		return true
	}
}

// Truncate announces more bytes than it sends, which are none.
func Truncate(w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("Content-Length", strconv.Itoa(1<<20))
	w.WriteHeader(http.StatusOK)
	return true
}

// Hang does not answer until the client goes away.
func Hang(_ http.ResponseWriter, r *http.Request) bool {
	<-r.Context().Done()
	return true
}
