// Command program builds programs for tests and benchmarks of all modules, unless they are in the cache, and prints where
// they are. It has no dependencies, so "go run" of it is quick.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/argosy-cd/argosy/lab/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) error {
	tools, err := program.Build(ctx, os.Stderr, names...)
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Println(tools.Path(name))
	}
	return nil
}
