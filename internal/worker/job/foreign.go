package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/worker"
)

// Foreign renders sources that are not the user's own in workers, for commands that people run. Workers start with the first of them. A
// source whose rendering reaches a limit is unknown; all other sources are rendered. It is safe for concurrent use.
type Foreign struct {
	// Workers says how workers are started.
	Workers worker.Config
	// Time bounds the rendering of one source, without fetching. Zero is 90 seconds, which Argo CD gives to Helm and Kustomize.
	Time time.Duration
	// Note is called with a line about a system without workers. Nil drops it.
	Note func(string)

	mu   sync.Mutex
	pool *worker.Pool
	none bool // there are no workers on this system

	numbers numbers
}

// Sum renders in the workers of a Foreign, and bounds the total size of its results: its owner keeps all of them.
type Sum struct {
	foreign *Foreign
	size    atomic.Int64
}

// Sum returns a Sum that has rendered nothing yet.
func (f *Foreign) Sum() *Sum { return &Sum{foreign: f} }

// NewForeign renders in two processes, which are started for the first source. args is how this program is called to be a worker.
func NewForeign(args []string, note func(line string)) *Foreign {
	memory := int64(1 << 30)
	if container := worker.ContainerMemory(); container > 0 {
		memory = max(worker.MinMemory, min(memory, container*3/10))
	}
	// no other user waits
	return &Foreign{Workers: worker.Config{Args: args, Workers: 2, Memory: memory, GCPercent: 300, Long: time.Hour}, Note: note}
}

// maxRendered bounds the bytes of all that a Sum has rendered, encoded.
const maxRendered = 512 << 20

// Render implements source.Environment.Foreign.
func (s *Sum) Render(ctx context.Context, r source.Request) *source.Result {
	pool := s.foreign.open(ctx)
	if err := ctx.Err(); err != nil {
		return source.Stopped(r, err)
	}
	if pool == nil {
		r.Foreign = nil
		return source.Render(ctx, r)
	}
	result, err := s.render(ctx, pool, r)
	if err != nil {
		return source.Stopped(r, fmt.Errorf("%s: %w", name(r), err))
	}
	return result
}

func (s *Sum) render(ctx context.Context, pool *worker.Pool, r source.Request) (*source.Result, error) {
	// A large answer counts until the context ends.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m, host, err := newSourceJob(ctx, r, &s.foreign.numbers)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(s.foreign.Time, 90*time.Second)
	m, err = pool.Do(ctx, worker.Job{
		Kind: kindSource, What: "rendering", Message: m, Answer: host.answer, Time: limit, Cost: costOfRendered,
	})
	if err != nil {
		return nil, s.foreign.explain(err, limit)
	}
	size := int64(0)
	for _, b := range m.Blobs {
		size += int64(len(b))
	}
	if s.size.Add(size) > maxRendered {
		return nil, fmt.Errorf("all fetched sources together render to more than %d MiB of manifests", maxRendered>>20)
	}
	return decodeRendered(m)
}

// explain says why a worker has not rendered a source.
func (f *Foreign) explain(err error, limit time.Duration) error {
	var killed *worker.KilledError
	var large *worker.LargeError
	switch {
	case errors.As(err, new(*flight.PanicError)):
		return errors.New("rendering it was stopped: it crashed")
	case errors.As(err, &large):
		return fmt.Errorf("it renders to manifests that take %d MiB of memory, and the limit is %d MiB", large.Bytes>>20, large.Limit>>20)
	}
	if !errors.As(err, &killed) {
		return err
	}
	switch killed.Reason {
	case worker.ReasonMemory:
		return fmt.Errorf("rendering it was stopped: it takes more than %d MiB of memory", f.memory()>>20)
	case worker.ReasonCPU:
		return fmt.Errorf("rendering it was stopped: it takes longer than %s", limit)
	case worker.ReasonStack:
		return errors.New("rendering it was stopped: it recurses without end")
	}
	return errors.New("rendering it was stopped: it crashed")
}

func (f *Foreign) memory() int64 { return cmp.Or(f.Workers.Memory, worker.DefaultMemory) }

// name is the name of a source in messages.
func name(r source.Request) string {
	url := giturl.Redact(manifest.String(r.Spec, "repoURL"))
	if chart := manifest.String(r.Spec, "chart"); chart != "" {
		return fmt.Sprintf("chart %s %s of %s", chart, manifest.String(r.Spec, "targetRevision"), url)
	}
	if url == "" {
		return manifest.String(r.Spec, "path")
	}
	return fmt.Sprintf("%s of %s", cmp.Or(manifest.String(r.Spec, "path"), "."), url)
}

// open returns the workers, nil if there are none on this system.
func (f *Foreign) open(ctx context.Context) *worker.Pool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pool != nil || f.none {
		return f.pool
	}
	pool, err := worker.Open(ctx, f.Workers)
	if err == nil {
		f.pool = pool
		return pool
	}
	if ctx.Err() == nil {
		f.none = true
		if f.Note != nil {
			f.Note(fmt.Sprintf("what was fetched is rendered in this process, without limits of time and memory: %v", err))
		}
	}
	return nil
}

// Close ends the workers. The next source starts new ones.
func (f *Foreign) Close() {
	f.mu.Lock()
	pool := f.pool
	f.pool = nil
	f.mu.Unlock()
	if pool != nil {
		pool.Close()
	}
}
