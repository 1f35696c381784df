package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/sidecar"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/worker"
	"github.com/argosy-cd/argosy/internal/worker/job"
)

// workerCommand is what this program is called with to be a worker. It is not for people.
const workerCommand = "worker"

func runWorker(args []string) int {
	stderr := os.Stderr
	quiet()
	if err := worker.Main(args, job.Handlers()); err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return exitFailed
	}
	return 0
}

// newForeign renders what was fetched in two processes of its own, which are started for the first of it.
func newForeign(std stdio) *job.Foreign {
	memory := int64(1 << 30)
	if container := worker.ContainerMemory(); container > 0 {
		memory = max(worker.MinMemory, min(memory, container*3/10))
	}
	return &job.Foreign{
		// nobody else waits
		Workers: worker.Config{Args: []string{"argosy", workerCommand}, Workers: 2, Memory: memory, GCPercent: 300, Long: time.Hour},
		Note:    func(line string) { std.note(words.Printable(line)) },
	}
}

func registerWorkers(o *sidecar.Workers, flags *pflag.FlagSet) {
	o.Args = []string{"argosy", workerCommand}
	flags.IntVar(&o.Number, "workers", -1,
		"evaluate templates, manifests and charts in so many processes of their own; 0 does it in this process, where one request can "+
			"end it for all; default: twice --parallel, or four for each processor, as far as the memory of the container allows")
	flags.Int64Var(&o.Memory, "worker-memory", 0,
		"stop a worker that needs more than so many `MIB`; default: all of them have 60% of the memory of the container, each at most 512")
}
