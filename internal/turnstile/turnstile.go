// Package turnstile bounds how many requests run at once, for all clients together and for each of them, so that no client takes the places
// of the others. Requests without a place wait in a queue, which is bounded in the same way; further requests are refused at once.
package turnstile

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Errors of Enter: the places, and those in the queue, are taken.
var (
	ErrClient = errors.New("too many requests of this client at once")
	ErrAll    = errors.New("too many requests at once")
)

// Turnstile has places. Its fields must not change once it is used.
type Turnstile struct {
	// All is how many may be inside at once, Each how many of one client.
	All, Each int
	// Queue is how many may wait, QueueEach how many of one client. Zero is none.
	Queue, QueueEach int

	mu      sync.Mutex
	inside  map[string]int
	count   int
	waiting []*waiter // in order
}

type waiter struct {
	client string
	enter  chan struct{}
}

// Enter waits for a place until the context ends. The caller must leave, once.
func (t *Turnstile) Enter(ctx context.Context, client string) (leave func(), err error) {
	t.mu.Lock()
	if t.inside == nil {
		t.inside = map[string]int{}
	}
	if t.free(client) {
		t.admit(client)
		t.mu.Unlock()
		return func() { t.leave(client) }, nil
	}
	mine := 0
	for _, w := range t.waiting {
		if w.client == client {
			mine++
		}
	}
	busy := ErrAll
	if t.inside[client] >= t.Each {
		busy = ErrClient
	}
	if mine >= t.QueueEach || len(t.waiting) >= t.Queue {
		t.mu.Unlock()
		return nil, busy
	}
	w := &waiter{client, make(chan struct{})}
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()

	select {
	case <-w.enter:
		return func() { t.leave(client) }, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting, w)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 { // it was let in at the same moment
		t.leave(client)
	}
	return nil, errors.Join(busy, context.Cause(ctx))
}

// Inside is how many are inside, and how many wait.
func (t *Turnstile) Inside() (inside, waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count, len(t.waiting)
}

func (t *Turnstile) free(client string) bool { return t.count < t.All && t.inside[client] < t.Each }

func (t *Turnstile) admit(client string) {
	t.count++
	t.inside[client]++
}

func (t *Turnstile) leave(client string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count--
	if t.inside[client]--; t.inside[client] == 0 {
		delete(t.inside, client)
	}
	for i, w := range t.waiting {
		if t.free(w.client) {
			t.waiting = slices.Delete(t.waiting, i, i+1)
			t.admit(w.client)
			close(w.enter)
			return
		}
	}
}

// Client identifies the client of a request: its address without the port.
func Client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// Hasten makes the server answer a request without waiting for the rest of its body, and close the connection.
func Hasten(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	Abort(w)
}

// Abort ends reading the body of a request.
func Abort(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // a writer without deadlines is no connection
}

// Refuse answers a request that was not let in.
func Refuse(w http.ResponseWriter, err error) {
	Hasten(w)
	w.Header().Set("Retry-After", "5")
	if errors.Is(err, ErrClient) {
		http.Error(w, ErrClient.Error()+"; try again", http.StatusTooManyRequests)
		return
	}
	http.Error(w, ErrAll.Error()+"; try again", http.StatusServiceUnavailable)
}
