package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/worker"
	"github.com/argosy-cd/argosy/internal/worker/job"
)

// workerCommand is what this program is called with to be a worker. It is not for people.
const workerCommand = "worker"

func runWorker(args []string) int {
	if err := worker.Main(args, job.Handlers()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitFailed
	}
	return 0
}

// workerOptions are the flags about workers.
type workerOptions struct {
	workers int
	memory  int64 // MiB
}

func (o *workerOptions) register(flags *pflag.FlagSet) {
	flags.IntVar(&o.workers, "workers", -1, "evaluate templates, manifests and charts in so many processes of their own; 0 does it in this process, where one request can end it for all; default: twice --parallel, or four for each processor, as far as the memory of the container allows")
	flags.Int64Var(&o.memory, "worker-memory", 0, "stop a worker that needs more than so many `MIB`; default: all of them have 60% of the memory of the container, each at most 512")
}

func (o *workerOptions) check() error {
	switch {
	case o.workers < -1:
		return usagef("--workers must not be negative")
	case o.memory != 0 && (o.memory < minWorkerMemory || o.memory > 1<<20):
		return usagef("--worker-memory must be %d to %d MiB, it is %d", minWorkerMemory, 1<<20, o.memory)
	case o.memory != 0 && o.workers == 0:
		return usagef("--worker-memory means nothing with --workers 0")
	}
	return nil
}

// Memory of a worker, in MiB. With less than the least, an ordinary chart does not render.
const (
	minWorkerMemory     = 64
	usualWorkerMemory   = 96
	defaultWorkerMemory = 128 // if the container has no limit
	maxWorkerMemory     = 512
)

// sized completes the options for so many requests at once in a container with a limit of memory in bytes; 0 is none.
func (o workerOptions) sized(parallel int, container int64) workerOptions {
	wanted := 2 * parallel
	if parallel == 0 {
		wanted = 4 * runtime.GOMAXPROCS(0)
	}
	share := container * 6 / 10 >> 20
	if o.workers < 0 {
		o.workers = wanted
		if container > 0 {
			each := o.memory
			if each == 0 {
				each = usualWorkerMemory
			}
			o.workers = max(1, min(wanted, int(share/each)))
		}
	}
	if o.memory == 0 && o.workers > 0 {
		o.memory = defaultWorkerMemory
		if container > 0 {
			o.memory = min(max(share/int64(o.workers), minWorkerMemory), maxWorkerMemory)
		}
	}
	return o
}

// places are how many requests are answered at once, and how many more in each plugin for projects of which none is being answered; negative is none. There is a
// worker for each of them: requests wait where projects are told apart, and not for a worker. A given number is the most; 0 is none.
func (o workerOptions) places(given, plugins int) (parallel, extra int) {
	if o.workers == 0 {
		return given, 0 // the server's defaults
	}
	for parallel = o.workers; parallel > 1 && parallel+plugins*(parallel/2) > o.workers; {
		parallel--
	}
	if parallel == 1 {
		parallel = o.workers // too few to keep some for each plugin
	}
	if given > 0 {
		parallel = min(parallel, given)
	}
	if extra = max(1, parallel/2); parallel+plugins*extra > o.workers {
		extra = -1
	}
	return parallel, extra
}

// open starts workers; nil is none.
func (o workerOptions) open(ctx context.Context, ended func(worker.Ended)) (*worker.Pool, error) {
	if o.workers == 0 {
		return nil, nil
	}
	return worker.Open(ctx, worker.Config{Args: []string{"argosy", workerCommand}, Workers: o.workers, Memory: o.memory << 20, Ended: ended})
}

// objects bounds the bytes of objects of S3 for one answer: this process has them in memory, and a worker gets all of them. 0 is no bound.
func (o workerOptions) objects() int64 { return o.memory << 20 / 3 }

// limitHost has the Go runtime of this process collect garbage before what the workers leave of the container's memory is used up, unless GOMEMLIMIT says
// otherwise. 0 is no container.
func (o workerOptions) limitHost(container int64) {
	if container > 0 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(max(container-int64(o.workers)*o.memory<<20, container/4) * 9 / 10)
	}
}

// containerMemory is the limit of memory of this process's container in bytes, 0 if there is none.
func containerMemory() int64 {
	for _, file := range append(memoryFiles("/proc/self/cgroup"), "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes") {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// Without a limit it is "max", or more than any machine has.
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && n > 0 && n < 1<<50 {
			return n
		}
	}
	return 0
}

// memoryFiles are the limits of the groups of processes in a file, where they are not those of a container.
func memoryFiles(file string) (out []string) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		switch parts := strings.SplitN(strings.TrimSpace(line), ":", 3); {
		case len(parts) != 3:
		case parts[0] == "0":
			out = append(out, filepath.Join("/sys/fs/cgroup", parts[2], "memory.max"))
		case parts[1] == "memory":
			out = append(out, filepath.Join("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	return out
}
