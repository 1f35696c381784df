package serve

import (
	"errors"
	"net"
	"sync"
)

// Limits of connections, so that no client takes all that a process may have.
const (
	maxConnections     = 2000
	maxConnectionsEach = 500
)

// limitConnections closes connections over the limits at once.
func limitConnections(l net.Listener) net.Listener {
	return &limitedListener{Listener: l, open: map[string]int{}, all: maxConnections, each: maxConnectionsEach}
}

type limitedListener struct {
	net.Listener
	all, each int

	mu    sync.Mutex
	open  map[string]int
	count int
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		l.mu.Lock()
		free := l.count < l.all && l.open[client] < l.each
		if free {
			l.count++
			l.open[client]++
		}
		l.mu.Unlock()
		if free {
			return &countedConn{Conn: c, closed: sync.OnceFunc(func() { l.closed(client) })}, nil
		}
		_ = c.Close()
	}
}

func (l *limitedListener) closed(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count--
	if l.open[client]--; l.open[client] == 0 {
		delete(l.open, client)
	}
}

type countedConn struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// CloseWrite closes the sending side. An HTTP server does that after it has answered a request without reading all of it, so that the
// client gets the answer.
func (c *countedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
