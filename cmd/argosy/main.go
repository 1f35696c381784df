// Command argosy boots an Argo CD cluster in order, from whatever its manifests are stored in.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return execute(ctx, stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ()}, os.Args[1:])
}
