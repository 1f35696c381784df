package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// repoMetrics are what the server tells about itself at /metrics.
type repoMetrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newRepoMetrics(repos *servedRepositories) *repoMetrics {
	m := &repoMetrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "argosy_repo_requests_total", Help: "Requests, by kind of repository, operation and status."}, []string{"repository", "operation", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "argosy_repo_request_seconds", Help: "Time that requests took.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}, []string{"repository", "operation"}),
	}
	failing := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "argosy_repo_buckets_failing", Help: "Bucket repositories that serve their last tree because the bucket cannot be read."}, func() float64 {
		n := 0.0
		for _, b := range repos.served() {
			if b.Err() != nil {
				n++
			}
		}
		return n
	})
	m.registry.MustRegister(m.requests, m.seconds, failing)
	return m
}

func (m *repoMetrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// describe puts a request into a class, of which there are few.
func describe(r *http.Request) (repository, operation string) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/s3/"):
		repository = "bucket"
	case strings.HasPrefix(r.URL.Path, "/every/") || strings.HasPrefix(r.URL.Path, "/appset.git/"):
		repository = "clock"
	default:
		return "none", "other"
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/info/refs"):
		return repository, "refs"
	case strings.HasSuffix(r.URL.Path, "/git-upload-pack"):
		return repository, "upload"
	default:
		return repository, "other"
	}
}

// observe counts requests and writes the access log. Probes are not logged.
func (m *repoMetrics) observe(next http.Handler, log *slog.Logger, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := now()
		seen := &seenResponse{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r)
		took := now().Sub(start)
		repository, operation := describe(r)
		m.requests.WithLabelValues(repository, operation, strconv.Itoa(seen.status)).Inc()
		m.seconds.WithLabelValues(repository, operation).Observe(took.Seconds())
		if isProbe(r) {
			return
		}
		log.Info("request", "method", r.Method, "path", r.URL.Path, "status", seen.status, "bytes", seen.bytes, "took", took.Round(time.Microsecond), "from", r.RemoteAddr)
	})
}

func isProbe(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// seenResponse remembers what was answered.
type seenResponse struct {
	http.ResponseWriter
	status int
	bytes  int
}

// Unwrap is for http.ResponseController.
func (s *seenResponse) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *seenResponse) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func (s *seenResponse) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p)
	s.bytes += n
	return n, err
}

// readUsers reads a file of lines user:password.
func readUsers(file string) (map[string][sha256.Size]byte, error) {
	data, err := readLimited(file)
	if err != nil {
		return nil, fmt.Errorf("reading users: %w", err)
	}
	users := map[string][sha256.Size]byte{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		if lines.Text() == "" {
			continue
		}
		user, password, ok := strings.Cut(lines.Text(), ":")
		if !ok || user == "" || password == "" {
			return nil, fmt.Errorf("%s:%d: must be USER:PASSWORD", file, n)
		}
		users[user] = sha256.Sum256([]byte(password))
	}
	if err := errors.Join(lines.Err()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(users) == 0 {
		return nil, fmt.Errorf("%s: there are no users in it", file)
	}
	return users, nil
}

// authenticate demands one of the users, except of probes and for clocks, which contain nothing.
func authenticate(next http.Handler, users func() (map[string][sha256.Size]byte, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind, _ := describe(r); isProbe(r) || kind == "clock" {
			next.ServeHTTP(w, r)
			return
		}
		known, err := users()
		if err != nil {
			http.Error(w, "users cannot be read now; see the server's log", http.StatusServiceUnavailable)
			return
		}
		user, password, _ := r.BasicAuth()
		want, ok := known[user]
		got := sha256.Sum256([]byte(password))
		if equal := subtle.ConstantTimeCompare(got[:], want[:]) == 1; !ok || !equal {
			w.Header().Set("WWW-Authenticate", `Basic realm="argosy"`)
			http.Error(w, "user and password are needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// certificate loads the certificate for each handshake, so that a renewed one is used.
func certificate(certFile, keyFile string) (*tls.Config, error) {
	if certFile == "" || keyFile == "" {
		return nil, usagef("--tls-cert and --tls-key go together")
	}
	load := func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("loading the certificate: %w", innermost(err))
		}
		return &c, nil
	}
	if _, err := load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() }}, nil
}

// Limits of connections, so that no client takes all that a process may have.
const (
	maxConnections     = 2000
	maxConnectionsEach = 500
)

// limitConnections closes connections over the limits at once.
func limitConnections(l net.Listener) net.Listener {
	return &limitedListener{Listener: l, open: map[string]int{}, all: maxConnections, each: maxConnectionsEach}
}

type limitedListener struct {
	net.Listener
	all, each int

	mu    sync.Mutex
	open  map[string]int
	count int
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		l.mu.Lock()
		free := l.count < l.all && l.open[client] < l.each
		if free {
			l.count++
			l.open[client]++
		}
		l.mu.Unlock()
		if free {
			return &countedConn{Conn: c, closed: sync.OnceFunc(func() { l.closed(client) })}, nil
		}
		_ = c.Close()
	}
}

func (l *limitedListener) closed(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count--
	if l.open[client]--; l.open[client] == 0 {
		delete(l.open, client)
	}
}

type countedConn struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}
