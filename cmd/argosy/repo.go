package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"iter"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/trigger"
	"github.com/argosy-cd/argosy/internal/turnstile"
	"github.com/argosy-cd/argosy/internal/words"
)

type repoOptions struct {
	cacheOptions
	listen    string
	interval  time.Duration
	policy    string
	users     string
	everybody bool // may read buckets
	tlsCert   string
	tlsKey    string
}

// intervalVariable is how often appset.git ticks.
const intervalVariable = "APPSET_REFRESH_INTERVAL"

func newRepoCommand(std stdio) *cobra.Command {
	var opts repoOptions
	cmd := &cobra.Command{
		Use:   "repo",
		Short: "Serve trigger repositories: Git repositories that get an empty commit at each tick of a clock",
		Long: `Serve trigger repositories over smart HTTP. A new commit makes Argo CD ask its plugins again, though nothing has changed in Git.

  /appset.git              ticks every $` + intervalVariable + `
  /every/10m/team-a.git    ticks every 10 minutes, at a time of its own; any duration, any name
  /s3/BUCKET/PATH.git      has what is under a path in a bucket, if the policy allows it (repositories.s3)

Clocks contain nothing and are open to everybody. Buckets are served to --users, which Argo CD takes from a repository Secret (username, password), or
to everybody who reaches the server with --anonymous-buckets; one of the two must be set if the policy serves any.

Nothing is stored: a commit follows from the name, the interval and the time, or from what is in the bucket, so replicas agree and a restart
changes nothing. While a bucket cannot be read, or is empty, its last tree is served, and /readyz says so. Nothing can be pushed. Requests, waiting
ones and memory are bounded, for one client and for all; further requests get 429 or 503 with Retry-After.

/healthz and /readyz are for probes, /metrics is for Prometheus, / is a page for people. Each request is a line on standard error.`,
		Example: `  ` + intervalVariable + `=5m argosy repo --listen :8080
  git ls-remote http://localhost:8080/appset.git`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(std, cmd.Flags()); err != nil {
				return err
			}
			return runRepo(cmd.Context(), std, opts)
		},
	}
	opts.register(cmd.Flags())
	cmd.Flags().StringVar(&opts.policy, "policy", "", "`FILE` that says which buckets are served; without one, none ($ARGOSY_POLICY)")
	cmd.Flags().StringVar(&opts.users, "users", "", "`FILE` with lines USER:PASSWORD, who may read buckets, / and /metrics; it is read again when it changes")
	cmd.Flags().BoolVar(&opts.everybody, "anonymous-buckets", false, "serve buckets to everybody who reaches the server")
	cmd.Flags().StringVar(&opts.tlsCert, "tls-cert", "", "`FILE` with a certificate, to speak TLS; it is read again when it is renewed")
	cmd.Flags().StringVar(&opts.tlsKey, "tls-key", "", "`FILE` with its key")
	cmd.Flags().StringVar(&opts.listen, "listen", "127.0.0.1:8080", "`ADDRESS` to listen on")
	cmd.Flags().DurationVar(&opts.interval, "interval", defaultInterval, "how often /appset.git ticks ($"+intervalVariable+")")
	return cmd
}

func runRepo(ctx context.Context, std stdio, opts repoOptions) error {
	repos, err := newServedRepositories(std, opts)
	if err != nil {
		return err
	}
	handler, err := repoServer(std, opts, repos)
	if err != nil {
		return err
	}
	scheme := "http"
	var config *tls.Config
	if opts.tlsCert != "" || opts.tlsKey != "" {
		if config, err = certificate(opts.tlsCert, opts.tlsKey); err != nil {
			return err
		}
		scheme = "https"
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opts.listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", opts.listen, innermost(err))
	}
	listener = limitConnections(listener)
	server := repoHTTP(handler, 10*time.Second)
	server.TLSConfig = config
	fmt.Fprintf(std.err, "serving %s://%s/appset.git, a tick every %s\n", scheme, listener.Addr(), opts.interval)
	ended := make(chan error, 1)
	go func() {
		if config != nil {
			ended <- server.ServeTLS(listener, "", "")
			return
		}
		ended <- server.Serve(listener)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// Requests that run may finish.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(stop); err != nil {
		return errors.Join(fmt.Errorf("stopping: %w", err), server.Close())
	}
	return nil
}

// repoHTTP is a server that waits so long for the head of a request, half as long again for the rest of it, and some times as long for its answer to be read.
func repoHTTP(handler http.Handler, patience time.Duration) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: patience, ReadTimeout: patience * 3 / 2, WriteTimeout: 6 * patience, IdleTimeout: 12 * patience, MaxHeaderBytes: 64 << 10,
	}
}

