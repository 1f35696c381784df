package reposerver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/metrics"
	"github.com/argosy-cd/argosy/internal/secret"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/trigger/triggerurl"
)

// repoMetrics are the metrics of the server at /metrics.
type repoMetrics struct {
	registry *metrics.Registry
	requests metrics.Counter
	seconds  metrics.Histogram
}

func newMetrics(s *Server) *repoMetrics {
	m := metrics.New()
	m.Read("argosy_repo_buckets_failing", "Bucket repositories that serve their last tree because the bucket cannot be read.", s.failing)
	return &repoMetrics{
		registry: m,
		requests: m.Counter("argosy_repo_requests_total", "Requests, by kind of repository, operation and status.", "repository",
			"operation", "code"),
		seconds: m.Histogram("argosy_repo_request_seconds", "Time that requests took.",
			metrics.Buckets{First: 0.001, Factor: 4, Number: 8}, "repository", "operation"),
	}
}

// kind is the kind of a repository, for metrics and limits.
type kind string

const (
	kindBucket kind = "bucket"
	kindClock  kind = "clock"
	kindNone   kind = "none" // a request for something else
)

// describe returns the class of a request for metrics; there are few classes.
func describe(r *http.Request) (repository kind, operation string) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/"+triggerurl.BucketPrefix):
		repository = kindBucket
	case strings.HasPrefix(r.URL.Path, "/"+triggerurl.ClockPrefix) || strings.HasPrefix(r.URL.Path, "/"+triggerurl.Interval+"/"):
		repository = kindClock
	default:
		return kindNone, "other"
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
		m.requests.Add(1, string(repository), operation, strconv.Itoa(seen.status))
		m.seconds.Observe(took.Seconds(), string(repository), operation)
		if serve.IsProbe(r) {
			return
		}
		log.Info("request", "method", r.Method, "path", r.URL.Path, "status", seen.status, "bytes", seen.bytes, "took",
			took.Round(time.Microsecond), "from", r.RemoteAddr)
	})
}

// seenResponse records the status and the size of an answer.
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

// users has the passwords of the users who may read buckets, by name.
type users map[string]secret.Text

// parseUsers reads lines USER:PASSWORD.
func parseUsers(file string, data []byte) (users, error) {
	known := users{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		if lines.Text() == "" {
			continue
		}
		user, password, ok := strings.Cut(lines.Text(), ":")
		if !ok || user == "" || password == "" {
			return nil, fmt.Errorf("%s:%d: must be USER:PASSWORD", file, n)
		}
		known[user] = secret.New(password)
	}
	if err := errors.Join(lines.Err()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("%s: there are no users in it", file)
	}
	return known, nil
}

// authenticate demands one of the users, except of probes, of Prometheus, and for clocks, which contain nothing. No label of a metric may
// name a bucket, an object or a user: metrics are public.
func authenticate(next http.Handler, list func() (users, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if repository, _ := describe(r); serve.IsPublic(r) || repository == kindClock {
			next.ServeHTTP(w, r)
			return
		}
		known, err := list()
		if err != nil {
			http.Error(w, "the file of users cannot be read now; see the server's log", http.StatusServiceUnavailable)
			return
		}
		user, password, _ := r.BasicAuth()
		if !known[user].Is(password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="argosy"`)
			http.Error(w, "user and password are needed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
