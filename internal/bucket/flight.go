package bucket

import (
	"context"
	"sync"
)

// flight lets callers of the same call share its answer. A call goes on as long as one of them waits for it.
//
// With fresh, a caller shares only a call that began after it: while a call runs, all others wait for one next call. So
// an answer is never older than the question.
type flight[T any] struct {
	fresh bool

	mu      sync.Mutex
	running map[string]*call[T]
	next    map[string]*call[T]
}

type call[T any] struct {
	ctx     context.Context
	cancel  context.CancelFunc
	waiting int
	done    chan struct{}
	value   T
	err     error
}

func (f *flight[T]) do(ctx context.Context, key string, fn func(context.Context) (T, error)) (T, error) {
	f.mu.Lock()
	if f.running == nil {
		f.running, f.next = map[string]*call[T]{}, map[string]*call[T]{}
	}
	c := f.running[key]
	switch {
	case c == nil:
		c = newCall[T](ctx)
		f.start(key, c, fn)
	case f.fresh || c.ctx.Err() != nil:
		if c = f.next[key]; c == nil || c.ctx.Err() != nil {
			c = newCall[T](ctx)
			f.next[key] = c
		}
	}
	c.waiting++
	f.mu.Unlock()

	select {
	case <-c.done:
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.waiting--; c.waiting == 0 {
		c.cancel()
	}
	if err := ctx.Err(); err != nil {
		var zero T
		return zero, context.Cause(ctx)
	}
	return c.value, c.err
}

func newCall[T any](ctx context.Context) *call[T] {
	c := &call[T]{done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// start runs a call, and the next one of the same key behind it.
func (f *flight[T]) start(key string, c *call[T], fn func(context.Context) (T, error)) {
	f.running[key] = c
	go func() {
		if c.ctx.Err() == nil {
			c.value, c.err = fn(c.ctx)
		} else {
			c.err = c.ctx.Err()
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.running, key)
		if next := f.next[key]; next != nil {
			delete(f.next, key)
			f.start(key, next, fn)
		}
		close(c.done)
	}()
}

// Coalesce returns a Store that shares identical requests in flight.
func Coalesce(s Store) Store {
	return &coalesced{store: s, lists: flight[Listing]{fresh: true}}
}

type coalesced struct {
	store Store
	lists flight[Listing]
	gets  flight[[]byte]
}

func (c *coalesced) List(ctx context.Context, prefix string, most int) (Listing, error) {
	return c.lists.do(ctx, prefix, func(ctx context.Context) (Listing, error) { return c.store.List(ctx, prefix, most) })
}

func (c *coalesced) Get(ctx context.Context, o Object) ([]byte, error) {
	return c.gets.do(ctx, o.Key+"\x00"+o.ETag, func(ctx context.Context) ([]byte, error) { return c.store.Get(ctx, o) })
}
