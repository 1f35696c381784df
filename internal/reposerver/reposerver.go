// Package reposerver serves trigger repositories over smart HTTP: clocks, which are open to everybody and contain nothing, and buckets,
// which are served to users, or with Config.Anonymous to everybody, and only if the policy allows it at the time of the request. Nothing is
// stored and nothing can be pushed. Requests, waiting ones and memory are bounded, for one client and for all.
package reposerver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/trigger"
	"github.com/argosy-cd/argosy/internal/trigger/triggerurl"
	"github.com/argosy-cd/argosy/internal/turnstile"
)

// Config configures a Server.
type Config struct {
	// Interval is how often appset.git ticks.
	Interval time.Duration
	// Policy says which buckets are served. A file without a name serves none.
	Policy *serve.File[*policy.Policy]
	// Users is a file with lines USER:PASSWORD, who may read buckets and the page. With "", everybody may read all but buckets.
	Users string
	// Anonymous serves buckets to everybody who can reach the server. It excludes Users.
	Anonymous bool
	// Open opens a bucket.
	Open func(context.Context, triggerfile.Access) (*bucket.Reader, error)
	// Timeout bounds a request.
	Timeout time.Duration
	// Log has a line for each request and each problem.
	Log *slog.Logger
	Now func() time.Time
}

// Server opens repositories by their path.
type Server struct {
	cfg     Config
	clocks  *trigger.Clocks
	users   *serve.File[users]
	metrics *repoMetrics

	// Requests for clocks, which are open to everybody, do not use the places of requests for buckets.
	clockTurns, bucketTurns turnstile.Turnstile

	mu   sync.Mutex
	open map[string]*trigger.Bucket
	used []string // the least recently used first
}

// Limits of requests at once, for each kind of repository. Each takes some megabytes at most.
const (
	maxAtOnce, maxAtOnceEach = 32, 8
	maxQueue, maxQueueEach   = 1024, 128
	// maxWait is how long a request waits for its turn. Argo CD gives up on a repository after 15 s.
	maxWait = 10 * time.Second
)

// New prepares a server, and refuses settings that contradict each other.
func New(cfg Config) (*Server, error) {
	s := &Server{cfg: cfg, clocks: &trigger.Clocks{Interval: cfg.Interval, Now: cfg.Now}, open: map[string]*trigger.Bucket{}}
	for _, turns := range []*turnstile.Turnstile{&s.clockTurns, &s.bucketTurns} {
		turns.All, turns.Each, turns.Queue, turns.QueueEach = maxAtOnce, maxAtOnceEach, maxQueue, maxQueueEach
	}
	if _, err := s.clocks.Open(triggerurl.Interval); err != nil {
		return nil, problem.Usage(err)
	}
	p, err := cfg.Policy.Current()
	if err != nil {
		return nil, err
	}
	if err := s.readers(p); err != nil {
		return nil, problem.Usage(err)
	}
	if cfg.Users != "" && cfg.Anonymous {
		return nil, problem.Usagef("--users and --anonymous-buckets exclude each other")
	}
	s.users = serve.Watch(cfg.Users, "users", parseUsers)
	if _, err := s.users.Current(); err != nil {
		return nil, err
	}
	s.metrics = newMetrics(s)
	return s, nil
}

// readers refuses a policy that serves buckets unless a flag configures their readers.
func (s *Server) readers(p *policy.Policy) error {
	if p != nil && len(p.Repositories.S3) > 0 && s.cfg.Users == "" && !s.cfg.Anonymous {
		return fmt.Errorf("%s serves buckets (repositories.s3), but no flag says who may read them: set --users FILE, or "+
			"--anonymous-buckets to serve them to everybody who reaches the server", s.cfg.Policy.Name())
	}
	return nil
}

