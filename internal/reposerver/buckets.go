package reposerver

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/trigger"
)

// Limits of the cached bucket repositories, with the trees that they have served. Others are read again, as after a restart.
const (
	maxServedBuckets = 100
	maxServedBytes   = 256 << 20
)

// servedBucket tells when it was read.
type servedBucket struct {
	*trigger.Bucket
	read func()
}

// Head implements gitserver.Repository.
func (b servedBucket) Head(ctx context.Context) (gitserver.Hash, error) {
	defer b.read()
	return b.Bucket.Head(ctx)
}

// History implements gitserver.Repository.
func (b servedBucket) History(ctx context.Context, commit gitserver.Hash) (gitserver.History, bool, error) {
	defer b.read()
	return b.Bucket.History(ctx, commit)
}

// find returns a bucket repository that is remembered.
func (s *Server) find(path string) *trigger.Bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.open[path]
	if b != nil {
		s.use(path)
	}
	return b
}

// keep caches a bucket repository, and returns it, or the one that another request has opened at the same time.
func (s *Server) keep(path string, b *trigger.Bucket) *trigger.Bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.open[path]; other != nil {
		return other
	}
	s.open[path] = b
	s.use(path)
	s.evict()
	return b
}

// settle drops a bucket repository that could not be read, such as one that does not exist, and evicts others if there is too much content.
func (s *Server) settle(path string, b *trigger.Bucket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.Bytes() == 0 && s.open[path] == b {
		s.forget(path)
	}
	s.evict()
}

// drop forgets a bucket repository that is no longer served.
func (s *Server) drop(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[path] != nil {
		s.forget(path)
	}
}

// failing counts bucket repositories that serve their last tree.
func (s *Server) failing() int {
	n := 0
	for _, b := range s.served() {
		if b.Err() != nil {
			n++
		}
	}
	return n
}

func (s *Server) use(path string) {
	s.used = append(slices.DeleteFunc(s.used, func(p string) bool { return p == path }), path)
}

func (s *Server) forget(path string) {
	delete(s.open, path)
	s.used = slices.DeleteFunc(s.used, func(p string) bool { return p == path })
}

// evict drops the least recently used bucket repositories, those without content first. The most recently used one stays.
func (s *Server) evict() {
	total := int64(0)
	for _, b := range s.open {
		total += b.Bytes()
	}
	for _, known := range []bool{false, true} {
		for _, path := range slices.Clone(s.used[:len(s.used)-min(1, len(s.used))]) {
			size := s.open[path].Bytes()
			if len(s.open) <= maxServedBuckets && total <= maxServedBytes {
				return
			}
			if known == (size > 0) {
				total -= size
				s.forget(path)
			}
		}
	}
}

// served gives all bucket repositories in order.
func (s *Server) served() iter.Seq2[string, *trigger.Bucket] {
	s.mu.Lock()
	open := maps.Clone(s.open)
	s.mu.Unlock()
	return func(yield func(string, *trigger.Bucket) bool) {
		for _, path := range slices.Sorted(maps.Keys(open)) {
			if !yield(path, open[path]) {
				return
			}
		}
	}
}
