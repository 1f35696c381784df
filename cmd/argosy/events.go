package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/bucket/s3/queue"
	"github.com/argosy-cd/argosy/internal/events"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
)

type eventsOptions struct {
	clusterOptions
	refresh refreshOptions
	policy  string
	listen  string
	secrets string
	topics  []string
	queues  []string
	tlsCert string
	tlsKey  string
	log     formatFlag
}

func newEventsCommand(std stdio) *cobra.Command {
	opts := eventsOptions{log: logFlag()}
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Receive notifications of S3, and make Argo CD look at the applications that read there",
		Long: `Receive notifications about objects in S3, and ask Argo CD for a refresh of the applications that read them, within a second.

  POST /webhook       MinIO and versitygw, with one of --secrets: Authorization: Bearer SECRET, or as a password, or X-Api-Key
  POST /eventbridge   API destinations of EventBridge, with one of --secrets
  POST /sns           SNS over HTTPS: signatures are checked, subscriptions to --sns-topic are confirmed
  --sqs-queue         messages in SQS, straight from S3, or by way of SNS or EventBridge

A notification is a hint. What is in the bucket is looked at, and only applications that have not seen it are refreshed, once: a trigger
file's by a hard refresh, a bucket repository's by a soft one. What an application reads is known from argosy cmp, which publishes it.

/healthz, /readyz and /metrics are there, too. What is received or refused is a line on standard error.`,
		Example: `  argosy events --listen :8090 --secrets /secrets/webhook
  argosy events --sqs-queue https://sqs.eu-central-1.amazonaws.com/123456789012/manifests`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(std, cmd.Flags()); err != nil {
				return err
			}
			return runEvents(cmd.Context(), std, opts)
		},
	}
	flags := cmd.Flags()
	opts.register(flags)
	opts.refresh.register(flags)
	flags.StringVar(&opts.policy, "policy", "", usageOf("policy"))
	flags.StringVar(&opts.listen, "listen", "127.0.0.1:8090", "`ADDRESS` to listen on")
	flags.StringVar(&opts.secrets, "secrets", "", "`FILE` with the secrets of webhooks and EventBridge, one in each line; it is read again when it changes")
	flags.StringSliceVar(&opts.topics, "sns-topic", nil, "`ARNS` of SNS topics to hear")
	flags.StringSliceVar(&opts.queues, "sqs-queue", nil, "`URLS` of SQS queues to read")
	flags.StringVar(&opts.tlsCert, "tls-cert", "", "`FILE` with a certificate, to speak TLS; it is read again when it is renewed")
	flags.StringVar(&opts.tlsKey, "tls-key", "", "`FILE` with its key")
	flags.Var(&opts.log, "log-format", "format of the log, "+opts.log.usage())
	return cmd
}

func runEvents(ctx context.Context, std stdio, opts eventsOptions) error {
	if opts.secrets == "" && len(opts.topics) == 0 && len(opts.queues) == 0 {
		return usagef("nobody is heard: set --secrets, --sns-topic or --sqs-queue")
	}
	for _, arn := range opts.topics {
		if parts := strings.Split(arn, ":"); len(parts) != 6 || parts[0] != "arn" || parts[2] != "sns" {
			return usagef("--sns-topic must be an ARN, arn:aws:sns:REGION:ACCOUNT:NAME, it is %q", arn)
		}
	}
	opts.refresh.interval = defaultInterval // there is no clock here
	if err := opts.refresh.check(std); err != nil {
		return err
	}
	api, err := opts.open()
	if err != nil {
		return err
	}
	if api == nil {
		return errors.New("there is no access to a cluster: this must run in one, or have --kubeconfig")
	}
	x := &eventsServer{log: newLog(std, opts.log), registry: prometheus.NewRegistry()}
	policy := watchPolicy(opts.policy)
	if _, err := policy.current(); err != nil {
		return err
	}
	x.refresher = &refresher{
		options: opts.refresh, api: api, buckets: &buckets.Pool{Now: std.now}, policy: policy.current, log: x.log, now: std.now, hinted: true,
		heads: bucketHeads{api: api, now: std.now, remote: &gitsource.Remote{Now: std.now, KnownHosts: api.KnownHosts, CA: api.CA}},
	}
	x.refresher.metrics = newRefreshMetrics(x.registry, x.refresher)
	x.received = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "argosy_events_total", Help: "Notifications, by sender and result."}, []string{"sender", "result"})
	x.registry.MustRegister(x.received)
	if x.receiver, err = opts.receiver(std, x); err != nil {
		return err
	}
	var listeners []*events.Listener
	for _, url := range opts.queues {
		q, err := queue.Open(ctx, url)
		if err != nil {
			return problem.Usage(err)
		}
		listeners = append(listeners, &events.Listener{Queue: q, Hint: x.hint, Observe: x.observe, After: time.After})
	}
	return x.serve(ctx, opts, listeners)
}

