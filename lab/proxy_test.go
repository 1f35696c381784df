package lab

import (
	"bufio"
	"net"
	"testing"
	"time"
)

// echo is a server that sends back every line.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					if _, err := c.Write([]byte(line)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestProxy(t *testing.T) {
	p, err := newProxy(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	ask := func(c net.Conn) error {
		if _, err := c.Write([]byte("hello\n")); err != nil {
			return err
		}
		_, err := bufio.NewReader(c).ReadString('\n')
		return err
	}
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", p.Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	open := dial()
	if err := ask(open); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	if ask(open) == nil {
		t.Error("a connection survived the cut")
	}
	if ask(dial()) == nil {
		t.Error("a new connection got through the cut")
	}
	p.Restore()
	if err := ask(dial()); err != nil {
		t.Error(err)
	}
	const delay = 50 * time.Millisecond
	p.Slow(delay)
	began := time.Now()
	if err := ask(dial()); err != nil {
		t.Error(err)
	}
	// A lower bound: a slow machine can only make it longer.
	if got := time.Since(began); got < 2*delay {
		t.Errorf("there and back took %s, two delays are %s", got, 2*delay)
	}
}

// TestProxyReplicas: each replica is asked, and one that does not listen is passed over.
func TestProxyReplicas(t *testing.T) {
	var asked [2]int
	addresses := make([]string, 2)
	listeners := make([]net.Listener, 2)
	for i := range addresses {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners[i], addresses[i] = l, l.Addr().String()
		defer l.Close()
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				_, _ = c.Write([]byte{byte(i)})
				c.Close()
			}
		}()
	}
	p, err := newProxy(addresses...)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	ask := func() byte {
		t.Helper()
		c, err := net.Dial("tcp", p.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		answer, err := bufio.NewReader(c).ReadByte()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	for range 4 {
		asked[ask()]++
	}
	if asked != [2]int{2, 2} {
		t.Errorf("asked %v", asked)
	}
	listeners[0].Close()
	for range 3 {
		if n := ask(); n != 1 {
			t.Errorf("replica %d answered", n)
		}
	}
}
