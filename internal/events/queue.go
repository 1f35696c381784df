package events

import (
	"context"
	"fmt"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket/s3/queue"
	"github.com/argosy-cd/argosy/internal/flight"
)

// Queue is where messages are.
type Queue interface {
	Receive(ctx context.Context) ([]queue.Message, error)
	Delete(ctx context.Context, messages []queue.Message) error
	String() string
}

// Listener hears what is in a queue.
type Listener struct {
	Queue   Queue
	Hint    func(Notice) bool
	Observe func(Event)
	After   func(time.Duration) <-chan time.Time
}

// Run reads messages until the context ends. Notifications are deleted; anything else is left, for it may be somebody else's.
func (l *Listener) Run(ctx context.Context) {
	const first, last = time.Second, time.Minute
	for wait := first; ctx.Err() == nil; {
		err := l.receive(ctx)
		if err == nil {
			wait = first
			continue
		}
		if ctx.Err() != nil {
			return
		}
		l.Observe(Event{Sender: "sqs", Result: Failed, From: l.Queue.String(), Err: err})
		select {
		case <-ctx.Done():
		case <-l.After(wait):
		}
		wait = min(2*wait, last)
	}
}

func (l *Listener) receive(ctx context.Context) error {
	messages, err := l.Queue.Receive(ctx)
	if err != nil {
		return err
	}
	var done []queue.Message
	for _, m := range messages {
		e := Event{Sender: "sqs", Result: Accepted, From: l.Queue.String()}
		notices, err := flight.Safely(func() ([]Notice, error) { return Parse([]byte(m.Body)) })
		switch {
		case err != nil:
			e.Result, e.Err = Malformed, fmt.Errorf("message %s: %w", m.ID, err)
		case len(notices) == 0:
			e.Result = Ignored
		}
		for _, n := range notices {
			if !l.Hint(n) {
				return errEarly // what is not deleted comes again
			}
		}
		e.Notices = len(notices)
		l.Observe(e)
		if err == nil {
			done = append(done, m)
		}
	}
	return l.Queue.Delete(ctx, done)
}
