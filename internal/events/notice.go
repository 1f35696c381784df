// Package events receives notifications about objects in S3, in the forms in which they arrive: webhooks of MinIO and versitygw,
// SNS, EventBridge, and messages in SQS.
//
// A notification is a hint that an object may have changed, and no more: the receiver reads the bucket itself. So duplicates, disorder and
// loss are harmless, and a forged one could only cause a read. Forged ones are refused nevertheless: webhooks and EventBridge have a shared
// secret, messages of SNS a signature whose certificate comes from AWS, and those in SQS are guarded by the queue. A message that is too
// large, too old or no notification is refused and counted.
package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Notice is an object that may have changed.
type Notice struct{ Bucket, Key string }

// Limits of one body.
const (
	MaxBody    = 1 << 20
	maxRecords = 10_000
	maxName    = 1024
)

// ErrMalformed says that a body is no notification.
var ErrMalformed = errors.New("not a notification of S3")

// body is every form in one: they have no field in common.
type body struct {
	// S3 itself, MinIO, versitygw.
	Records []struct {
		EventName string `json:"eventName"`
		S3        struct {
			Bucket named  `json:"bucket"`
			Object object `json:"object"`
		} `json:"s3"`
	} `json:"Records"`
	// A test of S3's and versitygw's, when notifications are set up.
	Event string `json:"Event"`
	// EventBridge.
	ID         string    `json:"id"`
	Source     string    `json:"source"`
	DetailType string    `json:"detail-type"`
	Time       time.Time `json:"time"`
	Detail     struct {
		Bucket named  `json:"bucket"`
		Object object `json:"object"`
	} `json:"detail"`
	// SNS, in a queue.
	Type    string `json:"Type"`
	Message string `json:"Message"`
}

type (
	named  struct{ Name string }
	object struct{ Key string }
)

// Parse reads a notification of S3, also from within one of EventBridge or SNS. No notices and no error is one about something
// else than written or removed objects.
func Parse(data []byte) ([]Notice, error) { return parse(data, true) }

func parse(data []byte, nested bool) ([]Notice, error) {
	var b body
	if len(data) > MaxBody {
		return nil, fmt.Errorf("%w: over the limit of %d bytes", ErrMalformed, MaxBody)
	}
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrMalformed, decodeError(err))
	}
	switch {
	case len(b.Records) > maxRecords:
		return nil, fmt.Errorf("%w: %d records are over the limit of %d", ErrMalformed, len(b.Records), maxRecords)
	case len(b.Records) > 0:
		return b.records()
	case b.Source == "aws.s3":
		return b.bridged()
	case b.Event == "s3:TestEvent":
		return nil, nil
	case b.Type == "Notification" && nested:
		return parse([]byte(b.Message), false)
	}
	return nil, fmt.Errorf("%w: it has no Records, is not from aws.s3, and is no Notification of SNS", ErrMalformed)
}

// decodeError describes a decoding error without the content of the body.
func decodeError(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Sprintf("%s must be %s", wrong.Field, wrong.Type.Kind())
	}
	return "it is not a JSON object"
}

func (b *body) records() ([]Notice, error) {
	var out []Notice
	for i, r := range b.Records {
		if !changes(r.EventName) {
			continue
		}
		if err := check(fmt.Sprintf("Records[%d].s3", i), r.S3.Bucket.Name, r.S3.Object.Key); err != nil {
			return nil, err
		}
		out = append(out, Notice{r.S3.Bucket.Name, r.S3.Object.Key})
		// S3 and MinIO escape keys as in a query, versitygw does not. Both forms are sent: a lookup of the wrong one finds nothing.
		if plain, err := url.QueryUnescape(r.S3.Object.Key); err == nil && plain != r.S3.Object.Key {
			out = append(out, Notice{r.S3.Bucket.Name, plain})
		}
	}
	return out, nil
}

// changes reports whether an event is about an object that was written or removed.
func changes(name string) bool {
	name = strings.TrimPrefix(name, "s3:")
	for _, prefix := range []string{"ObjectCreated:", "ObjectRemoved:", "ObjectRestore:", "LifecycleExpiration:"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func (b *body) bridged() ([]Notice, error) {
	switch b.DetailType {
	case "Object Created", "Object Deleted", "Object Restore Completed":
	default:
		return nil, nil
	}
	if err := check("detail", b.Detail.Bucket.Name, b.Detail.Object.Key); err != nil {
		return nil, err
	}
	return []Notice{{b.Detail.Bucket.Name, b.Detail.Object.Key}}, nil
}

func check(field, bucket, key string) error {
	switch {
	case bucket == "" || key == "":
		return fmt.Errorf("%w: %s.bucket.name and %s.object.key must be set", ErrMalformed, field, field)
	case len(bucket) > maxName || len(key) > 3*maxName:
		return fmt.Errorf("%w: %s has a name that S3 does not allow", ErrMalformed, field)
	}
	return nil
}