// receiver hears what the flags say.
func (o *eventsOptions) receiver(std stdio, x *eventsServer) (*events.Receiver, error) {
	r := &events.Receiver{Now: std.now, Hint: x.hint, Observe: x.observe}
	if o.secrets != "" {
		file := &watchedFile[[]string]{file: o.secrets, what: "secrets", read: readSecrets}
		if _, err := file.current(); err != nil {
			return nil, err
		}
		r.Secrets = file.current
	}
	if len(o.topics) > 0 {
		r.SNS = &events.SNS{Topics: o.topics, Client: &http.Client{Timeout: 10 * time.Second}, Now: std.now}
	}
	return r, nil
}

// eventsServer is the process that receives notifications.
type eventsServer struct {
	log       *slog.Logger
	registry  *prometheus.Registry
	received  *prometheus.CounterVec
	receiver  *events.Receiver
	refresher *refresher
}

// serve receives, and refreshes, until the context ends.
func (x *eventsServer) serve(ctx context.Context, opts eventsOptions, listeners []*events.Listener) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opts.listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", opts.listen, innermost(err))
	}
	listener = limitConnections(listener)
	web := repoHTTP(x.handler(), 10*time.Second)
	if opts.tlsCert != "" || opts.tlsKey != "" {
		if web.TLSConfig, err = certificate(opts.tlsCert, opts.tlsKey); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	x.log.Info("listening", "address", listener.Addr().String(), "tls", web.TLSConfig != nil, "version", version())
	ended := make(chan error, 1)
	go func() {
		if web.TLSConfig != nil {
			ended <- web.ServeTLS(listener, "", "")
			return
		}
		ended <- web.Serve(listener)
	}()
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	// What is taken from a queue too early is hidden for a while.
	x.refresher.ready = sync.OnceFunc(func() {
		for _, l := range listeners {
			group.Go(func() { l.Run(ctx) })
		}
	})
	group.Go(func() { x.refresher.work(ctx) })
	select {
	case err = <-ended:
	case <-ctx.Done():
		stop, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		err = web.Shutdown(stop)
		done()
	}
	cancel()
	group.Wait()
	x.log.Info("stopped")
	return err
}

func (x *eventsServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", x.receiver.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	// Until Applications are known, a hint could be about none of them.
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if x.refresher.current.Load() == nil {
			http.Error(w, "Applications are not known yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(x.registry, promhttp.HandlerOpts{}))
	return mux
}

// hint hands on a notification.
func (x *eventsServer) hint(n events.Notice) bool {
	c := x.refresher.current.Load()
	if c != nil {
		c.Hint(n.Bucket, n.Key)
	}
	return c != nil
}

// observe writes the log, and counts.
func (x *eventsServer) observe(e events.Event) {
	x.received.WithLabelValues(e.Sender, e.Result).Inc()
	fields := []any{"sender", e.Sender, "result", e.Result, "from", e.From, "objects", e.Notices}
	if e.Err != nil {
		x.log.Warn("notification", append(fields, "error", e.Err.Error())...)
		return
	}
	x.log.Info("notification", fields...)
}

// minSecret is what nobody guesses.
const minSecret = 16

// readSecrets reads a file with a secret in each line.
func readSecrets(file string) ([]string, error) {
	data, err := readLimited(file)
	if err != nil {
		return nil, fmt.Errorf("reading secrets: %w", err)
	}
	var out []string
	for i, line := range strings.Split(strings.TrimRight(string(data), "\r\n"), "\n") {
		if line = strings.TrimSpace(line); len(line) < minSecret {
			return nil, fmt.Errorf("%s:%d: a secret must have %d characters or more", file, i+1, minSecret)
		}
		out = append(out, line)
	}
	return out, nil
}
