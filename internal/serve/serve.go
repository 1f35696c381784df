// Package serve is the one way in which our processes serve HTTP: limits of time and of connections, TLS with certificates that are
// renewed, probes and metrics, the log, a stop that lets running requests finish, and settings in files that are read again when they
// change.
package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/problem"
)

// Config says where and how to serve.
type Config struct {
	// Address to listen on.
	Address string
	// Cert and Key are files with a certificate and its key, which are read for each handshake. Both empty is no TLS; one alone is refused.
	Cert, Key string
	// Patience bounds reading the head of a request; its body and its answer may take a multiple of that. Zero is 10 s.
	Patience time.Duration
	// Grace is how long running requests may take when the server stops. Zero ends them at once.
	Grace time.Duration
	// Log has a line when the server listens, with Fields behind the address, and one when it has stopped. Nil logs nothing.
	Log    *slog.Logger
	Fields []any
}

// patience is for the head of a request.
const patience = 10 * time.Second

// Server listens, and serves when it is run.
type Server struct {
	http     *http.Server
	listener net.Listener
	grace    time.Duration
	log      *slog.Logger
	fields   []any
}

// Listen begins to listen, with limits of connections. Run serves; Close closes a server that was not run.
func Listen(ctx context.Context, cfg Config, handler http.Handler) (*Server, error) {
	s := &Server{http: bounded(handler, cmp.Or(cfg.Patience, patience)), grace: cfg.Grace, log: cfg.Log, fields: cfg.Fields}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if cfg.Cert != "" || cfg.Key != "" {
		if s.http.TLSConfig, err = certificate(cfg.Cert, cfg.Key); err != nil {
			return nil, err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", cfg.Address, problem.Innermost(err))
	}
	s.listener = limitConnections(listener)
	return s, nil
}

// bounded is an HTTP server with limits of time and size: it waits so long for the head of a request, half as long again for the rest of
// it, and some times as long for its answer to be read.
func bounded(handler http.Handler, patience time.Duration) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: patience, ReadTimeout: patience * 3 / 2, WriteTimeout: 6 * patience,
		IdleTimeout: 12 * patience, MaxHeaderBytes: 64 << 10,
	}
}

// Address is where it listens: host and port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Scheme is https with TLS, and http without.
func (s *Server) Scheme() string {
	if s.http.TLSConfig != nil {
		return "https"
	}
	return "http"
}

// Run serves until the context ends, and then lets running requests finish.
func (s *Server) Run(ctx context.Context) error {
	s.log.Info("listening", append([]any{"address", s.Address(), "tls", s.Scheme() == "https"}, s.fields...)...)
	defer s.log.Info("stopped")
	ended := make(chan error, 1)
	go func() {
		if s.http.TLSConfig != nil {
			ended <- s.http.ServeTLS(s.listener, "", "")
			return
		}
		ended <- s.http.Serve(s.listener)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	if s.grace == 0 {
		return s.http.Close()
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
	defer cancel()
	if err := s.http.Shutdown(stop); err != nil {
		return errors.Join(fmt.Errorf("stopping: %w", err), s.http.Close())
	}
	return nil
}

// Start serves in the background, also after the context has ended. Stop ends that as Run ends.
func (s *Server) Start(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
}

// Close ends a server that was not run.
func (s *Server) Close() error { return s.listener.Close() }

// certificate loads the certificate for each handshake, so that a renewed one is used.
func certificate(certFile, keyFile string) (*tls.Config, error) {
	if certFile == "" || keyFile == "" {
		return nil, problem.Usagef("--tls-cert and --tls-key require each other")
	}
	load := func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("loading the certificate: %w", problem.Innermost(err))
		}
		return &c, nil
	}
	if _, err := load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return load()
	}}, nil
}

// Log writes a log, format "json" as JSON, any other as text.
func Log(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// Check answers a probe. An error is answered with 503. Without one, note is the answer; "" is "ok".
type Check func() (note string, err error)

// Probes are the health and metrics endpoints of each of our servers.
type Probes struct {
	// Healthy is /healthz, whether a restart would help. Nil is always.
	Healthy Check
	// Ready is /readyz, whether requests should come. Nil is always.
	Ready Check
	// Metrics is /metrics.
	Metrics http.Handler
}

// Handle adds them to a mux.
func (p Probes) Handle(mux *http.ServeMux) {
	mux.HandleFunc("GET "+healthyPath, probe(p.Healthy))
	mux.HandleFunc("GET "+readyPath, probe(p.Ready))
	mux.Handle("GET "+metricsPath, p.Metrics)
}

// Paths of Probes.
const (
	healthyPath = "/healthz"
	readyPath   = "/readyz"
	metricsPath = "/metrics"
)

// IsProbe reports whether a request is a health probe.
func IsProbe(r *http.Request) bool { return r.URL.Path == healthyPath || r.URL.Path == readyPath }

// IsPublic reports whether a request is for Probes: Kubernetes and Prometheus have no credentials, and call a server by the address of its
// Pod.
func IsPublic(r *http.Request) bool { return IsProbe(r) || r.URL.Path == metricsPath }

func probe(check Check) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		note := ""
		if check != nil {
			var err error
			if note, err = check(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		fmt.Fprintln(w, cmp.Or(note, "ok"))
	}
}
