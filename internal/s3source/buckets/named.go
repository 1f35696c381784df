package buckets

import (
	"context"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

// Named opens buckets that a command names, all with the same access.
type Named struct {
	Pool *Pool
	triggerfile.Access
	// VirtualHost puts the bucket into the host name of an endpoint, and not into the path.
	VirtualHost bool
}

// Check refuses an endpoint that the SDK would explain badly.
func (n Named) Check() error {
	if cause := triggerfile.CheckEndpoint(n.Endpoint); cause != "" {
		return problem.Usagef("--endpoint %s", cause)
	}
	return nil
}

// Reader opens a bucket to read from.
func (n Named) Reader(ctx context.Context, name string) (*bucket.Reader, error) {
	return n.Pool.Reader(ctx, n.access(name))
}

// Writer opens a bucket to write to.
func (n Named) Writer(ctx context.Context, name string) (bucket.Writer, error) {
	return n.Pool.Store(ctx, n.access(name))
}

func (n Named) access(name string) triggerfile.Access {
	a := n.Access
	a.Bucket = name
	if n.VirtualHost {
		a.ForcePathStyle = new(bool)
	}
	return a
}
