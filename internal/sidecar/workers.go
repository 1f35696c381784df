package sidecar

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"

	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/worker"
)

// Workers are the processes that evaluate templates, manifests and charts.
type Workers struct {
	// Args is how this program is called to be a worker.
	Args []string
	// Number of them. Zero evaluates in this process; -1 is as many as the memory allows, twice Parallel at most.
	Number int
	// Memory of each, in MiB. Zero is a share of the container's.
	Memory int64
}

// Check refuses invalid numbers.
func (o Workers) Check() error {
	switch {
	case o.Number < -1:
		return problem.Usagef("--workers must not be negative")
	case o.Memory != 0 && (o.Memory < minWorkerMemory || o.Memory > 1<<20):
		return problem.Usagef("--worker-memory must be %d to %d MiB, it is %d", minWorkerMemory, 1<<20, o.Memory)
	case o.Memory != 0 && o.Number == 0:
		return problem.Usagef("--worker-memory has no effect with --workers 0")
	}
	return nil
}

// Memory of a worker, in MiB. With less than the least, an ordinary chart does not render.
const (
	minWorkerMemory     = worker.MinMemory >> 20
	usualWorkerMemory   = 96
	defaultWorkerMemory = 128 // if the container has no limit
	maxWorkerMemory     = 512
)

// sized completes the options for so many requests at once in a container with a limit of memory in bytes; 0 is none.
func (o Workers) sized(parallel int, container int64) Workers {
	wanted := 2 * parallel
	if parallel == 0 {
		wanted = 4 * runtime.GOMAXPROCS(0)
	}
	share := container * 6 / 10 >> 20
	if o.Number < 0 {
		o.Number = wanted
		if container > 0 {
			each := o.Memory
			if each == 0 {
				each = usualWorkerMemory
			}
			o.Number = max(1, min(wanted, int(share/each)))
		}
	}
	if o.Memory == 0 && o.Number > 0 {
		o.Memory = defaultWorkerMemory
		if container > 0 {
			o.Memory = min(max(share/int64(o.Number), minWorkerMemory), maxWorkerMemory)
		}
	}
	return o
}

// places returns the number of requests that run at once, and of further ones in each plugin, for projects without a running request;
// negative is none. Each has a worker, so requests wait in the queue, which is fair to projects, and not for a worker. given is the
// maximum; 0 is none.
func (o Workers) places(given, plugins int) (parallel, extra int) {
	if o.Number == 0 {
		return given, 0 // the server's defaults
	}
	for parallel = o.Number; parallel > 1 && parallel+plugins*(parallel/2) > o.Number; {
		parallel--
	}
	if parallel == 1 {
		parallel = o.Number // too few to keep some for each plugin
	}
	if given > 0 {
		parallel = min(parallel, given)
	}
	if extra = max(1, parallel/2); parallel+plugins*extra > o.Number {
		extra = -1
	}
	return parallel, extra
}

// limitHost sets the memory limit of this process's Go runtime to the part of the container's memory that the workers leave, unless
// GOMEMLIMIT is set. 0 is no container.
func (o Workers) limitHost(container int64) {
	if container > 0 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(max(container-int64(o.Number)*o.Memory<<20, container/4) * 9 / 10)
	}
}

// open starts workers; nil is none.
func (o Workers) open(ctx context.Context, ended func(worker.Ended)) (*worker.Pool, error) {
	if o.Number == 0 {
		return nil, nil
	}
	return worker.Open(ctx, worker.Config{Args: o.Args, Workers: o.Number, Memory: o.Memory << 20, Ended: ended})
}
