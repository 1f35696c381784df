package serve

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/problem"
)

// MaxFile bounds a file of settings.
const MaxFile = 16 << 20

// File is a file of settings that is read again when it changes. While it cannot be read, Current returns an error and not the old content.
type File[T any] struct {
	name  string // "" is none
	what  string
	parse func(name string, data []byte) (T, error)

	mu    sync.Mutex
	known bool
	time  time.Time
	size  int64
	value T
}

// Watch returns a File that is read when it changes; what is its name in messages. Without a file name, Current returns the zero value.
func Watch[T any](name, what string, parse func(name string, data []byte) (T, error)) *File[T] {
	return &File[T]{name: name, what: what, parse: parse}
}

// Name returns the name of the file, "" if there is none.
func (f *File[T]) Name() string { return f.name }

// Current returns the current content of the file.
func (f *File[T]) Current() (T, error) {
	var none T
	if f.name == "" {
		return none, nil
	}
	info, err := os.Stat(f.name)
	if err != nil {
		return none, fmt.Errorf("reading %s: %w", f.what, problem.Path(err))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known && info.ModTime().Equal(f.time) && info.Size() == f.size {
		return f.value, nil
	}
	f.known = false
	data, err := read(f.name)
	if err != nil {
		return none, fmt.Errorf("reading %s: %w", f.what, problem.Path(err))
	}
	value, err := f.parse(f.name, data)
	if err != nil {
		return none, err
	}
	f.known, f.value, f.time, f.size = true, value, info.ModTime(), info.Size()
	return value, nil
}

func read(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = fmt.Errorf("%s: over the limit of %d bytes", name, MaxFile)
	}
	return data, err
}
