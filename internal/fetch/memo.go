package fetch

import (
	"context"
	"sync"

	"github.com/argosy-cd/argosy/internal/flight"
)

// memo remembers the answer of each call, errors included, and lets concurrent callers share one call. A call that was
// cancelled is forgotten. Its zero value is ready.
type memo[T any] struct {
	calls flight.Group[T]
	mu    sync.Mutex
	done  map[string]answer[T]
}

type answer[T any] struct {
	value T
	err   error
}

func (m *memo[T]) do(ctx context.Context, key string, fn func(context.Context) (T, error)) (T, error) {
	if a, ok := m.known(key); ok {
		return a.value, a.err
	}
	value, _, err := m.calls.Do(ctx, key, func(ctx context.Context) (T, error) {
		// Another call may have ended since this caller looked.
		if a, ok := m.known(key); ok {
			return a.value, a.err
		}
		value, err := fn(ctx)
		if ctx.Err() == nil {
			m.keep(key, answer[T]{value, err})
		}
		return value, err
	})
	return value, err
}

func (m *memo[T]) known(key string) (answer[T], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.done[key]
	return a, ok
}

func (m *memo[T]) keep(key string, a answer[T]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done == nil {
		m.done = map[string]answer[T]{}
	}
	m.done[key] = a
}

func (m *memo[T]) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = nil
}
