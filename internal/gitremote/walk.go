package gitremote

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/argosy-cd/argosy/internal/gittree"
	"github.com/argosy-cd/argosy/internal/words"
)

// Limits of a tree that a server reads. Trees that refer to one tree many times are a few kilobytes with millions of paths.
const (
	maxPaths      = 300_000 // files, directories and submodules
	maxPathBytes  = 24 << 20
	maxLevels     = 100
	maxTreeObject = 8 << 20
	// maxRemoteRead bounds the files that a generator reads at once.
	maxRemoteRead = 32 << 20
)

// list lists a commit, and returns about how much memory the list takes.
func (s *snapshot) list(ctx context.Context, hash plumbing.Hash) (t *gittree.Tree, memory int64, err error) {
	commit, err := object.GetCommit(s.store, hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) { // a tag of a tag
		if tag, tagErr := object.GetTag(s.store, hash); tagErr == nil {
			commit, err = tag.Commit()
		}
	}
	if err != nil {
		return nil, 0, err
	}
	files := map[string]string{}
	w := &walk{
		ctx: ctx, snap: s, tree: gittree.Config{
			Commit: commit.Hash.String(), Files: files, MaxRead: maxRemoteRead, Near: true, // many trees are kept
			Read: func(ctx context.Context, name string) ([]byte, error) {
				return s.blob(ctx, strings.TrimPrefix(files[name], gittree.Link))
			},
		},
		known: map[plumbing.Hash][]object.TreeEntry{}, extents: map[plumbing.Hash]extent{},
	}
	if _, err := w.measure(commit.TreeHash, 1); err != nil {
		return nil, 0, err
	}
	if err := w.directory("", commit.TreeHash); err != nil {
		return nil, 0, err
	}
	for name, id := range files {
		memory += 2 * (int64(len(name)+len(id)) + 64) // the view has the names, too
	}
	return gittree.New(w.tree), memory, nil
}

type walk struct {
	ctx  context.Context
	snap *snapshot
	tree gittree.Config
	// known are directories that were read, as long as they are few.
	known   map[plumbing.Hash][]object.TreeEntry
	entries int // in known
	extents map[plumbing.Hash]extent
}

// maxKnown bounds the entries of directories that are remembered.
const maxKnown = 100_000

// extent is how much is in a directory.
type extent struct {
	paths, bytes int // of the paths
	levels       int
}

// measure adds up the content of a directory. A directory that occurs many times is read once, so that a tree over the limits is refused
// before it is walked.
func (w *walk) measure(hash plumbing.Hash, level int) (x extent, err error) {
	if x, ok := w.extents[hash]; ok {
		return x, nil
	}
	if level > maxLevels {
		return x, errLevels
	}
	list, err := w.list(hash)
	if err != nil {
		return x, err
	}
	for _, entry := range list {
		x.paths++
		x.bytes += len(entry.Name)
		if entry.Mode == filemode.Dir {
			below, err := w.measure(entry.Hash, level+1)
			if err != nil {
				return x, err
			}
			x.paths += below.paths
			x.bytes += below.bytes + below.paths*(len(entry.Name)+1)
			x.levels = max(x.levels, below.levels+1)
		}
		if x.paths > maxPaths || x.bytes > maxPathBytes {
			return x, fmt.Errorf("it has more than %d files and directories, or their names more than %d bytes", maxPaths, maxPathBytes)
		}
	}
	if level+x.levels > maxLevels {
		return x, errLevels
	}
	w.extents[hash] = x
	return x, nil
}

var errLevels = fmt.Errorf("it has directories more than %d levels deep", maxLevels)

// list reads a directory.
func (w *walk) list(hash plumbing.Hash) ([]object.TreeEntry, error) {
	if list, ok := w.known[hash]; ok {
		return list, nil
	}
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	runtime.Gosched() // it is long work, and others wait for a processor
	o, err := w.snap.store.EncodedObject(plumbing.TreeObject, hash)
	if err != nil {
		return nil, err
	}
	if o.Size() > maxTreeObject {
		return nil, fmt.Errorf("the list of one of its directories has %d bytes, over the limit of %d", o.Size(), maxTreeObject)
	}
	t, err := object.DecodeTree(w.snap.store, o)
	if err != nil {
		return nil, err
	}
	if w.entries += len(t.Entries); w.entries <= maxKnown {
		w.known[hash] = t.Entries
	}
	return t.Entries, nil
}

// directory adds what is in a directory, whose name ends with a slash.
func (w *walk) directory(name string, hash plumbing.Hash) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	list, err := w.list(hash)
	if err != nil {
		return err
	}
	for _, entry := range list {
		if err := w.entry(name+entry.Name, entry); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(name string, entry object.TreeEntry) error {
	// No client of Git checks these out.
	if entry.Name == "" || entry.Name == "." || entry.Name == ".." || strings.EqualFold(entry.Name, ".git") ||
		strings.ContainsAny(entry.Name, "/\x00") {
		return fmt.Errorf("it has a file or directory named %q", words.Shorten(entry.Name, 60))
	}
	switch entry.Mode {
	case filemode.Dir:
		return w.directory(name+"/", entry.Hash)
	case filemode.Submodule:
		w.tree.Submodules = append(w.tree.Submodules, name)
	case filemode.Symlink:
		w.tree.Files[name] = gittree.Link + entry.Hash.String()
	default:
		w.tree.Files[name] = entry.Hash.String()
	}
	return nil
}
