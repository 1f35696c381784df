// Command argosy boots an Argo CD cluster in order, from manifests in Git, S3 or an OCI registry.
package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
	_ "time/tzdata" // the image has no time zones, and sync windows may name one

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cli/option"
	"github.com/argosy-cd/argosy/internal/environ"
)

func main() {
	// A worker takes no flags and no settings from the environment.
	if len(os.Args) > 1 && os.Args[1] == option.WorkerCommand {
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
	std.Linger = func(d time.Duration) { patience.Store(int64(d)) }
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

// process returns the streams, the environment and the clock of this process.
func process() stdio {
	return stdio{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: environ.New(os.Environ()...), Now: time.Now,
		Terminal: cli.IsTerminal(os.Stderr), Size: cli.Size(os.Stdout), Quiet: cli.Quiet,
	}
}
