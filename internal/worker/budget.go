package worker

import (
	"context"
	"slices"
	"sync"
)

// budget is a number of bytes that jobs share. Whoever asks first gets it first.
type budget struct {
	mu      sync.Mutex
	size    int64
	free    int64
	waiting []*claim
}

type claim struct {
	bytes int64
	ready chan struct{}
}

func newBudget(size int64) *budget { return &budget{size: size, free: size} }

// acquire waits for so many bytes, or for all of them if that is less, until the context ends. What it returns gives them back, once.
func (b *budget) acquire(ctx context.Context, bytes int64) (release func(), err error) {
	c := &claim{min(bytes, b.size), make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, c)
	b.serve()
	b.mu.Unlock()
	select {
	case <-c.ready:
		return sync.OnceFunc(func() { b.giveBack(c.bytes) }), nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, c); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	} else {
		b.free += c.bytes
	}
	b.serve()
	return nil, context.Cause(ctx)
}

func (b *budget) giveBack(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += bytes
	b.serve()
}

func (b *budget) serve() {
	for len(b.waiting) > 0 && b.waiting[0].bytes <= b.free {
		b.free -= b.waiting[0].bytes
		close(b.waiting[0].ready)
		b.waiting = b.waiting[1:]
	}
}
