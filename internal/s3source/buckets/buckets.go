// Package buckets opens the buckets that trigger files and commands name, with the credentials of the process.
package buckets

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/s3"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

// Pool opens buckets, each once, so that identical requests are shared.
type Pool struct {
	Cache bucket.Cache // nil is none
	Now   func() time.Time
	Asked func(operation string, err error) // called after each request; nil is not called
	Local string                            // endpoint of all buckets, without credentials; "" uses each bucket's own

	mu   sync.Mutex
	open map[string]*bucket.Reader
}

// Reader returns a reader of a bucket.
func (b *Pool) Reader(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := fmt.Sprint(a.Bucket, "\x00", a.Region, "\x00", a.Endpoint, "\x00", a.RoleARN, "\x00", a.Anonymous,
		a.ForcePathStyle == nil || *a.ForcePathStyle)
	if r := b.open[key]; r != nil {
		return r, nil
	}
	store, err := b.Store(ctx, a)
	if err != nil {
		return nil, err
	}
	var inner bucket.Store = store
	if b.Asked != nil {
		inner = bucket.Observe(store, b.Asked)
	}
	r := &bucket.Reader{Store: bucket.Coalesce(inner), Bucket: a.Bucket, ID: store.ID(), Cache: b.Cache, Limits: bucket.DefaultLimits}
	// An application with ever new buckets must not fill the memory. Dropped buckets are opened again when needed.
	if b.open == nil || len(b.open) >= maxOpenBuckets {
		b.open = map[string]*bucket.Reader{}
	}
	b.open[key] = r
	return r, nil
}

const maxOpenBuckets = 500

// Store opens a bucket without keeping it.
func (b *Pool) Store(ctx context.Context, a triggerfile.Access) (*s3.Store, error) {
	if b.Local != "" {
		return s3.Open(ctx, s3.Config{Bucket: a.Bucket, Region: "us-east-1", Endpoint: b.Local, Anonymous: true, Alone: true, Now: b.Now})
	}
	return s3.Open(ctx, s3.Config{
		Bucket: a.Bucket, Region: a.Region, Endpoint: a.Endpoint, PathStyle: a.ForcePathStyle, RoleARN: a.RoleARN, Anonymous: a.Anonymous,
		Now: b.Now,
	})
}
