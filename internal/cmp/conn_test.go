package cmp

import (
	"context"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-cd/argosy/internal/cmp/cmptest"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// pipe is a connection and how much has been read from it. Its peer sends a megabyte.
func pipe(t *testing.T, room chan struct{}) (c *conn, read func() int) {
	t.Helper()
	ours, theirs := net.Pipe()
	c = newConn(ours, room)
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		_, _ = theirs.Write(make([]byte, 1<<20))
		_ = theirs.Close()
	}()
	return c, func() int {
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.bytes
	}
}

// TestConnection: a request knows its connection.
func TestConnection(t *testing.T) {
	dir, err := os.MkdirTemp("", "cmp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	found := false
	generate := func(ctx context.Context, _ *Request) ([]manifest.Object, error) {
		found = connOf(ctx) != nil
		return nil, nil
	}
	s, err := Listen(t.Context(), Config{Dir: dir, Plugins: []Plugin{{Name: "test", Generate: generate}}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, time.Minute) }()
	if _, err := cmptest.Generate(ctx, s.Paths()[0], cmptest.Request{Files: map[string]string{"a": ""}}); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-done; err != nil || !found {
		t.Errorf("%v, found: %v", err, found)
	}
}

// TestRoomForHeads: of large heads, only some are received at once. Small ones, and what comes behind a head, do not wait.
func TestRoomForHeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := make(chan struct{}, 1)
		first, firstRead := pipe(t, room)
		second, secondRead := pipe(t, room)
		third, thirdRead := pipe(t, room)
		gone, goneRead := pipe(t, room)
		late, lateRead := pipe(t, room)
		for _, c := range []*conn{first, second, gone, late} {
			c.begin()
		}
		go func() { _, _ = io.Copy(io.Discard, first) }()
		if n := firstRead(); n != 1<<20 || len(room) != 1 {
			t.Errorf("the first has %d bytes", n)
		}
		for _, c := range []*conn{second, third, gone, late} {
			go func() { _, _ = io.Copy(io.Discard, c) }()
		}
		for name, read := range map[string]func() int{"second": secondRead, "gone": goneRead, "late": lateRead} {
			if n := read(); n <= smallHead || n > 2*smallHead {
				t.Errorf("%s has %d bytes, and there is no room", name, n)
			}
		}
		if n := thirdRead(); n != 1<<20 {
			t.Errorf("what is no head has %d bytes", n)
		}
		// A head that is not waited for needs no room, nor does a connection that is closed.
		late.end()
		if n := lateRead(); n != 1<<20 {
			t.Errorf("behind its head, it has %d bytes", n)
		}
		_ = gone.Close()
		gone.end()
		first.end()
		if n := secondRead(); n != 1<<20 || len(room) != 1 {
			t.Errorf("then the second has %d bytes", n)
		}
		second.end()
		if len(room) != 0 {
			t.Errorf("%d places are left behind", len(room))
		}
	})
}
