package trigger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Snapshots that stay fetchable by their hash, so that Argo CD can go back to one.
const (
	maxStates     = 16
	maxStateBytes = 128 << 20
	// maxPast is how many earlier states of a bucket with versioning are looked at.
	maxPast = 200
)

// Bucket is a repository whose tree is a directory in a bucket. Its commit depends on the content and on when the newest
// object was written, so replicas agree. While the bucket cannot be read, or is empty, the last tree is served.
type Bucket struct {
	reader *bucket.Reader
	path   string
	// patience is how long a bucket may take when there is a tree to serve instead.
	patience time.Duration
	reads    flight.Group[*state]
	looking  chan struct{} // for an earlier state, which reads the bucket many times

	mu     sync.Mutex
	states []*state // oldest first
	err    error
	begun  int // reads
	known  int // the latest of them that has ended
}

// state is a snapshot as a commit.
type state struct {
	hash    gitserver.Hash
	history gitserver.History
	bytes   int64
	read    int // that it comes from
}

// NewBucket returns a repository of the objects under a path.
func NewBucket(reader *bucket.Reader, path string) *Bucket {
	// Argo CD gives up on a repository after 15 s.
	b := &Bucket{reader: reader, path: path, patience: 10 * time.Second, looking: make(chan struct{}, 1)}
	b.reads.Fresh = true // a commit is not older than the question
	return b
}

// Bytes is the size of the cached content. It is zero as long as the bucket could not be read.
func (b *Bucket) Bytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	total := int64(0)
	for _, s := range b.states {
		total += s.bytes + stateOverhead
	}
	return total
}

// stateOverhead is the memory of a state without its content.
const stateOverhead = 4096

// Err is why the bucket could not be read the last time; nil if it could.
func (b *Bucket) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Last returns the commit that was served last, and reports whether there was one. It does not read the bucket.
func (b *Bucket) Last() (gitserver.Hash, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last()
}

// last does so. The caller holds the lock.
func (b *Bucket) last() (gitserver.Hash, bool) {
	if len(b.states) == 0 {
		return gitserver.Hash{}, false
	}
	return b.states[len(b.states)-1].hash, true
}

// Head implements gitserver.Repository.
func (b *Bucket) Head(ctx context.Context) (gitserver.Hash, error) {
	asked := ctx
	b.mu.Lock()
	served := len(b.states) > 0
	b.mu.Unlock()
	if served {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, b.patience, fmt.Errorf("not finished after %s", b.patience))
		defer cancel()
	}
	now, _, err := b.reads.Do(ctx, "", b.next)
	b.mu.Lock()
	defer b.mu.Unlock()
	// A cancelled request proves nothing about the bucket.
	if err == nil || !errors.Is(asked.Err(), context.Canceled) {
		b.learn(now, err)
	}
	if last, ok := b.last(); ok {
		return last, nil
	}
	return gitserver.Hash{}, err
}

// next reads the bucket. The state has the number of the read, also if that has failed.
func (b *Bucket) next(ctx context.Context) (*state, error) {
	b.mu.Lock()
	b.begun++
	n := b.begun
	b.mu.Unlock()
	s, err := b.read(ctx, b.reader)
	if err != nil {
		s = &state{}
	}
	s.read = n
	return s, err
}

// learn records the result of a read; nil for one that has not ended in time. A result may come after that of a later read, which then
// wins.
func (b *Bucket) learn(now *state, err error) {
	if now == nil || now.read >= b.known {
		b.err = err
	}
	if now == nil {
		return
	}
	b.known = max(b.known, now.read)
	if n := len(b.states); err == nil && (n == 0 || now.read >= b.states[n-1].read) {
		b.keep(now)
	}
}

// keep adds a state, and forgets old ones.
func (b *Bucket) keep(now *state) {
	b.states = append(slices.DeleteFunc(b.states, func(s *state) bool { return s.hash == now.hash }), now)
	var total int64
	for i, s := range slices.Backward(b.states) {
		if total += s.bytes; len(b.states)-i > maxStates || total > maxStateBytes && s != now {
			b.states = b.states[i+1:]
			return
		}
	}
}

