package gitremote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/argosy-cd/argosy/internal/gittree"
)

// snapshot is a commit on disk.
type snapshot struct {
	dir    string
	bytes  int64 // on disk
	memory int64 // about
	tree   *gittree.Tree
	used   time.Time
	users  map[User]int // requests that are not done, by their contexts
	mu     sync.Mutex   // the storage is not for concurrent use
	store  *filesystem.Storage
}

// Commits are kept for some time after their last use. Unused ones are evicted when there are too many, or too large ones.
const (
	keepFor    = time.Hour
	keepMost   = 64
	keepDisk   = 2 << 30
	keepMemory = 128 << 20
	// keepMin is the minimum for callers whose context never ends.
	keepMin = 2 * time.Minute
	// storeCache is the memory for objects of one commit.
	storeCache = 2 << 20
)

// commit returns a commit that is kept, or fetches it. It is kept until the context ends.
func (r *Remote) commit(ctx context.Context, key string, fetch func(context.Context) (*snapshot, error)) (*snapshot, error) {
	for {
		if snap := r.find(ctx, key); snap != nil {
			return snap, nil
		}
		_, shared, err := r.fetches.Do(ctx, key, func(ctx context.Context) (*snapshot, error) {
			snap, err := fetch(ctx)
			if err == nil {
				r.keep(ctx, key, snap) // until the waiting callers have found it
			}
			return snap, err
		})
		// Another caller's failed fetch is retried with this caller's session.
		if err != nil && (!shared || ctx.Err() != nil) {
			return nil, err
		}
	}
}

// find returns a commit that is kept, and keeps it until the context ends.
func (r *Remote) find(ctx context.Context, key string) *snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	snap := r.kept[key]
	if snap != nil {
		r.use(ctx, snap)
	}
	return snap
}

func (r *Remote) keep(ctx context.Context, key string, snap *snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string]*snapshot{}
	}
	r.kept[key] = snap
	r.use(ctx, snap)
}

// use keeps a commit until the context ends. The caller holds the lock.
func (r *Remote) use(ctx context.Context, snap *snapshot) {
	user := userOf(ctx)
	if snap.users == nil {
		snap.users = map[User]int{}
	}
	snap.users[user]++
	snap.used = r.Now()
	context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if snap.users[user]--; snap.users[user] == 0 {
			delete(snap.users, user)
		}
		r.wake()
	})
}

// makeRoom removes commits that were not used for long, and older ones if there are too many, or too large ones. It fails if the commits in
// use are too large.
func (r *Remote) makeRoom() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.evict()
}

// evict does so. The caller holds the lock.
func (r *Remote) evict() error {
	disk, memory := int64(0), int64(0)
	for _, snap := range r.kept {
		disk += snap.bytes
		memory += snap.memory
	}
	keys := slices.SortedFunc(maps.Keys(r.kept), func(a, b string) int { return r.kept[a].used.Compare(r.kept[b].used) })
	for _, key := range keys {
		old := r.kept[key]
		age := r.Now().Sub(old.used)
		full := len(r.kept) >= keepMost || disk >= keepDisk || memory >= keepMemory
		if age > keepFor || (len(old.users) == 0 || age > keepMin) && full {
			delete(r.kept, key)
			disk -= old.bytes
			memory -= old.memory
			_ = os.RemoveAll(old.dir)
		}
	}
	if disk >= keepDisk || memory >= keepMemory {
		return fmt.Errorf("the commits that running requests use take %d MiB on disk and %d MiB of memory, and the limits are %d and "+
			"%d MiB; try again",
			disk>>20, memory>>20, int64(keepDisk)>>20, int64(keepMemory)>>20)
	}
	return nil
}

