package gitsource

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Limits of a tree that a server reads. Trees that refer to one tree many times are a few kilobytes with millions of paths.
const (
	maxPaths      = 300_000 // files, directories and submodules
	maxPathBytes  = 48 << 20
	maxLevels     = 100
	maxTreeObject = 8 << 20
)

// list lists a commit as Tree.listCommit does.
func (s *snapshot) list(ctx context.Context, hash plumbing.Hash) (*Tree, error) {
	commit, err := object.GetCommit(s.store, hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) { // a tag of a tag
		if tag, tagErr := object.GetTag(s.store, hash); tagErr == nil {
			commit, err = tag.Commit()
		}
	}
	if err != nil {
		return nil, err
	}
	w := &walk{ctx: ctx, snap: s, tree: &Tree{commit: commit.Hash.String(), files: map[string]string{}, blobs: s.blobs}}
	if err := w.directory("", commit.TreeHash, 1); err != nil {
		return nil, err
	}
	return w.tree, nil
}

type walk struct {
	ctx   context.Context
	snap  *snapshot
	tree  *Tree
	paths int
	bytes int
}

// directory adds what is in a directory, whose name ends with a slash.
func (w *walk) directory(name string, hash plumbing.Hash, level int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if level > maxLevels {
		return fmt.Errorf("it has directories more than %d levels deep", maxLevels)
	}
	o, err := w.snap.store.EncodedObject(plumbing.TreeObject, hash)
	if err != nil {
		return err
	}
	if o.Size() > maxTreeObject {
		return fmt.Errorf("the list of one of its directories has %d bytes, over the limit of %d", o.Size(), maxTreeObject)
	}
	list, err := object.DecodeTree(w.snap.store, o)
	if err != nil {
		return err
	}
	for _, entry := range list.Entries {
		if err := w.entry(name+entry.Name, entry, level); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(name string, entry object.TreeEntry, level int) error {
	// No client of Git checks these out.
	if entry.Name == "" || entry.Name == "." || entry.Name == ".." || strings.EqualFold(entry.Name, ".git") || strings.ContainsAny(entry.Name, "/\x00") {
		return fmt.Errorf("it has a file or directory named %q", bounded(entry.Name))
	}
	w.paths++
	if w.bytes += len(name); w.paths > maxPaths || w.bytes > maxPathBytes {
		return fmt.Errorf("it has more than %d files and directories, or their names more than %d bytes", maxPaths, maxPathBytes)
	}
	switch entry.Mode {
	case filemode.Dir:
		return w.directory(name+"/", entry.Hash, level+1)
	case filemode.Submodule:
		w.tree.submodules = append(w.tree.submodules, name)
	case filemode.Symlink:
		w.tree.files[name] = linkPrefix + entry.Hash.String()
	default:
		w.tree.files[name] = entry.Hash.String()
	}
	return nil
}

func bounded(name string) string { return name[:min(len(name), 60)] }

// memory is about how much a list of files takes.
func (t *Tree) memory() int64 {
	total := int64(0)
	for name, id := range t.files {
		total += int64(len(name)+len(id)) + 64
	}
	return 2 * total // the view has the names, too
}
