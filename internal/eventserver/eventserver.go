// Package eventserver receives notifications of S3, over HTTP and from queues, and has Argo CD refresh the applications that read there.
package eventserver

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
	"github.com/argosy-cd/argosy/internal/bucket/s3/queue"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/events"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/metrics"
	"github.com/argosy-cd/argosy/internal/outgoing"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/refresher"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/secret"
	"github.com/argosy-cd/argosy/internal/serve"
)

// Config says which sources of notifications are used, and which Applications are refreshed.
type Config struct {
	// Secrets is a file with the secrets of webhooks and EventBridge; "" serves neither.
	Secrets string
	// Topics are ARNs of SNS topics, Queues URLs of SQS queues.
	Topics, Queues []string
	Policy         *serve.File[*policy.Policy]
	// Open opens a bucket that applications read.
	Open func(context.Context, triggerfile.Access) (*bucket.Reader, error)
	// API is the cluster, and Refresh says which Applications are followed there.
	API     *kube.Client
	Refresh refresher.Settings
	// Release is the version of this program.
	Release string
	Log     *slog.Logger
	Now     func() time.Time
	// Env has the proxies for SNS and for trigger repositories.
	Env environ.Environ
}

// Check refuses settings without an event source.
func (c Config) Check() error {
	if c.Secrets == "" && len(c.Topics) == 0 && len(c.Queues) == 0 {
		return problem.Usagef("no event source is configured: set --secrets, --sns-topic or --sqs-queue")
	}
	for _, arn := range c.Topics {
		if parts := strings.Split(arn, ":"); len(parts) != 6 || parts[0] != "arn" || parts[2] != "sns" {
			return problem.Usagef("--sns-topic must be an ARN, arn:aws:sns:REGION:ACCOUNT:NAME, it is %q", arn)
		}
	}
	return nil
}

// server is the process that receives notifications.
type server struct {
	log       *slog.Logger
	registry  *metrics.Registry
	received  metrics.Counter
	receiver  *events.Receiver
	refresher *refresher.Refresher
	listeners []*events.Listener
}

// Run receives, and refreshes, until the context ends.
func Run(ctx context.Context, cfg Config, web serve.Config) error {
	if _, err := cfg.Policy.Current(); err != nil {
		return err
	}
	s := &server{log: cfg.Log, registry: metrics.New()}
	s.received = s.registry.Counter("argosy_events_total", "Notifications, by sender and result.", "sender", "result")
	var err error
	if s.receiver, err = s.receives(cfg); err != nil {
		return err
	}
	for _, url := range cfg.Queues {
		q, err := queue.Open(ctx, url)
		if err != nil {
			return problem.Usage(err)
		}
		s.listeners = append(s.listeners, &events.Listener{Queue: q, Hint: s.hint, Observe: s.observe, After: time.After})
	}
	return s.run(ctx, cfg, web)
}

// receives returns the HTTP receiver for the configured secrets and topics.
func (s *server) receives(cfg Config) (*events.Receiver, error) {
	r := &events.Receiver{Now: cfg.Now, Hint: s.hint, Observe: s.observe}
	if cfg.Secrets != "" {
		file := serve.Watch(cfg.Secrets, "secrets", parseSecrets)
		if _, err := file.Current(); err != nil {
			return nil, err
		}
		r.Secrets = file.Current
	}
	if len(cfg.Topics) > 0 {
		client := &http.Client{Timeout: 10 * time.Second, Transport: outgoing.Transport(cfg.Env)}
		r.SNS = &events.SNS{Topics: cfg.Topics, Client: client, Now: cfg.Now}
	}
	return r, nil
}

func (s *server) run(ctx context.Context, cfg Config, web serve.Config) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	r := refresher.Config{
		Settings: cfg.Refresh, API: cfg.API, Open: cfg.Open, Policy: cfg.Policy.Current, Log: s.log, Metrics: s.registry, Now: cfg.Now,
		Env: cfg.Env, Hinted: true,
	}
	// A message that is received too early is hidden in the queue for a while, so listeners start when Applications are known.
	r.Ready = sync.OnceFunc(func() {
		for _, l := range s.listeners {
			group.Go(func() { l.Run(ctx) })
		}
	})
	s.refresher = refresher.New(r)
	web.Log, web.Fields = s.log, []any{"version", cfg.Release}
	server, err := serve.Listen(ctx, web, s.handler())
	if err != nil {
		return err
	}
	group.Go(func() { s.refresher.Work(ctx) })
	err = server.Run(ctx)
	cancel()
	group.Wait()
	return err
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s.receiver.Handler())
	serve.Probes{Ready: s.ready, Metrics: s.registry.Handler()}.Handle(mux)
	return mux
}

// ready fails until Applications are known: before that, hints have no effect.
func (s *server) ready() (string, error) {
	if !s.refresher.Known() {
		return "", errors.New("Applications are not known yet") //nolint:staticcheck // Argo CD writes the kind with a capital
	}
	return "", nil
}

// hint passes a notification to the refresher.
func (s *server) hint(n events.Notice) bool { return s.refresher.Hint(n.Bucket, n.Key) }

// observe logs and counts a notification.
func (s *server) observe(e events.Event) {
	s.received.Add(1, string(e.Sender), string(e.Result))
	fields := []any{"sender", e.Sender, "result", e.Result, "from", e.From, "objects", e.Notices}
	if e.Err != nil {
		s.log.Warn("notification", append(fields, "error", e.Err.Error())...)
		return
	}
	s.log.Info("notification", fields...)
}

// parseSecrets reads a secret from each line.
func parseSecrets(file string, data []byte) ([]secret.Text, error) {
	var out []secret.Text
	for i, line := range strings.Split(strings.TrimRight(string(data), "\r\n"), "\n") {
		if line = strings.TrimSpace(line); len(line) < secret.MinLength {
			return nil, fmt.Errorf("%s:%d: a secret must have %d characters or more", file, i+1, secret.MinLength)
		}
		out = append(out, secret.New(line))
	}
	return out, nil
}