func (r *Remote) fetch(ctx context.Context, hash plumbing.Hash, refs *packp.AdvRefs, s session) (_ *snapshot, err error) {
	if err := r.makeRoom(); err != nil {
		return nil, err
	}
	request := packp.NewUploadPackRequestFromCapabilities(refs.Capabilities)
	request.Capabilities.Delete(capability.ThinPack)
	request.Wants = []plumbing.Hash{hash}
	if refs.Capabilities.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(1)
		if err := request.Capabilities.Set(capability.Shallow); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp(r.Dir, "commit-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	ctx, allowed := withAllowance(ctx, maxAnswerHead)
	answer, err := s.UploadPack(ctx, request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Close() }()
	limit := r.MaxBytes
	if limit == 0 {
		limit = 512 << 20
	}
	allowed.left.Store(limit + limit/8) // with progress, and the lengths of packets
	pack, err := receive(dir, &cappedReader{ctx: ctx, r: demultiplexed(request.Capabilities, answer), left: limit})
	if err != nil {
		return nil, err
	}
	defer pack.Close()
	leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return unpack(ctx, pack, hash)
}

// receive puts what a server sends on disk.
func receive(dir string, sent io.Reader) (*os.File, error) {
	f, err := os.CreateTemp(dir, "pack-")
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(f, sent); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unpack checks the limits of a pack before the library reads it: in this process, nothing could end that.
func unpack(ctx context.Context, pack *os.File, hash plumbing.Hash) (*snapshot, error) {
	in := &endingFile{ctx, pack}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	objects, err := checkPack(in)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(pack.Name())
	if err := index(in, dir); err != nil {
		return nil, err
	}
	info, err := pack.Stat()
	if err != nil {
		return nil, err
	}
	// To open the pack for each directory again would take longer than to read it.
	snap := &snapshot{dir: dir, bytes: info.Size(), store: filesystem.NewStorageWithOptions(osfs.New(dir), cache.NewObjectLRU(storeCache),
		filesystem.Options{KeepDescriptors: true})}
	var listed int64
	snap.tree, listed, err = snap.list(ctx, hash)
	if err = errors.Join(err, snap.store.Close()); err != nil {
		return nil, err
	}
	snap.store = filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRU(storeCache))
	snap.memory = storeCache + 40*int64(objects) + listed
	return snap, nil
}

// index makes a pack a part of the repository in a directory.
func index(pack *endingFile, dir string) error {
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return err
	}
	writer := &idxfile.Writer{}
	parser, err := packfile.NewParser(packfile.NewScanner(pack), writer)
	if err != nil {
		return err
	}
	sum, err := parser.Parse()
	if err != nil {
		return err
	}
	list, err := writer.Index()
	if err != nil {
		return err
	}
	base := filepath.Join(dir, "objects", "pack", "pack-"+sum.String())
	if err := os.MkdirAll(filepath.Dir(base), 0o700); err != nil {
		return err
	}
	if err := os.Rename(pack.Name(), base+".pack"); err != nil {
		return err
	}
	f, err := os.OpenFile(base+".idx", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = idxfile.NewEncoder(f).Encode(list)
	return errors.Join(err, f.Close())
}

// endingFile is a file that ends with its context.
type endingFile struct {
	ctx context.Context
	*os.File
}

func (f *endingFile) Read(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	runtime.Gosched() // it is long work, and others wait for a processor
	return f.File.Read(p)
}

func (f *endingFile) Seek(offset int64, whence int) (int64, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	return f.File.Seek(offset, whence)
}

func demultiplexed(c *capability.List, r io.Reader) io.Reader {
	switch {
	case c.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, r)
	case c.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, r)
	default:
		return r
	}
}

// cappedReader ends with its context, and fails when there is too much.
type cappedReader struct {
	ctx  context.Context
	r    io.Reader
	left int64
}

func (c *cappedReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	if c.left <= 0 {
		return 0, errTooMuch
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// blob reads an object.
func (s *snapshot) blob(ctx context.Context, id string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	blob, err := object.GetBlob(s.store, plumbing.NewHash(id))
	if err != nil {
		return nil, err
	}
	if blob.Size > gittree.MaxFileBytes {
		return nil, fmt.Errorf("object %s has %d bytes, over the limit of %d", id, blob.Size, gittree.MaxFileBytes)
	}
	r, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, gittree.MaxFileBytes))
	_ = r.Close()
	return data, err
}
