package cmp

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/peer"
)

const (
	// smallHead is the size of a head that is always received, beside the window of its stream.
	smallHead = 64 << 10
	// largeHeads is how many larger heads are received at once, in all plugins: each is in memory before it can be counted.
	largeHeads = 4
)

// listener accepts connections that share the room for large heads.
type listener struct {
	net.Listener
	room chan struct{} // has an element for each large head that is being received
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(c, l.room), nil
}

// conn is a connection that stops reading when the head of a request gets large, until there is room for it. Argo CD has a connection for
// each request.
type conn struct {
	net.Conn
	room   chan struct{}
	closed chan struct{}
	close  func()

	mu       sync.Mutex
	heads    int           // that are being received
	received chan struct{} // closed when none is any more; nil if none is
	bytes    int           // that came since
	held     bool          // has an element in room
}

func newConn(c net.Conn, room chan struct{}) *conn {
	closed := make(chan struct{})
	return &conn{Conn: c, room: room, closed: closed, close: sync.OnceFunc(func() { close(closed) })}
}

// connOf is the connection of a request; nil if it is of another kind.
func connOf(ctx context.Context) *conn {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(address); ok {
			return a.conn
		}
	}
	return nil
}

// address is the address of a peer, with its connection.
type address struct {
	net.Addr
	conn *conn
}

// RemoteAddr implements net.Conn. gRPC tells handlers the address, and not the connection.
func (c *conn) RemoteAddr() net.Addr { return address{c.Conn.RemoteAddr(), c} }

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.await()
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += n
	return n, err
}

// await waits until more may be read.
func (c *conn) await() {
	c.mu.Lock()
	received := c.received
	large := received != nil && c.bytes > smallHead && !c.held
	c.mu.Unlock()
	if !large {
		return
	}
	select {
	case c.room <- struct{}{}:
	case <-received:
		return
	case <-c.closed:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held = c.received == received; !c.held { // it has ended meanwhile
		<-c.room
	}
}

// begin says that a head is to be received.
func (c *conn) begin() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heads++; c.heads == 1 {
		c.received, c.bytes = make(chan struct{}), 0
	}
}

// end says that a head is received and counted, or is not waited for any more.
func (c *conn) end() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heads--; c.heads > 0 {
		return
	}
	close(c.received)
	c.received = nil
	if c.held {
		c.held = false
		<-c.room
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.close()
	return c.Conn.Close()
}
