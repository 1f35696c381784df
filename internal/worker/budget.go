package worker

import (
	"context"
	"slices"
	"sync"
)

// budget is a number of bytes that jobs share. An owner gets at most half of them, so that no owner keeps all others waiting, and owners
// take turns. The owner "" has no such limit.
type budget struct {
	mu      sync.Mutex
	size    int64
	free    int64
	held    map[string]int64
	waiting []*claim
}

type claim struct {
	owner string
	bytes int64
	ready chan struct{}
}

func newBudget(size int64) *budget { return &budget{size: size, free: size, held: map[string]int64{}} }

// share is the most that an owner gets.
func (b *budget) share(owner string) int64 {
	if owner == "" {
		return b.size
	}
	return b.size / 2
}

// acquire waits for so many bytes, or for the owner's whole share if that is less, until the context ends. The returned function releases
// them, once.
func (b *budget) acquire(ctx context.Context, owner string, bytes int64) (release func(), err error) {
	c := &claim{owner, min(bytes, b.share(owner)), make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, c)
	b.serve()
	b.mu.Unlock()
	release = sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.drop(c)
	})
	select {
	case <-c.ready:
		return release, nil
	case <-ctx.Done():
		release()
		return nil, context.Cause(ctx)
	}
}

// drop ends a claim, whether it waits or not.
func (b *budget) drop(c *claim) {
	if i := slices.Index(b.waiting, c); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	} else {
		b.free += c.bytes
		if b.held[c.owner] -= c.bytes; b.held[c.owner] == 0 {
			delete(b.held, c.owner)
		}
	}
	b.serve()
}

// serve grants free bytes to waiting claims, in order. A claim over its owner's share is skipped. A claim larger than the free bytes blocks
// those behind it, or it would wait for ever.
func (b *budget) serve() {
	for i := 0; i < len(b.waiting); {
		c := b.waiting[i]
		if b.held[c.owner]+c.bytes > b.share(c.owner) {
			i++
			continue
		}
		if c.bytes > b.free {
			return
		}
		b.free -= c.bytes
		b.held[c.owner] += c.bytes
		close(c.ready)
		// Other owners are next.
		var others, own []*claim
		for _, w := range b.waiting {
			switch {
			case w == c:
			case w.owner == c.owner:
				own = append(own, w)
			default:
				others = append(others, w)
			}
		}
		b.waiting, i = slices.Concat(others, own), 0
	}
}