// Run serves until the context ends.
func (s *Server) Run(ctx context.Context, cfg serve.Config) error {
	cfg.Log, cfg.Fields = s.cfg.Log, []any{"interval", s.cfg.Interval.String()}
	server, err := serve.Listen(ctx, cfg, s.Handler())
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

// Handler puts users, metrics and the access log in front of the repositories.
func (s *Server) Handler() http.Handler {
	handler := s.repositories()
	if s.cfg.Users != "" {
		handler = authenticate(handler, func() (users, error) {
			known, err := s.users.Current()
			if err != nil {
				s.cfg.Log.Error("users", "error", err)
			}
			return known, err
		})
	}
	return s.metrics.observe(handler, s.cfg.Log, s.cfg.Now)
}

func (s *Server) repositories() http.Handler {
	mux := http.NewServeMux()
	// Clocks work without any bucket, so a failing bucket is reported, but does not make the server unready.
	serve.Probes{Ready: s.ready, Metrics: s.metrics.registry.Handler()}.Handle(mux)
	mux.HandleFunc("GET /{$}", s.inTurn(s.page))
	git := &gitserver.Server{Open: s.repository, Failed: s.failed}
	mux.HandleFunc("/", s.inTurn(func(w http.ResponseWriter, r *http.Request) {
		git.ServeHTTP(w, r)
		for path, b := range s.served() {
			if err := b.Err(); err != nil && strings.HasPrefix(r.URL.Path, "/"+path+"/") {
				s.failed(path, err)
			}
		}
	}))
	return mux
}

// inTurn answers requests when it is their turn, and in bounded time.
func (s *Server) inTurn(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		leave, err := s.turn(r)
		if err != nil {
			turnstile.Refuse(w, err)
			return
		}
		defer leave()
		ctx, cancel := context.WithTimeoutCause(r.Context(), s.cfg.Timeout, fmt.Errorf("not finished after %s (--timeout)", s.cfg.Timeout))
		defer cancel()
		next(w, r.WithContext(ctx))
	}
}

func (s *Server) ready() (string, error) {
	if failing := s.failing(); failing > 0 { // the probe is public, so it has no names
		return fmt.Sprintf("ok\nfailing: %d bucket repositories serve their last tree; see the log", failing), nil
	}
	return "", nil
}

// failed writes a problem of a repository to the log.
func (s *Server) failed(path string, err error) {
	s.cfg.Log.Error("repository", "path", path, "error", strings.ReplaceAll(err.Error(), "\n", ": "))
}

// turn waits until a request may be answered.
func (s *Server) turn(r *http.Request) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	if repository, _ := describe(r); repository == kindBucket {
		return s.bucketTurns.Enter(ctx, turnstile.Client(r))
	}
	return s.clockTurns.Enter(ctx, turnstile.Client(r))
}

// repository returns the repository at a path.
func (s *Server) repository(ctx context.Context, path string) (gitserver.Repository, error) {
	if !strings.HasPrefix(path, triggerurl.BucketPrefix) {
		c, err := s.clocks.Open(path)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	url, err := s.allowed(path)
	if err != nil {
		if errors.Is(err, gitserver.ErrNotFound) {
			s.drop(path)
		}
		return nil, err
	}
	b := s.find(path)
	if b == nil {
		reader, err := s.cfg.Open(ctx, triggerfile.Access{Bucket: url.Bucket})
		if err != nil {
			return nil, err
		}
		b = s.keep(path, trigger.NewBucket(reader, url.Path))
	}
	return servedBucket{b, func() { s.settle(path, b) }}, nil
}

// allowed returns the bucket and the directory of a path, if the policy allows to serve them now.
func (s *Server) allowed(path string) (bucket.URL, error) {
	at, err := triggerurl.Parse(path)
	if err != nil {
		return bucket.URL{}, gitserver.ErrNotFound
	}
	url, err := bucket.ParseURL("s3://" + at.Place)
	if err != nil {
		return url, gitserver.ErrNotFound
	}
	p, err := s.cfg.Policy.Current()
	if err != nil {
		return url, err
	}
	// The client does not get the reason, which could reveal whether a bucket exists.
	if err := errors.Join(p.Repository(url.Bucket, url.Path), s.readers(p)); err != nil {
		return url, errors.Join(gitserver.ErrNotFound, err)
	}
	return url, nil
}
