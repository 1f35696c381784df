package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/trigger"
)

type repoOptions struct {
	listen   string
	interval time.Duration
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

Nothing is stored: a commit follows from the name, the interval and the time, so replicas agree and a restart changes nothing. Nothing
can be pushed. /healthz answers while the server runs, / is a page for people.`,
		Example: `  ` + intervalVariable + `=5m argosy repo --listen :8080
  git ls-remote http://localhost:8080/appset.git`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := intervalFromEnvironment(std, cmd); err != nil {
				return err
			}
			return runRepo(cmd.Context(), std, opts)
		},
	}
	cmd.Flags().StringVar(&opts.listen, "listen", "127.0.0.1:8080", "`ADDRESS` to listen on")
	cmd.Flags().DurationVar(&opts.interval, "interval", 3*time.Minute, "how often /appset.git ticks ($"+intervalVariable+")")
	return cmd
}

func intervalFromEnvironment(std stdio, cmd *cobra.Command) error {
	value := std.getenv(intervalVariable)
	if value == "" || cmd.Flags().Changed("interval") {
		return nil
	}
	if err := cmd.Flags().Set("interval", value); err != nil {
		return usagef("variable %s: %q must be a duration such as 3m", intervalVariable, value)
	}
	return nil
}

func runRepo(ctx context.Context, std stdio, opts repoOptions) error {
	clocks := &trigger.Clocks{Interval: opts.interval, Now: std.now}
	if _, err := clocks.Open("appset.git"); err != nil {
		return usageError{err}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opts.listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", opts.listen, innermost(err))
	}
	server := &http.Server{
		Handler: repoHandler(std, clocks), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
	fmt.Fprintf(std.err, "serving http://%s/appset.git, a tick every %s\n", listener.Addr(), opts.interval)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
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

func repoHandler(std stdio, clocks *trigger.Clocks) http.Handler {
	mux := http.NewServeMux()
	ok := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }
	mux.HandleFunc("GET /healthz", ok)
	mux.HandleFunc("GET /readyz", ok)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { repoPage(w, r, clocks) })
	mux.Handle("/", &gitserver.Server{
		Open: func(_ context.Context, path string) (gitserver.Repository, error) {
			c, err := clocks.Open(path)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
		Failed: func(path string, err error) { fmt.Fprintf(std.err, "error: %s: %v\n", printable(path), err) },
	})
	return mux
}

// repoPage lists the repositories that were asked for.
func repoPage(w http.ResponseWriter, r *http.Request, clocks *trigger.Clocks) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "%s", "<!doctype html><meta charset=utf-8><title>Argosy trigger repositories</title><style>body{font:16px system-ui;margin:2em}td,th{padding:.3em 1em;text-align:left}</style>"+
		"<h1>Trigger repositories</h1><table><tr><th>repository<th>commit<th>next tick")
	for path, clock := range clocks.All() {
		head, err := clock.Head(r.Context())
		if err != nil {
			continue
		}
		fmt.Fprintf(w, "<tr><td><code>/%s</code><td><code>%s</code><td>%s", html.EscapeString(path), head, clock.Next().Format(time.RFC3339))
	}
	fmt.Fprintln(w, "</table><p>Any <code>/every/&lt;duration&gt;/&lt;name&gt;.git</code> is one, too.")
}
