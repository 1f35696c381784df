package sidecar

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/cmp"
)

// TestSocketFails: when a socket fails, the sidecar ends with that error, and does not wait for what runs until it is told to stop.
func TestSocketFails(t *testing.T) {
	s := New(slog.New(slog.DiscardHandler), nil)
	var err error
	s.server, err = cmp.Listen(t.Context(), cmp.Config{Dir: t.TempDir(), Plugins: []cmp.Plugin{{Name: "appset"}}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	s.server.Close()
	s.reads = &publisher{}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // so that it fails instead of hanging
	defer stop()
	if err := s.serve(ctx, time.Second); err == nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
}
