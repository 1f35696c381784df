package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/eventserver"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
	"github.com/argosy-cd/argosy/internal/serve"
)

type eventsOptions struct {
	option.Cluster
	refresh option.Refresh
	server  option.Server
	policy  string
	secrets string
	topics  []string
	queues  []string
}

func newEventsCommand(std stdio) *cobra.Command {
	var opts eventsOptions
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Receive notifications of S3, and refresh the applications that read the changed objects",
		Long: `Receive notifications about objects in S3, and ask Argo CD for a refresh of the applications that read them,
within a second.

  POST /webhook       MinIO and versitygw, with one of --secrets: Authorization: Bearer SECRET, or as a password, or X-Api-Key
  POST /eventbridge   API destinations of EventBridge, with one of --secrets
  POST /sns           SNS over HTTPS: signatures are checked, subscriptions to --sns-topic are confirmed
  --sqs-queue         messages in SQS, straight from S3, or by way of SNS or EventBridge

A notification is only a hint: argosy lists the bucket, and refreshes only applications that have not seen its
new content, once. An application with a trigger file gets a hard refresh, one with a bucket repository a soft
refresh. argosy cmp publishes what each application reads.

The cluster is that of --kubeconfig, or of $KUBECONFIG as for kubectl, or the one that the process runs in.

It also serves /healthz, /readyz and /metrics. Each notification, received or refused, is a line on standard
error.`,
		Example: `  argosy events --listen :8090 --secrets /secrets/webhook
  argosy events --sqs-queue https://sqs.eu-central-1.amazonaws.com/123456789012/manifests`,
		Args:    cli.NoArgs,
		PreRunE: option.PreRun(std),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runEvents(cmd.Context(), std, opts) },
	}
	flags := cmd.Flags()
	opts.Register(flags)
	opts.RegisterMerged(flags)
	opts.refresh.Register(flags)
	flags.StringVar(&opts.policy, "policy", "", option.Usage("policy"))
	opts.server.Register(flags, "127.0.0.1:8090")
	flags.StringVar(&opts.secrets, "secrets", "",
		"`FILE` with the secrets of webhooks and EventBridge, one in each line; it is read again when it changes")
	flags.StringSliceVar(&opts.topics, "sns-topic", nil, "`ARNS` of SNS topics to accept messages from")
	flags.StringSliceVar(&opts.queues, "sqs-queue", nil, "`URLS` of SQS queues to read")
	return cmd
}

func runEvents(ctx context.Context, std stdio, opts eventsOptions) error {
	cfg := eventserver.Config{
		Secrets: opts.secrets, Topics: opts.topics, Queues: opts.queues, Policy: serve.Watch(opts.policy, "the policy", policy.Parse),
		Open: (&buckets.Pool{Now: std.Now}).Reader, Release: version(), Log: serve.Log(std.Err, opts.server.Log.Value), Now: std.Now,
		Env: std.Env,
	}
	if err := cfg.Check(); err != nil {
		return err
	}
	opts.refresh.Interval = option.DefaultInterval // there is no clock here
	if err := opts.refresh.Check(std.Now); err != nil {
		return err
	}
	cfg.Refresh = opts.refresh.Settings
	api, err := opts.OpenCluster(option.Kubeconfigs(std))
	if err != nil {
		return err
	}
	if api == nil {
		return kube.ErrNoCluster
	}
	cfg.API = api
	return eventserver.Run(ctx, cfg, opts.server.Config(time.Second))
}
