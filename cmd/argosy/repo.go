package main

import (
	"context"
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
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/trigger"
)

type repoOptions struct {
	cacheOptions
	listen   string
	interval time.Duration
	policy   string
	users    string
	tlsCert  string
	tlsKey   string
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

Nothing is stored: a commit follows from the name, the interval and the time, or from what is in the bucket, so replicas agree and a restart
changes nothing. While a bucket cannot be read, or is empty, its last tree is served, and /readyz says so. Nothing can be pushed.

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
	cmd.Flags().StringVar(&opts.users, "users", "", "`FILE` with lines USER:PASSWORD; only they may ask, except for probes")
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

// repoHTTP is a server that waits so long for the head of a request, and some times as long for the rest of it.
func repoHTTP(handler http.Handler, patience time.Duration) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: patience, ReadTimeout: 3 * patience, WriteTimeout: 6 * patience, IdleTimeout: 12 * patience, MaxHeaderBytes: 64 << 10,
	}
}

// servedRepositories opens repositories by their path.
type servedRepositories struct {
	clocks  *trigger.Clocks
	policy  *policy.Policy
	buckets *buckets
	timeout time.Duration

	mu   sync.Mutex
	open map[string]*trigger.Bucket
}

// maxServedBuckets bounds how many buckets are remembered. The policy bounds them, too, unless it has wildcards.
const maxServedBuckets = 100

func newServedRepositories(std stdio, opts repoOptions) (*servedRepositories, error) {
	s := &servedRepositories{clocks: &trigger.Clocks{Interval: opts.interval, Now: std.now}, timeout: opts.timeout, open: map[string]*trigger.Bucket{}}
	if _, err := s.clocks.Open("appset.git"); err != nil {
		return nil, usageError{err}
	}
	var err error
	if s.policy, err = readPolicy(opts.policy); err != nil {
		return nil, err
	}
	cache, err := opts.open(std)
	s.buckets = &buckets{cache: cache, now: std.now}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.open[path]; b != nil {
		return b, nil
	}
	reader, err := s.buckets.reader(ctx, triggerfile.Access{Bucket: url.Bucket})
	if err != nil {
		return nil, err
	}
	if len(s.open) >= maxServedBuckets {
		return nil, fmt.Errorf("more than %d buckets are asked for", maxServedBuckets)
	}
	b := trigger.NewBucket(reader, url.Path)
	s.open[path] = b
	return b, nil
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
		users, err := readUsers(opts.users)
		if err != nil {
			return nil, err
		}
		handler = authenticate(handler, users)
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
		for path, b := range repos.served() {
			if err := b.Err(); err != nil {
				fmt.Fprintf(w, "failing: /%s\n", path)
			}
		}
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { repoPage(w, r, repos) })
	log := func(path string, err error) {
		fmt.Fprintf(std.err, "error: %s: %s\n", printable(path), strings.ReplaceAll(err.Error(), "\n", ": "))
	}
	git := &gitserver.Server{Open: repos.repository, Failed: log}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
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
