package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/reposerver"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
	"github.com/argosy-cd/argosy/internal/serve"
)

type repoOptions struct {
	option.Cache
	server    option.Server
	interval  time.Duration
	policy    string
	users     string
	everybody bool // may read buckets
}

func newRepoCommand(std stdio) *cobra.Command {
	var opts repoOptions
	cmd := &cobra.Command{
		Use:   "repo",
		Short: "Serve trigger repositories: Git repositories that get an empty commit at each tick of a clock",
		Long: `Serve trigger repositories over smart HTTP. A new commit makes Argo CD ask its plugins again, though nothing
has changed in Git.

  /appset.git              ticks every $` + option.IntervalVariable + `
  /every/10m/team-a.git    ticks every 10 minutes, at a time of its own; any duration, any name
  /s3/BUCKET/PATH.git      has the objects under a path in a bucket, if the policy allows it (repositories.s3)

The first two kinds are clocks: they contain nothing and are open to everybody. Buckets are served to --users,
which Argo CD takes from a repository Secret (username, password), or with --anonymous-buckets to everybody who
reaches the server; one of the two flags must be set if the policy serves buckets.

Nothing is stored: a commit follows from the name, the interval and the time, or from what is in the bucket, so
replicas agree and a restart changes nothing. While a bucket cannot be read, or is empty, its last tree is
served, and /readyz says so. Nothing can be pushed. Running and waiting requests and memory are limited, for one
client and for all; further requests get 429 or 503 with Retry-After.

/healthz and /readyz are for probes, /metrics is for Prometheus, / is a page for people. Each request is a line
on standard error.`,
		Example: `  ` + option.IntervalVariable + `=5m argosy repo --listen :8080
  git ls-remote http://localhost:8080/appset.git`,
		Args:    cli.NoArgs,
		PreRunE: option.PreRun(std),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runRepo(cmd.Context(), std, opts) },
	}
	opts.Register(cmd.Flags())
	opts.server.Register(cmd.Flags(), "127.0.0.1:8080")
	cmd.Flags().StringVar(&opts.policy, "policy", "", "`FILE` that says which buckets are served; without one, none ($ARGOSY_POLICY)")
	cmd.Flags().StringVar(&opts.users, "users", "",
		"`FILE` with lines USER:PASSWORD, for users that may read buckets and /; it is read again when it changes")
	cmd.Flags().BoolVar(&opts.everybody, "anonymous-buckets", false, "serve buckets to everybody who reaches the server")
	cmd.Flags().DurationVar(&opts.interval, "interval", option.DefaultInterval,
		"how often /appset.git ticks ($"+option.IntervalVariable+")")
	return cmd
}

func runRepo(ctx context.Context, std stdio, opts repoOptions) error {
	b := &buckets.Pool{Now: std.Now}
	server, err := reposerver.New(reposerver.Config{
		Interval: opts.interval, Policy: serve.Watch(opts.policy, "the policy", policy.Parse), Users: opts.users, Anonymous: opts.everybody,
		Open: b.Reader, Timeout: opts.Timeout, Log: serve.Log(std.Err, opts.server.Log.Value), Now: std.Now,
	})
	if err != nil {
		return err
	}
	if b.Cache, err = opts.Open(std); err != nil {
		return err
	}
	return server.Run(ctx, opts.server.Config(2*time.Second))
}
