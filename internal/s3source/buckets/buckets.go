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
	Asked func(operation string, err error) // after each request; nil is nobody
	Local string                            // endpoint where all of them are, for everybody; "" is where each is

	mu   sync.Mutex
	open map[string]*bucket.Reader
}

// Reader returns a reader of a bucket.
func (b *Pool) Reader(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := fmt.Sprint(a.Bucket, "\x00", a.Region, "\x00", a.Endpoint, "\x00", a.RoleARN, "\x00", a.Anonymous, a.ForcePathStyle == nil || *a.ForcePathStyle)
	if r := b.open[key]; r != nil {
		return r, nil
	}
	store, err := b.Store(ctx, a)
	if err != nil {
		return nil, err
	}
	var inner bucket.Store = store
	if b.Asked != nil {
		inner = observed{store, b.Asked}
	}
	r := &bucket.Reader{Store: bucket.Coalesce(inner), Bucket: a.Bucket, ID: store.ID(), Cache: b.Cache, Limits: bucket.DefaultLimits}
	// Who names ever new buckets does not fill the memory; those that are needed are opened again.
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
		Bucket: a.Bucket, Region: a.Region, Endpoint: a.Endpoint, PathStyle: a.ForcePathStyle, RoleARN: a.RoleARN, Anonymous: a.Anonymous, Now: b.Now,
	})
}

// observed is a store that tells about each request. It knows versions, as the store does.
type observed struct {
	bucket.Versioned
	asked func(operation string, err error)
}

func (o observed) List(ctx context.Context, prefix string, most int) (bucket.Listing, error) {
	l, err := o.Versioned.List(ctx, prefix, most)
	o.asked("list", err)
	return l, err
}

func (o observed) Get(ctx context.Context, object bucket.Object) ([]byte, error) {
	data, err := o.Versioned.Get(ctx, object)
	o.asked("get", err)
	return data, err
}

func (o observed) Versions(ctx context.Context, prefix string, most int) ([]bucket.Version, error) {
	v, err := o.Versioned.Versions(ctx, prefix, most)
	o.asked("list", err)
	return v, err
}

func (o observed) GetVersion(ctx context.Context, v bucket.Version) ([]byte, error) {
	data, err := o.Versioned.GetVersion(ctx, v)
	o.asked("get", err)
	return data, err
}
