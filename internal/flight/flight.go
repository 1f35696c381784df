// Package flight lets callers of the same call share its answer, and makes many calls, some at a time, also ahead of their need.
//
// A call goes on as long as one of its callers waits for it, and is cancelled when the last one leaves. A caller gets the answer, or its
// own cancellation, never another caller's. A panic in a call is an error of its callers.
package flight

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// PanicError is a panic as an error.
type PanicError struct {
	Value any
	Stack []byte
}

func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Safely calls fn and returns its panic, if there is one, as a *PanicError.
func Safely[T any](fn func() (T, error)) (value T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	return fn()
}

// Group is a set of calls. Its zero value is ready.
type Group[T any] struct {
	// Fresh lets a caller share only a call that began after it: while a call runs, all others wait for one next call. So
	// an answer is never older than the question.
	Fresh bool

	mu      sync.Mutex
	running map[string]*call[T]
	next    map[string]*call[T]
}

type call[T any] struct {
	ctx     context.Context
	cancel  context.CancelFunc
	fn      func(context.Context) (T, error)
	waiting int
	done    chan struct{}
	value   T
	err     error
}

// Do calls fn, or waits for a call of the same key by another caller. It reports whether the answer is shared.
func (f *Group[T]) Do(ctx context.Context, key string, fn func(context.Context) (T, error)) (value T, shared bool, err error) {
	f.mu.Lock()
	if f.running == nil {
		f.running, f.next = map[string]*call[T]{}, map[string]*call[T]{}
	}
	c := f.running[key]
	switch {
	case c == nil:
		c = newCall(ctx, fn)
		f.start(key, c)
	case f.Fresh:
		if c = f.next[key]; c == nil {
			c = newCall(ctx, fn)
			f.next[key] = c
		}
	}
	shared = c.waiting > 0
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
		f.leave(key, c)
	}
	if err := ctx.Err(); err != nil {
		return value, shared, context.Cause(ctx)
	}
	return c.value, shared, c.err
}

func newCall[T any](ctx context.Context, fn func(context.Context) (T, error)) *call[T] {
	c := &call[T]{done: make(chan struct{}), fn: fn}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return c
}

// start runs a call.
func (f *Group[T]) start(key string, c *call[T]) {
	f.running[key] = c
	go func() {
		c.value, c.err = Safely(func() (T, error) { return c.fn(c.ctx) })
		f.mu.Lock()
		defer f.mu.Unlock()
		f.leave(key, c)
		close(c.done)
	}()
}

// leave removes a call that has ended, or that all callers have left: a call that ignores its cancellation must not block later calls.
func (f *Group[T]) leave(key string, c *call[T]) {
	switch c {
	case f.next[key]:
		delete(f.next, key)
	case f.running[key]:
		delete(f.running, key)
		if next := f.next[key]; next != nil {
			delete(f.next, key)
			f.start(key, next)
		}
	}
}
