package lab

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// Proxy forwards TCP connections to a server, as long as tests let it. Replicas of a server get them in turn, but for those that do not
// listen.
type Proxy struct {
	listener net.Listener
	targets  []string

	mu    sync.Mutex
	next  int // target
	cut   bool
	delay time.Duration
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

// newProxy listens on a free port.
func newProxy(targets ...string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, targets: targets, conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Address is where clients connect to.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Cut closes all connections and refuses new ones until Restore.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for c := range p.conns {
		c.Close()
	}
}

// Slow delays every piece of data in both directions.
func (p *Proxy) Slow(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// Restore ends Cut and Slow.
func (p *Proxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.delay = false, 0
}

func (p *Proxy) close() {
	p.Cut()
	p.listener.Close()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

// keep registers a connection, or closes it if the proxy is cut.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	c.Close()
}

func (p *Proxy) serve(client net.Conn) {
	if !p.keep(client) {
		return
	}
	defer p.drop(client)
	server, err := p.dial()
	if err != nil || !p.keep(server) {
		return
	}
	defer p.drop(server)
	var both sync.WaitGroup
	both.Go(func() { p.copy(server, client) })
	both.Go(func() { p.copy(client, server) })
	both.Wait()
}

// dial connects to the next target that listens.
func (p *Proxy) dial() (server net.Conn, err error) {
	for range p.targets {
		p.mu.Lock()
		target := p.targets[p.next%len(p.targets)]
		p.next++
		p.mu.Unlock()
		server, err = (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", target)
		if err == nil {
			break
		}
	}
	return server, err
}

func (p *Proxy) copy(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.mu.Lock()
			delay := p.delay
			p.mu.Unlock()
			time.Sleep(delay)
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	// Half-close, so that the other direction can finish.
	if c, ok := to.(*net.TCPConn); ok {
		_ = c.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, from)
}
