package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/policy"
)

// watchedFile is a file that is read again when it changes. While it cannot be read there is nothing, not what was before.
type watchedFile[T any] struct {
	file string // "" is none
	what string // it is, in messages
	read func(file string) (T, error)

	mu    sync.Mutex
	known bool
	time  time.Time
	size  int64
	value T
}

// watchPolicy is a policy, nil if there is no file.
func watchPolicy(file string) *watchedFile[*policy.Policy] {
	return &watchedFile[*policy.Policy]{file: file, what: "the policy", read: readPolicy}
}

func (w *watchedFile[T]) current() (T, error) {
	var none T
	if w.file == "" {
		return none, nil
	}
	info, err := os.Stat(w.file)
	if err != nil {
		return none, fmt.Errorf("reading %s: %w", w.what, pathError(err))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known && info.ModTime().Equal(w.time) && info.Size() == w.size {
		return w.value, nil
	}
	w.known = false
	read, err := w.read(w.file)
	if err != nil {
		return none, err
	}
	w.known, w.value, w.time, w.size = true, read, info.ModTime(), info.Size()
	return read, nil
}
