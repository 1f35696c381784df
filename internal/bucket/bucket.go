// Package bucket reads and publishes directories in an object store.
//
// Reader reads snapshots: what is under a path at one moment, never a mixture of two. It lists, then gets every object on
// the condition that it is still the one that was listed; if anything has moved, it starts again. With an index, written
// last by Publish, the index decides what is there and every byte is verified. What is unchanged comes from a cache.
//
// The store itself is behind Store, which S3 implements.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Object is an object as it was listed.
type Object struct {
	Key      string
	ETag     string
	Size     int64
	Modified time.Time
}

// Listing is the answer to one List.
type Listing struct {
	Objects []Object // ordered by key
	Pages   int      // how many requests it took; more than one are not one moment
}

// Store reads one bucket. Its errors say in one line what happened and what to check.
type Store interface {
	// List returns the objects whose keys start with prefix. More than most of them are an error.
	List(ctx context.Context, prefix string, most int) (Listing, error)
	// Get returns the content of an object. The error is ErrChanged if the object has changed since it was listed.
	Get(ctx context.Context, o Object) ([]byte, error)
}

// Writer is a Store that can be written to.
type Writer interface {
	Store
	// Put writes an object. It is ErrChanged if the condition does not hold.
	Put(ctx context.Context, key string, data []byte, c Condition) (Object, error)
	// Sum returns the sha256 that Put has noted with an object, "" if there is none.
	Sum(ctx context.Context, key string) (string, error)
	Delete(ctx context.Context, keys ...string) error
}

// Condition is when Put may write. The zero Condition is always.
type Condition struct {
	ETag string // only over the object with this ETag
	New  bool   // only where there is no object
}

// ErrChanged says that an object is not, or no longer, what it was.
var ErrChanged = errors.New("changed while it was read")

// ErrDenied says that a request was not allowed. It has no text: a Store's error says it better.
var ErrDenied error = denied{}

type denied struct{}

func (denied) Error() string { return "" }

// Limits bound a snapshot.
type Limits struct {
	Objects       int           // listed under a path
	ObjectBytes   int64         // of one object
	Bytes         int64         // of all objects that are read
	Parallel      int           // requests at one time
	ParallelBytes int64         // of objects that are read at one time
	Attempts      int           // snapshots that are begun
	Backoff       time.Duration // before the second attempt; doubled for each one after
}

// listed is how many objects a listing may have: each file, its new content beside it, and the index.
func (l Limits) listed() int { return 2*l.Objects + 2 }

// DefaultLimits are far above what a cluster deploys from one path.
var DefaultLimits = Limits{
	Objects: 50_000, ObjectBytes: 64 << 20, Bytes: 256 << 20, Parallel: 32, ParallelBytes: 128 << 20, Attempts: 4,
	Backoff: 200 * time.Millisecond,
}

// URL is the place of a directory or an object, as people write it: s3://bucket/path.
type URL struct{ Bucket, Path string }

// ParseURL reads s3://bucket/path. Slashes at the end of the path do not count.
func ParseURL(s string) (URL, error) {
	rest, ok := strings.CutPrefix(s, "s3://")
	name, path, _ := strings.Cut(rest, "/")
	if !ok || name == "" {
		return URL{}, fmt.Errorf("%q must be s3://BUCKET/PATH", s)
	}
	path = strings.TrimRight(path, "/")
	for e := range strings.SplitSeq(path, "/") {
		if e == "." || e == ".." || e == "" && path != "" {
			return URL{}, fmt.Errorf("%q must not have empty, . or .. elements", s)
		}
	}
	return URL{name, path}, nil
}

func (u URL) String() string {
	if u.Path == "" {
		return "s3://" + u.Bucket
	}
	return "s3://" + u.Bucket + "/" + u.Path
}

// Join returns the URL of something below u.
func (u URL) Join(name string) string {
	if u.Path == "" {
		return "s3://" + u.Bucket + "/" + name
	}
	return u.String() + "/" + name
}
