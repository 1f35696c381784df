// Package local is an S3 server in this process, on loopback, for demonstrations and tests. Its content is in memory only. It does not
// check credentials: every process on this machine may read and write.
package local

import (
	"context"
	"fmt"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/argosy-cd/argosy/internal/serve"
)

// Config configures a server.
type Config struct {
	Buckets []string
	// Versions says that the buckets keep versions.
	Versions bool
	// Now is the time of the server. Nil is the machine's.
	Now func() time.Time
}

// Server is a server that runs.
type Server struct {
	// URL is where it is.
	URL  string
	stop func() error
}

// Start starts a server.
func Start(ctx context.Context, c Config) (*Server, error) {
	var store []s3mem.Option
	options := []gofakes3.Option{gofakes3.WithLogger(gofakes3.DiscardLog())}
	if c.Now != nil {
		store = append(store, s3mem.WithTimeSource(source(c.Now)))
		options = append(options, gofakes3.WithTimeSource(source(c.Now)), gofakes3.WithTimeSkewLimit(0))
	}
	backend := s3mem.New(store...)
	for _, name := range c.Buckets {
		err := backend.CreateBucket(name)
		if err == nil && c.Versions {
			err = backend.SetVersioningConfiguration(name, gofakes3.VersioningConfiguration{Status: gofakes3.VersioningEnabled})
		}
		if err != nil {
			return nil, fmt.Errorf("making bucket %q: %w", name, err)
		}
	}
	web := serve.Config{Address: "127.0.0.1:0", Patience: time.Minute} // objects may be large
	server, err := serve.Listen(ctx, web, gofakes3.New(backend, options...).Server())
	if err != nil {
		return nil, fmt.Errorf("starting an S3 server: %w", err)
	}
	return &Server{URL: "http://" + server.Address(), stop: server.Start(ctx)}, nil
}

// Close ends the server and all of its connections.
func (s *Server) Close() error { return s.stop() }

// source is a time as the library wants it.
type source func() time.Time

func (s source) Now() time.Time                  { return s() }
func (s source) Since(t time.Time) time.Duration { return s().Sub(t) }
