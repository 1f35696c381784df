package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/secret"
	"github.com/argosy-cd/argosy/internal/turnstile"
)

// Event is a notification that was received, or refused.
type Event struct {
	Sender  Sender
	Result  Result
	Notices int
	From    string // address, topic or queue
	Err     error
}

// Sender is the way on which a notification came.
type Sender string

// Senders.
const (
	Webhook     Sender = "webhook"
	SNSTopic    Sender = "sns"
	EventBridge Sender = "eventbridge"
	SQS         Sender = "sqs"
)

// Result is what became of a notification.
type Result string

// Results.
const (
	Accepted      Result = "accepted"
	Duplicate     Result = "duplicate"
	Ignored       Result = "ignored" // about something else than changed objects
	Confirmed     Result = "confirmed"
	UnknownSender Result = "unknown sender"
	Signature     Result = "wrong signature"
	Replay        Result = "replay"
	TooLarge      Result = "too large"
	Malformed     Result = "malformed"
	TooSlow       Result = "too slow"
	Busy          Result = "busy"
	Failed        Result = "failed" // ours
)

// Receiver receives notifications over HTTP.
type Receiver struct {
	// Secrets returns the secrets of webhooks and EventBridge. Nil serves neither.
	Secrets func() ([]secret.Text, error)
	// SNS checks messages of topics. Nil does not serve /sns.
	SNS *SNS
	Now func() time.Time
	// Hint is called with each object that may have changed. It reports whether the hint can be used now.
	Hint    func(Notice) bool
	Observe func(Event)

	mu  sync.Mutex
	ids map[string]time.Time // of messages that were heard
}

// endpoint is a path with its own limits, so that a client who exhausts one does not affect the others.
type endpoint struct {
	sender Sender
	known  func(*http.Request) error
	handle func(ctx context.Context, data []byte) (Event, error)
	most   int64         // bytes of a body
	within time.Duration // the body must be there
	turns  turnstile.Turnstile
}

// Handler serves POST /webhook, /sns and /eventbridge, as far as they are configured.
func (r *Receiver) Handler() http.Handler {
	mux := http.NewServeMux()
	if r.Secrets != nil {
		// Clients with the secret are few, so the limits are high.
		hook := &endpoint{
			sender: Webhook, known: r.secret, handle: r.webhook, most: MaxBody, within: knownTime,
			turns: turnstile.Turnstile{All: 64, Each: 32, Queue: 256, QueueEach: 128},
		}
		mux.Handle("POST /webhook", r.serve(hook))
		// MinIO probes the endpoint.
		mux.Handle("HEAD /webhook", r.serve(hook))
		mux.Handle("POST /eventbridge", r.serve(&endpoint{
			sender: EventBridge, known: r.secret, handle: r.bridge, most: MaxBody, within: knownTime,
			turns: turnstile.Turnstile{All: 64, Each: 32, Queue: 256, QueueEach: 128},
		}))
	}
	if r.SNS != nil {
		// The sender is known only after the body was read and its signature checked, so the limits are low.
		mux.Handle("POST /sns", r.serve(&endpoint{
			sender: SNSTopic, known: func(*http.Request) error { return nil }, handle: r.notification, most: maxSNS, within: strangerTime,
			turns: turnstile.Turnstile{All: 64, Each: 8, Queue: 64, QueueEach: 8},
		}))
	}
	return mux
}

const (
	// maxSNS is for a message of 256 KiB, which is text in JSON.
	maxSNS = 640 << 10
	// How long a body may take.
	knownTime    = 15 * time.Second
	strangerTime = 5 * time.Second
	// maxWait is how long a request waits for its turn.
	maxWait = 5 * time.Second
)

// serve authenticates a request, reads its body, answers, and reports it to Observe. Answers have no body: they do not say why a request
// was refused.
func (r *Receiver) serve(e *endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		event, err := e.receive(w, req)
		event.Sender, event.Err = e.sender, err
		if event.From == "" {
			event.From = req.RemoteAddr
		}
		if event.Result == "" {
			event.Result = result(err)
		}
		r.Observe(event)
		code := status(event.Result)
		if errors.Is(err, turnstile.ErrClient) {
			code = http.StatusTooManyRequests
		}
		if event.Result == Busy {
			turnstile.Hasten(w)
			w.Header().Set("Retry-After", "5")
		}
		w.WriteHeader(code)
	})
}

