package main

import (
	"fmt"
	"os"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/worker"
	"github.com/argosy-cd/argosy/internal/worker/job"
)

func runWorker(args []string) int {
	stderr := os.Stderr
	cli.Quiet()
	if err := worker.Main(args, job.Handlers()); err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return exitFailed
	}
	return 0
}