// servedRepositories opens repositories by their path.
type servedRepositories struct {
	clocks  *trigger.Clocks
	policy  *policy.Policy
	buckets *buckets.Pool
	timeout time.Duration

	// Requests for clocks, which are open to everybody, do not take the places of those for buckets.
	clockTurns, bucketTurns turnstile.Turnstile

	mu   sync.Mutex
	open map[string]*trigger.Bucket
	used []string // the least recently used first
}

// Bucket repositories that are remembered, with the trees that they have served. The others are read again, as after a restart.
const (
	maxServedBuckets = 100
	maxServedBytes   = 256 << 20
)

// Limits of requests at once, for each kind of repository. Each takes some megabytes at most.
const (
	maxAtOnce, maxAtOnceEach = 32, 8
	maxQueue, maxQueueEach   = 512, 128
	// maxWait is how long a request waits for its turn. Argo CD gives up on a repository after 15 s.
	maxWait = 10 * time.Second
)

func newServedRepositories(std stdio, opts repoOptions) (*servedRepositories, error) {
	s := &servedRepositories{clocks: &trigger.Clocks{Interval: opts.interval, Now: std.now}, timeout: opts.timeout, open: map[string]*trigger.Bucket{}}
	for _, turns := range []*turnstile.Turnstile{&s.clockTurns, &s.bucketTurns} {
		turns.All, turns.Each, turns.Queue, turns.QueueEach = maxAtOnce, maxAtOnceEach, maxQueue, maxQueueEach
	}
	if _, err := s.clocks.Open("appset.git"); err != nil {
		return nil, problem.Usage(err)
	}
	var err error
	if s.policy, err = readPolicy(opts.policy); err != nil {
		return nil, err
	}
	if s.policy != nil && len(s.policy.Repositories.S3) > 0 && opts.users == "" && !opts.everybody {
		return nil, usagef("%s serves buckets (repositories.s3), and nobody is said to be allowed to read them: set --users FILE, or --anonymous-buckets to serve them to everybody who reaches the server", opts.policy)
	}
	if opts.users != "" && opts.everybody {
		return nil, usagef("--users and --anonymous-buckets exclude each other")
	}
	cache, err := opts.open(std)
	s.buckets = &buckets.Pool{Cache: cache, Now: std.now}
	return s, err
}

// repository returns the repository at a path.
func (s *servedRepositories) repository(ctx context.Context, path string) (gitserver.Repository, error) {
	rest, isBucket := strings.CutPrefix(path, "s3/")
	if !isBucket {
		c, err := s.clocks.Open(path)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	name, ok := strings.CutSuffix(rest, ".git")
	url, err := bucket.ParseURL("s3://" + name)
	if !ok || err != nil || url.Path == "" {
		return nil, gitserver.ErrNotFound
	}
	// Who asks is not told why: whether a bucket exists is not theirs to know.
	if err := s.policy.Repository(url.Bucket, url.Path); err != nil {
		return nil, errors.Join(gitserver.ErrNotFound, err)
	}
	b := s.find(path)
	if b == nil {
		reader, err := s.buckets.Reader(ctx, triggerfile.Access{Bucket: url.Bucket})
		if err != nil {
			return nil, err
		}
		b = s.keep(path, trigger.NewBucket(reader, url.Path))
	}
	return servedBucket{b, func() { s.settle(path, b) }}, nil
}

// servedBucket tells when it was read.
type servedBucket struct {
	*trigger.Bucket
	read func()
}

// Head implements gitserver.Repository.
func (b servedBucket) Head(ctx context.Context) (gitserver.Hash, error) {
	defer b.read()
	return b.Bucket.Head(ctx)
}

// History implements gitserver.Repository.
func (b servedBucket) History(ctx context.Context, commit gitserver.Hash) (gitserver.History, bool, error) {
	defer b.read()
	return b.Bucket.History(ctx, commit)
}

// find returns a bucket repository that is remembered.
func (s *servedRepositories) find(path string) *trigger.Bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.open[path]
	if b != nil {
		s.use(path)
	}
	return b
}

// keep remembers a bucket repository, and returns it, or the one that another request has opened at the same time.
func (s *servedRepositories) keep(path string, b *trigger.Bucket) *trigger.Bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.open[path]; other != nil {
		return other
	}
	s.open[path] = b
	s.use(path)
	s.evict()
	return b
}

// settle forgets a bucket repository that could not be read, such as one that does not exist, and others if it has brought too much.
func (s *servedRepositories) settle(path string, b *trigger.Bucket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Bytes() == 0 && s.open[path] == b {
		s.forget(path)
	}
	s.evict()
}

func (s *servedRepositories) use(path string) {
	s.used = append(slices.DeleteFunc(s.used, func(p string) bool { return p == path }), path)
}

func (s *servedRepositories) forget(path string) {
	delete(s.open, path)
	s.used = slices.DeleteFunc(s.used, func(p string) bool { return p == path })
}

