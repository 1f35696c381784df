package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

	"github.com/argosy-cd/argosy/internal/flight"
)

// Remote reads remote repositories without the git command, for a server that is asked again and again: each time it asks
// the repository which commit a revision is, with the credential of who asks, and fetches a commit, without history, once.
// It speaks HTTP, HTTPS and SSH.
type Remote struct {
	// Dir is where commits are kept, and nothing else is. It is emptied by Open.
	Dir string
	// MaxBytes bounds what one fetch may bring. Zero is 512 MiB.
	MaxBytes int64
	// MaxDisk bounds what all commits take. Zero is 2 GiB.
	MaxDisk int64
	Now     func() time.Time
	// KnownHosts returns the keys of SSH servers, as in ~/.ssh/known_hosts. Nil is none.
	KnownHosts func(ctx context.Context) ([]byte, error)
	// CA returns certificates in PEM that a host is to be trusted by, instead of the system's; none for others. Nil is none.
	CA func(ctx context.Context, host string) ([]byte, error)
	// Instead returns the URL and the revision that are asked for instead of others, or why they are not to be asked for. Nil is as they are.
	Instead func(url, revision string) (string, string, error)

	refs    flight.Group[*packp.AdvRefs]
	fetches flight.Group[*snapshot]
	tokens  tokens

	mu   sync.Mutex
	kept map[string]*snapshot
}

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

// Open makes Dir, and removes what an earlier process left there.
func (r *Remote) Open() error {
	// A revision is what it is when it is asked for.
	r.refs.Fresh = true
	if err := os.RemoveAll(r.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.Dir), 0o700); err != nil {
		return err
	}
	// Not one that somebody else has made in the meantime.
	return os.Mkdir(r.Dir, 0o700)
}

// Tree opens a repository at a revision; "" is HEAD. A nil credential is none.
func (r *Remote) Tree(ctx context.Context, url, revision string, c *Credential) (*Tree, error) {
	t, err := r.open(ctx, url, revision, c)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("repository %s: %w", Redact(url), err)
	}
	return t, nil
}

// Commit asks which commit a revision is, and fetches nothing.
func (r *Remote) Commit(ctx context.Context, url, revision string, c *Credential) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	a, err := r.ask(ctx, url, revision, c)
	if err != nil {
		return "", fmt.Errorf("repository %s: %w", Redact(url), err)
	}
	_ = a.session.Close()
	return a.commit.String(), nil
}

// advertised asks for references. Who may not see them does not get a commit that someone else has fetched.
func (r *Remote) advertised(ctx context.Context, s session, url string, c *Credential) (*packp.AdvRefs, error) {
	refs, _, err := r.refs.Do(ctx, url+"\x00"+c.id(), s.AdvertisedReferencesContext)
	if err != nil {
		return nil, explain(err)
	}
	return refs, nil
}

// asked is what a repository says about a revision.
type asked struct {
	url     string // that was asked
	session session
	refs    *packp.AdvRefs
	commit  plumbing.Hash
}

// ask finds the commit of a revision. The session is open then.
func (r *Remote) ask(ctx context.Context, url, revision string, c *Credential) (*asked, error) {
	if r.Instead != nil {
		var err error
		if url, revision, err = r.Instead(url, revision); err != nil {
			return nil, err
		}
	}
	a := &asked{url: url}
	var err error
	if a.session, err = r.session(ctx, url, c); err != nil {
		return nil, err
	}
	if a.refs, err = r.advertised(ctx, a.session, url, c); err == nil {
		a.commit, err = resolveRefs(a.refs, revision)
	}
	if err != nil {
		_ = a.session.Close()
		return nil, err
	}
	return a, nil
}

func (r *Remote) open(ctx context.Context, url, revision string, c *Credential) (*Tree, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	a, err := r.ask(ctx, url, revision, c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.session.Close() }()
	snap, err := r.commit(ctx, a.url+"\x00"+a.commit.String(), func(ctx context.Context) (*snapshot, error) { return r.fetch(ctx, a.commit, a.refs, a.session) })
	if err != nil {
		return nil, fmt.Errorf("fetching revision %q: %w", revision, explain(err))
	}
	return snap.tree, nil
}

// resolveRefs finds the commit of a revision.
func resolveRefs(refs *packp.AdvRefs, revision string) (plumbing.Hash, error) {
	if revision == "" || revision == "HEAD" {
		if refs.Head == nil {
			return plumbing.ZeroHash, errors.New("it has no HEAD")
		}
		return *refs.Head, nil
	}
	if isConstraint(revision) {
		var tags []string
		for name := range refs.References {
			if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok && !strings.HasSuffix(tag, "^{}") {
				tags = append(tags, tag)
			}
		}
		tag, err := highest(revision, tags)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		revision = "refs/tags/" + tag
	}
	for _, name := range []string{revision, "refs/heads/" + revision, "refs/tags/" + revision} {
		if hash, ok := refs.Peeled[name]; ok {
			return hash, nil
		}
		if hash, ok := refs.References[name]; ok {
			return hash, nil
		}
	}
	if plumbing.IsHash(revision) {
		return plumbing.NewHash(revision), nil
	}
	if pinPattern.MatchString(revision) {
		return plumbing.ZeroHash, fmt.Errorf("there is no branch or tag %q; a commit must have all of its 40 digits", revision)
	}
	return plumbing.ZeroHash, fmt.Errorf("there is no branch or tag %q", revision)
}

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
