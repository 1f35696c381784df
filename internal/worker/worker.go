// Package worker does work that is not trusted in other processes: the same program, started ahead, without credentials, files or network.
//
// A worker does one job at a time. It gets data, asks its host for more in the middle, and answers with data; what it sends is read within
// limits, and never believed. The operating system bounds its memory and its time. A worker that reaches a limit, crashes, breaks the
// protocol or has a cancelled job is killed, and the next job gets a fresh one; all others go on. So a job can hurt only itself.
//
// Further protection of the operating system, such as a filter of system calls, is used where it exists; Pool.Confinement reports it.
package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Config configures a Pool.
type Config struct {
	// Path and Args are the program of a worker: it calls Main. "" is this program.
	Path string
	Args []string
	// Workers bounds how many there are. Zero is 1.
	Workers int
	// Idle bounds how many wait for a job. Zero is all.
	Idle int
	// Memory bounds the bytes of each. Zero is DefaultMemory.
	Memory int64
	// GCPercent is the garbage collection target of workers, as in debug.SetGCPercent: more is faster, and takes more memory. Zero is 100.
	GCPercent int
	// Jobs is after how many jobs a worker is replaced. Zero is 500.
	Jobs int
	// Long is how long a job may compute before it yields to all others: its worker gets the lowest priority, and no other job. Zero is 250
	// ms.
	Long time.Duration
	// Large bounds the bytes of all large answers in memory, of all jobs: once as sent, once decoded. An owner gets at most half of it. A
	// larger answer counts as that much: it comes alone, or with one of another owner. No answer takes more than Memory. Zero is 64 MiB.
	Large int64
	// Ended is called for each worker that has ended. Nil is not called.
	Ended func(Ended)

	unfiltered bool // this system's kernel and the filter of system calls do not go together
}

const (
	// DefaultMemory is the default of Config.Memory.
	DefaultMemory = 128 << 20
	// MinMemory is the least that an ordinary chart needs.
	MinMemory = 64 << 20
)

// Ended is a worker that has ended.
type Ended struct {
	Reason Reason
	Job    Kind // its last job; "" if it had none
	Doing  string
	Output string // its standard error, shortened
}

// Pool has workers, and gives them jobs. It is safe for concurrent use.
type Pool struct {
	cfg   Config
	spawn *spawner
	// slots has one for each worker that may be there. A free slot has a worker that waits, or none.
	slots chan struct{}
	// large bounds answers that are being read, decoded those in use.
	large, decoded *budget

	mu          sync.Mutex
	idle        []*process
	closed      bool
	confinement *Confinement

	started atomic.Int64
	busy    atomic.Int64
}

// Stats are numbers of workers.
type Stats struct {
	Started    int64
	Busy, Idle int
}

// Open starts workers, and returns when the first one is ready.
func Open(ctx context.Context, cfg Config) (*Pool, error) {
	if cfg.Workers < 1 {
		cfg.Workers = 1
	}
	if cfg.Idle < 1 || cfg.Idle > cfg.Workers {
		cfg.Idle = cfg.Workers
	}
	if cfg.Memory == 0 {
		cfg.Memory = DefaultMemory
	}
	if cfg.GCPercent == 0 {
		cfg.GCPercent = 100
	}
	if cfg.Jobs == 0 {
		cfg.Jobs = 500
	}
	if cfg.Long == 0 {
		cfg.Long = 250 * time.Millisecond
	}
	if cfg.Large == 0 {
		cfg.Large = 64 << 20
	}
	if cfg.Ended == nil {
		cfg.Ended = func(Ended) {}
	}
	p := &Pool{
		cfg: cfg, slots: make(chan struct{}, cfg.Workers), large: newBudget(cfg.Large), decoded: newBudget(cfg.Large),
		spawn: newSpawner(),
	}
	first, err := p.start(ctx)
	if err != nil && ctx.Err() == nil {
		p.cfg.unfiltered = true
		first, err = p.start(ctx)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	p.idle = append(p.idle, first)
	go p.warm()
	return p, nil
}

// warm starts the workers that wait for jobs, one after the other.
func (p *Pool) warm() {
	for range p.cfg.Idle - 1 {
		select {
		case p.slots <- struct{}{}:
			p.refill()
		default: // all slots are taken
			return
		}
	}
}

// refill starts a worker that waits, and frees the slot.
func (p *Pool) refill() {
	p.mu.Lock()
	enough := p.closed || len(p.idle) >= p.cfg.Idle
	p.mu.Unlock()
	if !enough {
		// If this fails, the next job tries again, and says why.
		if w, err := p.start(context.Background()); err == nil {
			p.keep(w)
		}
	}
	<-p.slots
}

// Confinement returns the restrictions of the workers.
func (p *Pool) Confinement() Confinement {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *p.confinement
}

// Stats counts the workers.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Started: p.started.Load(), Busy: int(p.busy.Load()), Idle: len(p.idle)}
}

// Close ends all workers. Jobs that run fail.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, w := range idle {
		p.end(w, ReasonClosed, "")
	}
	// Once all slots are taken, no job runs and no worker starts.
	for range cap(p.slots) {
		p.slots <- struct{}{}
	}
	p.spawn.close()
}

var errClosed = errors.New("the workers were stopped")

// startTimeout bounds how long a worker takes until it is ready, on a machine that has other things to do, too.
const startTimeout = 30 * time.Second

func (p *Pool) start(ctx context.Context) (*process, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("it was not ready after %s", startTimeout))
	defer cancel()
	w, c, err := startProcess(ctx, p.spawn, p.cfg)
	if err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}
	p.started.Add(1)
	p.mu.Lock()
	if p.confinement == nil {
		p.confinement = &c
	}
	p.mu.Unlock()
	return w, nil
}

// take returns a worker that waits, or a new one. The caller has a slot.
func (p *Pool) take(ctx context.Context) (*process, error) {
	for {
		p.mu.Lock()
		n := len(p.idle)
		if p.closed || n == 0 {
			closed := p.closed
			p.mu.Unlock()
			if closed {
				return nil, errClosed
			}
			w, err := p.start(ctx)
			if err != nil && ctx.Err() == nil {
				w, err = p.start(ctx) // it may have been killed
			}
			return w, err
		}
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		if !w.exited() {
			return w, nil
		}
		p.end(w, ReasonCrash, "")
	}
}

// keep lets a worker wait for the next job.
func (p *Pool) keep(w *process) {
	p.mu.Lock()
	var reason Reason
	switch {
	case p.closed:
		reason = ReasonClosed
	case len(p.idle) >= p.cfg.Idle:
		reason = ReasonIdle
	default:
		p.idle = append(p.idle, w)
	}
	p.mu.Unlock()
	if reason != "" {
		p.end(w, reason, "")
	}
}

// end kills a worker, and returns when it is gone.
func (p *Pool) end(w *process, reason Reason, job Kind) {
	w.kill()
	w.wait()
	p.cfg.Ended(Ended{Reason: reason, Job: job, Doing: w.doing, Output: w.errors.String()})
}
