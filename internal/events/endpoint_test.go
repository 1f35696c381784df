package events

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/turnstile"
)

// TestTooSlow: a body that does not come is given up, and counted as that.
func TestTooSlow(t *testing.T) {
	seen := make(chan Event, 1)
	r := &Receiver{Observe: func(e Event) { seen <- e }}
	e := &endpoint{
		sender: SNSTopic, known: func(*http.Request) error {
			return nil
		}, most: 1000, within: time.Millisecond, turns: turnstile.Turnstile{All: 1, Each: 1},
		handle: func(context.Context, []byte) (Event, error) { return Event{Result: Accepted}, nil },
	}
	server := httptest.NewServer(r.serve(e))
	t.Cleanup(server.Close)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got.Result != TooSlow {
		t.Errorf("%+v", got)
	}
	if inside, _ := e.turns.Inside(); inside != 0 {
		t.Errorf("%d inside", inside)
	}
}