func (b *Bucket) read(ctx context.Context, reader *bucket.Reader) (*state, error) {
	snapshot, err := reader.Read(ctx, bucket.Request{Path: b.path})
	if err != nil {
		return nil, err
	}
	root := newFolder()
	s := &state{}
	url := bucket.URL{Bucket: b.reader.Bucket, Path: b.path}
	for _, f := range snapshot.Files {
		if err := root.add(f); err != nil {
			return nil, fmt.Errorf("%s: %w", url, err)
		}
		s.bytes += int64(len(f.Data))
	}
	var content []gitserver.Object
	top := root.objects(&content)
	commit := gitserver.Commit{
		Tree: top, Date: snapshot.Modified.Truncate(time.Second),
		Message: fmt.Sprintf("%s\n\n%s", url, snapshot.Digest),
	}.Object()
	s.hash = commit.Hash()
	s.history = gitserver.History{Commits: []gitserver.Object{commit}, Content: func(int) ([]gitserver.Object, error) {
		return content, nil
	}}
	return s, nil
}

// History implements gitserver.Repository.
func (b *Bucket) History(ctx context.Context, commit gitserver.Hash) (gitserver.History, bool, error) {
	if h, ok := b.find(commit); ok {
		return h, true, nil
	}
	// Another replica may have told the client about it.
	if _, err := b.Head(ctx); err != nil {
		return gitserver.History{}, false, err
	}
	if h, ok := b.find(commit); ok {
		return h, true, nil
	}
	return b.past(ctx, commit)
}

// past looks for a commit among the earlier states of a bucket with versioning.
func (b *Bucket) past(ctx context.Context, commit gitserver.Hash) (history gitserver.History, found bool, err error) {
	select {
	case b.looking <- struct{}{}:
		defer func() { <-b.looking }()
	case <-ctx.Done():
		return history, false, context.Cause(ctx)
	}
	err = b.reader.Past(ctx, b.path, maxPast, func(r *bucket.Reader) (bool, error) {
		s, err := b.read(ctx, r)
		if ctx.Err() != nil {
			return false, err
		}
		if err != nil || s.hash != commit {
			return false, nil // a state that cannot be read was never served
		}
		history, found = s.history, true
		return true, nil
	})
	// Without versions, or without the right to list them, the commit is unknown.
	if errors.Is(err, bucket.ErrUnversioned) || errors.Is(err, bucket.ErrDenied) {
		err = nil
	}
	return history, found, err
}

func (b *Bucket) find(commit gitserver.Hash) (gitserver.History, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.states {
		if s.hash == commit {
			return s.history, true
		}
	}
	return gitserver.History{}, false
}

// folder is a directory on its way into trees.
type folder struct {
	files   map[string][]byte
	folders map[string]*folder
}

func newFolder() *folder { return &folder{map[string][]byte{}, map[string]*folder{}} }

func (d *folder) add(f tree.File) error {
	elements := strings.Split(f.Name, "/")
	if !tree.Safe(f.Name) || slices.ContainsFunc(elements, func(e string) bool { return strings.EqualFold(e, ".git") }) {
		return fmt.Errorf("key %q cannot be a file in a Git repository", f.Name)
	}
	for _, e := range elements[:len(elements)-1] {
		if _, ok := d.files[e]; ok {
			return fmt.Errorf("key %q is below another key; Git cannot store that key as both file and directory", f.Name)
		}
		if d.folders[e] == nil {
			d.folders[e] = newFolder()
		}
		d = d.folders[e]
	}
	name := elements[len(elements)-1]
	if d.folders[name] != nil {
		return fmt.Errorf("key %q is a directory, too", f.Name)
	}
	d.files[name] = f.Data
	return nil
}

// objects appends the trees and blobs of a folder and returns its own tree. Git orders entries as if the names of
// directories ended with a slash.
func (d *folder) objects(out *[]gitserver.Object) gitserver.Hash {
	type entry struct {
		mode, name string
		hash       gitserver.Hash
	}
	entries := map[string]entry{}
	for name, data := range d.files {
		blob := gitserver.Object{Kind: gitserver.KindBlob, Data: data}
		*out = append(*out, blob)
		entries[name] = entry{"100644", name, blob.Hash()}
	}
	for name, sub := range d.folders {
		entries[name+"/"] = entry{"40000", name, sub.objects(out)}
	}
	var b bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		e := entries[key]
		fmt.Fprintf(&b, "%s %s\x00", e.mode, e.name)
		b.Write(e.hash[:])
	}
	object := gitserver.Object{Kind: gitserver.KindTree, Data: b.Bytes()}
	*out = append(*out, object)
	return object.Hash()
}
