// Command argosy boots an Argo CD cluster in order, from whatever its manifests are stored in.
package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/argosy-cd/argosy/internal/cli"
)

func main() {
	// A worker has nothing of a command: neither flags nor an environment.
	if len(os.Args) > 1 && os.Args[1] == workerCommand {
		os.Exit(runWorker(os.Args[2:]))
	}
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var patience atomic.Int64
	patience.Store(int64(3 * time.Second))
	std := process()
	std.linger = func(d time.Duration) { patience.Store(int64(d)) }
	done := make(chan int, 1)
	go func() {
		done <- execute(ctx, std, os.Args[1:])
	}()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	// A read of standard input or of a pipe cannot be interrupted, so the command has some time to clean up, no more.
	select {
	case code := <-done:
		return code
	case <-time.After(time.Duration(patience.Load())):
		return exitFailed
	}
}

// process is what this process has from outside.
func process() stdio {
	return stdio{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ(), now: time.Now,
		terminal: cli.IsTerminal(os.Stderr), size: cli.Size(os.Stdout), quiet: quiet,
	}
}

// quiet makes libraries print nothing on standard error. Kustomize prints deprecated fields there, for each build and without the file.
// Panics are printed all the same.
func quiet() {
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = null
	}
}
