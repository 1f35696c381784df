package events

import (
	"context"
	"fmt"
	"time"

	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/retry"
)

// Message is a message of a queue that was received, and is hidden from others for a while.
type Message struct {
	ID   string
	Body string
	// Receipt identifies the message to the queue when it is deleted.
	Receipt string
}

// Queue is where messages are.
type Queue interface {
	// Receive waits for messages. After a while there may be none.
	Receive(ctx context.Context) ([]Message, error)
	// Delete removes messages that Receive has returned.
	Delete(ctx context.Context, messages []Message) error
	String() string
}

// Listener receives the notifications in a queue.
type Listener struct {
	Queue   Queue
	Hint    func(Notice) bool
	Observe func(Event)
	After   func(time.Duration) <-chan time.Time
}

// backoff is for a queue that does not answer.
var backoff = retry.Backoff{First: time.Second, Last: time.Minute}

// Run reads messages until the context ends. Notifications are deleted; other messages are left, since they may be for another receiver.
func (l *Listener) Run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		err := l.receive(ctx)
		if err == nil {
			failures = 0
			continue
		}
		if ctx.Err() != nil {
			return
		}
		failures++
		l.Observe(Event{Sender: SQS, Result: Failed, From: l.Queue.String(), Err: err})
		if !retry.Wait(ctx, l.After(backoff.After(failures))) {
			return
		}
	}
}

func (l *Listener) receive(ctx context.Context) error {
	messages, err := l.Queue.Receive(ctx)
	if err != nil {
		return err
	}
	var done []Message
	for _, m := range messages {
		e := Event{Sender: SQS, Result: Accepted, From: l.Queue.String()}
		notices, err := flight.Safely(func() ([]Notice, error) { return Parse([]byte(m.Body)) })
		switch {
		case err != nil:
			e.Result, e.Err = Malformed, fmt.Errorf("message %s: %w", m.ID, err)
		case len(notices) == 0:
			e.Result = Ignored
		}
		for _, n := range notices {
			if !l.Hint(n) {
				return errEarly // a message that is not deleted is delivered again
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
