// Package queue reads an SQS queue that S3 writes its notifications to.
package queue

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/argosy-cd/argosy/internal/events"
)

// Queue is a queue in SQS. It implements events.Queue.
type Queue struct {
	url    string
	client *sqs.Client
}

// longPoll is how many seconds SQS waits for a message; it allows no more.
const longPoll = 20

var hostPattern = regexp.MustCompile(`^(?:sqs|queue)\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$`)

// Open prepares to read a queue by its URL, with the credentials that the AWS SDK finds. The region is that of the URL, or the process'.
func Open(ctx context.Context, address string) (*Queue, error) {
	u, err := url.Parse(address)
	if err == nil && u.User != nil {
		return nil, errors.New("the URL of a queue has no user and password in it; credentials are those of the AWS SDK")
	}
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || len(u.Path) < 2 {
		return nil, fmt.Errorf("%q must be the URL of a queue, https://sqs.REGION.amazonaws.com/ACCOUNT/NAME", address)
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	if m := hostPattern.FindStringSubmatch(u.Host); m != nil {
		cfg.Region = m[1]
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("queue %s: its region is not known, set AWS_REGION", address)
	}
	return &Queue{url: address, client: sqs.NewFromConfig(cfg)}, nil
}

// String is the URL of the queue.
func (q *Queue) String() string { return q.url }

// Receive waits for messages. After a while there may be none.
func (q *Queue) Receive(ctx context.Context) ([]events.Message, error) {
	out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &q.url, MaxNumberOfMessages: 10, WaitTimeSeconds: longPoll})
	if err != nil {
		return nil, fmt.Errorf("receiving from %s: %w", q.url, plain(err))
	}
	messages := make([]events.Message, len(out.Messages))
	for i, m := range out.Messages {
		messages[i] = events.Message{ID: aws.ToString(m.MessageId), Body: aws.ToString(m.Body), Receipt: aws.ToString(m.ReceiptHandle)}
	}
	return messages, nil
}

// Delete removes messages that were received, ten at most.
func (q *Queue) Delete(ctx context.Context, messages []events.Message) error {
	if len(messages) == 0 {
		return nil
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, len(messages))
	for i, m := range messages {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &m.Receipt}
	}
	out, err := q.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &q.url, Entries: entries})
	if err != nil {
		return fmt.Errorf("deleting messages from %s: %w", q.url, plain(err))
	}
	if len(out.Failed) > 0 {
		return fmt.Errorf("deleting messages from %s: %d of %d were not deleted: %s", q.url, len(out.Failed), len(messages),
			aws.ToString(out.Failed[0].Code))
	}
	return nil
}

// plain is an error of the SDK in a few words.
func plain(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) {
		return fmt.Errorf("%s: %s", api.ErrorCode(), api.ErrorMessage())
	}
	return err
}
