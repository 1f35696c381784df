package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// snapshot is a commit on disk.
type snapshot struct {
	dir   string
	bytes int64
	tree  *Tree
	used  time.Time
	mu    sync.Mutex // the storage is not for concurrent use
	store *filesystem.Storage
}

// Commits are kept for some time after they were used last: for longer than any request takes.
const (
	keepFor  = time.Hour
	keepMost = 64
	keepMin  = 2 * time.Minute
)

// commit returns a commit that is kept, or fetches it.
func (r *Remote) commit(ctx context.Context, key string, fetch func(context.Context) (*snapshot, error)) (*snapshot, error) {
	for {
		if snap := r.find(key); snap != nil {
			return snap, nil
		}
		snap, shared, err := r.fetches.Do(ctx, key, func(ctx context.Context) (*snapshot, error) {
			snap, err := fetch(ctx)
			if err == nil {
				r.keep(key, snap)
			}
			return snap, err
		})
		// What somebody else's session could not do is not this one's error.
		if err == nil || !shared || ctx.Err() != nil {
			return snap, err
		}
	}
}

func (r *Remote) find(key string) *snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	snap := r.kept[key]
	if snap != nil {
		snap.used = r.Now()
	}
	return snap
}

func (r *Remote) keep(key string, snap *snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept = map[string]*snapshot{}
	}
	snap.used = r.Now()
	r.kept[key] = snap
}

// makeRoom removes commits that were not used for long, and older ones if there are too many, or too large ones. It fails
// if those that may be in use take too much.
func (r *Remote) makeRoom() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := r.MaxDisk
	if most == 0 {
		most = 2 << 30
	}
	total := int64(0)
	for _, snap := range r.kept {
		total += snap.bytes
	}
	keys := slices.SortedFunc(maps.Keys(r.kept), func(a, b string) int { return r.kept[a].used.Compare(r.kept[b].used) })
	for _, key := range keys {
		old := r.kept[key]
		if age := r.Now().Sub(old.used); age > keepFor || age > keepMin && (len(r.kept) >= keepMost || total >= most) {
			delete(r.kept, key)
			total -= old.bytes
			_ = os.RemoveAll(old.dir)
		}
	}
	if total >= most {
		return fmt.Errorf("commits of other repositories that may be in use take %d MiB, and no more than %d are kept", total>>20, most>>20)
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
	answer, err := s.UploadPack(ctx, request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Close() }()
	snap := &snapshot{dir: dir, store: filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRU(16*cache.MiByte))}
	if snap.bytes, err = r.store(ctx, snap, demultiplexed(request.Capabilities, answer)); err != nil {
		return nil, err
	}
	if snap.tree, err = snap.list(hash); err != nil {
		return nil, err
	}
	return snap, nil
}

// store puts what a server sends on disk, looks at it, and only then gives it to the library.
func (r *Remote) store(ctx context.Context, snap *snapshot, sent io.Reader) (int64, error) {
	limit := r.MaxBytes
	if limit == 0 {
		limit = 512 << 20
	}
	f, err := os.CreateTemp(snap.dir, "pack-")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	defer os.Remove(f.Name()) //nolint:errcheck // it is in our own directory
	n, err := io.Copy(f, &cappedReader{ctx: ctx, r: sent, left: limit})
	if err != nil {
		return 0, err
	}
	for _, use := range []func(io.Reader) error{checkPack, func(pack io.Reader) error { return packfile.UpdateObjectStorage(snap.store, pack) }} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		if err := use(&cappedReader{ctx: ctx, r: f, left: limit + 1}); err != nil {
			return 0, err
		}
	}
	return n, nil
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
		return 0, errors.New("the repository is over the limit for a fetch")
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// list lists a commit as Tree.listCommit does.
func (s *snapshot) list(hash plumbing.Hash) (*Tree, error) {
	commit, err := object.GetCommit(s.store, hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) { // a tag of a tag
		if tag, tagErr := object.GetTag(s.store, hash); tagErr == nil {
			commit, err = tag.Commit()
		}
	}
	if err != nil {
		return nil, err
	}
	root, err := commit.Tree()
	if err != nil {
		return nil, err
	}
	t := &Tree{commit: commit.Hash.String(), files: map[string]string{}, blobs: s.blobs}
	walker := object.NewTreeWalker(root, true, nil)
	defer walker.Close()
	for {
		name, entry, err := walker.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		switch entry.Mode {
		case filemode.Dir:
			continue
		case filemode.Submodule:
			t.submodules = append(t.submodules, name)
		case filemode.Symlink:
			t.files[name] = "link " + entry.Hash.String()
		default:
			t.files[name] = entry.Hash.String()
		}
		if len(t.files) > maxFiles {
			return nil, fmt.Errorf("more than %d files", maxFiles)
		}
	}
}

// blobs reads objects.
func (s *snapshot) blobs(ctx context.Context, ids []string) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([][]byte, 0, len(ids))
	total := int64(0)
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		blob, err := object.GetBlob(s.store, plumbing.NewHash(id))
		if err != nil {
			return nil, err
		}
		if total += blob.Size; blob.Size > maxFileBytes || total > maxRead {
			return nil, fmt.Errorf("object %s has %d bytes, over the limit of %d for one and %d for all", id, blob.Size, maxFileBytes, maxRead)
		}
		r, err := blob.Reader()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(r, maxFileBytes))
		_ = r.Close()
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}