// evict forgets bucket repositories that were not used for longest: those first that nothing is known of. The one that was used last stays.
func (s *servedRepositories) evict() {
	total := int64(0)
	for _, b := range s.open {
		total += b.Bytes()
	}
	for _, known := range []bool{false, true} {
		for _, path := range slices.Clone(s.used[:len(s.used)-min(1, len(s.used))]) {
			size := s.open[path].Bytes()
			if len(s.open) <= maxServedBuckets && total <= maxServedBytes {
				return
			}
			if known == (size > 0) {
				total -= size
				s.forget(path)
			}
		}
	}
}

// served gives all bucket repositories in order.
func (s *servedRepositories) served() iter.Seq2[string, *trigger.Bucket] {
	s.mu.Lock()
	open := maps.Clone(s.open)
	s.mu.Unlock()
	return func(yield func(string, *trigger.Bucket) bool) {
		for _, path := range slices.Sorted(maps.Keys(open)) {
			if !yield(path, open[path]) {
				return
			}
		}
	}
}

// repoServer puts users, metrics and the access log in front of the repositories.
func repoServer(std stdio, opts repoOptions, repos *servedRepositories) (http.Handler, error) {
	metrics := newRepoMetrics(repos)
	handler := repoHandler(std, repos, metrics)
	if opts.users != "" {
		users := &watchedFile[map[string][sha256.Size]byte]{file: opts.users, what: "users", read: readUsers}
		if _, err := users.current(); err != nil {
			return nil, err
		}
		handler = authenticate(handler, func() (map[string][sha256.Size]byte, error) {
			known, err := users.current()
			if err != nil {
				fmt.Fprintf(std.err, "error: %v\n", err)
			}
			return known, err
		})
	}
	return metrics.observe(handler, slog.New(slog.NewTextHandler(std.err, nil)), std.now), nil
}

func repoHandler(std stdio, repos *servedRepositories, metrics *repoMetrics) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	// Clocks are ready without any bucket, so a bucket that fails is told, and no reason to send nobody here.
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
		failing := 0
		for _, b := range repos.served() {
			if b.Err() != nil {
				failing++
			}
		}
		if failing > 0 { // their names are not everybody's business
			fmt.Fprintf(w, "failing: %d bucket repositories serve their last tree; see the log\n", failing)
		}
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { repoPage(w, r, repos) })
	log := func(path string, err error) {
		fmt.Fprintf(std.err, "error: %s: %s\n", words.Printable(path), strings.ReplaceAll(err.Error(), "\n", ": "))
	}
	git := &gitserver.Server{Open: repos.repository, Failed: log}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		leave, err := repos.turn(r)
		if err != nil {
			turnstile.Refuse(w, err)
			return
		}
		defer leave()
		ctx, cancel := context.WithTimeoutCause(r.Context(), repos.timeout, fmt.Errorf("not finished after %s (--timeout)", repos.timeout))
		defer cancel()
		git.ServeHTTP(w, r.WithContext(ctx))
		for path, b := range repos.served() {
			if err := b.Err(); err != nil && strings.HasPrefix(r.URL.Path, "/"+path+"/") {
				log(path, err)
			}
		}
	})
	return mux
}

// turn waits until a request may be answered.
func (s *servedRepositories) turn(r *http.Request) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	if kind, _ := describe(r); kind == "bucket" {
		return s.bucketTurns.Enter(ctx, turnstile.Client(r))
	}
	return s.clockTurns.Enter(ctx, turnstile.Client(r))
}

// repoPage lists the repositories that were asked for.
func repoPage(w http.ResponseWriter, r *http.Request, repos *servedRepositories) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "%s", "<!doctype html><meta charset=utf-8><title>Argosy trigger repositories</title><style>body{font:16px system-ui;margin:2em}td,th{padding:.3em 1em;text-align:left}</style>"+
		"<h1>Trigger repositories</h1><table><tr><th>repository<th>commit<th>next tick")
	row := func(path string, repository gitserver.Repository, note string) {
		commit := "none"
		if head, err := repository.Head(r.Context()); err == nil {
			commit = head.String()
		}
		fmt.Fprintf(w, "<tr><td><code>/%s</code><td><code>%s</code><td>%s", html.EscapeString(path), commit, note)
	}
	for path, clock := range repos.clocks.All() {
		row(path, clock, clock.Next().Format(time.RFC3339))
	}
	for path, b := range repos.served() {
		note := "when the bucket changes"
		if b.Err() != nil {
			note = "the bucket cannot be read; this is what it had"
		}
		row(path, b, note)
	}
	fmt.Fprintln(w, "</table><p>Any <code>/every/&lt;duration&gt;/&lt;name&gt;.git</code> is one, too.")
}