func (e *endpoint) receive(w http.ResponseWriter, req *http.Request) (Event, error) {
	if err := e.known(req); err != nil {
		return Event{}, err
	}
	ctx, cancel := context.WithTimeout(req.Context(), maxWait)
	leave, err := e.turns.Enter(ctx, turnstile.Client(req))
	cancel()
	if err != nil {
		return Event{Result: Busy}, err
	}
	defer leave()
	late := time.AfterFunc(e.within, func() { turnstile.Abort(w) })
	defer late.Stop()
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, e.most))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return Event{Result: TooLarge}, fmt.Errorf("over the limit of %d bytes", e.most)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Event{Result: TooSlow}, fmt.Errorf("not complete after %s", e.within)
	case err != nil:
		return Event{Result: Malformed}, err
	}
	return e.handle(req.Context(), data)
}

func result(err error) Result {
	for target, r := range map[error]Result{ErrSender: UnknownSender, ErrSignature: Signature, ErrReplay: Replay, ErrMalformed: Malformed} {
		if errors.Is(err, target) {
			return r
		}
	}
	return Failed
}

func status(r Result) int {
	switch r {
	case UnknownSender:
		return http.StatusUnauthorized
	case Signature, Replay:
		return http.StatusForbidden
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case Malformed:
		return http.StatusBadRequest
	case TooSlow:
		return http.StatusRequestTimeout
	case Failed, Busy:
		return http.StatusServiceUnavailable // it may come again
	default:
		return http.StatusNoContent
	}
}

// secret demands one of the secrets, in one of the places where senders can put it.
func (r *Receiver) secret(req *http.Request) error {
	given := req.Header.Get("X-Api-Key")
	if _, password, ok := req.BasicAuth(); ok {
		given = password
	} else if header := req.Header.Get("Authorization"); header != "" {
		given = header
		if token, ok := secret.Bearer(header); ok {
			given = token
		}
	}
	secrets, err := r.Secrets()
	if err != nil {
		return err
	}
	known := false
	for _, s := range secrets {
		known = s.Is(given) || known
	}
	if !known {
		return fmt.Errorf("%w: it does not have the secret", ErrSender)
	}
	return nil
}

// errEarly says that a notification has to come again.
var errEarly = errors.New("the Applications are still being listed; try again")

// hint parses a body and passes its notices to Hint.
func (r *Receiver) hint(data []byte) (Event, error) {
	notices, err := Parse(data)
	if err != nil {
		return Event{}, err
	}
	for _, n := range notices {
		if !r.Hint(n) {
			return Event{}, errEarly
		}
	}
	if len(notices) == 0 {
		return Event{Result: Ignored}, nil
	}
	return Event{Result: Accepted, Notices: len(notices)}, nil
}

func (r *Receiver) webhook(_ context.Context, data []byte) (Event, error) {
	if len(data) == 0 {
		return Event{Result: Ignored}, nil // a probe
	}
	return r.hint(data)
}

func (r *Receiver) bridge(_ context.Context, data []byte) (Event, error) {
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		return Event{}, fmt.Errorf("%w: %s", ErrMalformed, decodeError(err))
	}
	if b.Source != "aws.s3" || b.ID == "" || len(b.ID) > maxName || b.Time.IsZero() {
		return Event{}, fmt.Errorf("%w: source must be aws.s3, and id and time must be set", ErrMalformed)
	}
	// EventBridge tries for a day.
	if age := r.Now().Sub(b.Time); age > 25*time.Hour || age < -ahead {
		return Event{}, fmt.Errorf("%w: it was sent at %s", ErrReplay, b.Time.UTC().Format(time.RFC3339))
	}
	return r.once("eventbridge "+b.ID, data)
}

// notification is a message of SNS.
func (r *Receiver) notification(ctx context.Context, data []byte) (Event, error) {
	m, err := r.SNS.read(ctx, data)
	if err != nil {
		return Event{}, err
	}
	e := Event{From: m.TopicARN}
	switch m.Type {
	case typeSubscribe:
		err = r.SNS.confirm(ctx, m)
		if err == nil {
			e.Result = Confirmed
		}
	case typeUnsubscribe:
		e.Result = Ignored
		err = errors.New("the subscription to this topic was ended")
	default:
		e, err = r.once("sns "+m.MessageID, []byte(m.Message))
		e.From = m.TopicARN
	}
	return e, err
}

const (
	// maxIDs is how many messages are remembered, and remember for how long: they may come again.
	maxIDs   = 100_000
	remember = 25 * time.Hour
)

// once hands on a message, unless it was before.
func (r *Receiver) once(id string, data []byte) (Event, error) {
	now := r.Now()
	r.mu.Lock()
	at, heard := r.ids[id]
	r.mu.Unlock()
	if heard && now.Sub(at) < remember {
		return Event{Result: Duplicate}, nil
	}
	e, err := r.hint(data)
	if err != nil {
		return e, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids == nil || len(r.ids) >= maxIDs {
		// A repeated message is then handled twice, which does no harm.
		r.ids = map[string]time.Time{}
	}
	r.ids[id] = now
	return e, nil
}
