package demo

import (
	"context"
	"log/slog"
	"sync"

	"github.com/argosy-cd/argosy/internal/board"
	"github.com/argosy-cd/argosy/internal/serve"
)

// open serves the page that shows the boot, if it has an address. The boot moves its time.
func (v *show) open(ctx context.Context, sim *board.Simulation) (stop func(), err error) {
	sim.Pace(v.stage.Speed, v.clock.setSpeed)
	if v.stage.Listen == "" {
		return func() {}, nil
	}
	ready := make(chan string, 1)
	server, err := board.New(board.Config{
		Config: serve.Config{Address: v.stage.Listen}, Source: sim, Log: slog.New(slog.DiscardHandler), Now: v.stage.Now,
		Ready: func(url string) { ready <- url },
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	failed := make(chan error, 1)
	running.Go(func() { failed <- server.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	select {
	case url := <-ready:
		v.Line("\nOpen %s to watch the boot.", url)
		return stop, nil
	case err := <-failed:
		stop()
		return nil, err
	}
}
