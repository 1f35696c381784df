package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/argosy-cd/argosy/internal/gittree"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Most returns all readable files of at most so many bytes, and the names of the others on disk: larger ones, links that do not lead to a
// file in the tree, unreadable files, and names that are not portable.
func (t *Tree) Most(ctx context.Context, most int64) (files []tree.File, left []string, err error) {
	if t.dir == "" {
		return t.mostOfRevision(ctx, most)
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	var total int64
	for _, name := range t.Names() {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		info, err := root.Stat(filepath.FromSlash(name))
		if err != nil || !info.Mode().IsRegular() || info.Size() > most || !tree.Safe(name) {
			left = append(left, name)
			continue
		}
		data, err := readLimited(root, name)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			left = append(left, name)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if total += int64(len(data)); total > gittree.MaxRead {
			return nil, nil, fmt.Errorf("the files are over the limit of %d bytes", gittree.MaxRead)
		}
		files = append(files, tree.File{Name: name, Data: data})
	}
	return files, left, nil
}

// mostOfRevision does the same for a revision, without its links.
func (t *Tree) mostOfRevision(ctx context.Context, most int64) (files []tree.File, left []string, err error) {
	var total int64
	for _, name := range t.Names() {
		if t.IsLink(name) || !tree.Safe(name) {
			left = append(left, name)
			continue
		}
		data, err := t.View().Read(ctx, name)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil || int64(len(data)) > most {
			left = append(left, name)
			continue
		}
		if total += int64(len(data)); total > gittree.MaxRead {
			return nil, nil, fmt.Errorf("the files are over the limit of %d bytes", gittree.MaxRead)
		}
		files = append(files, tree.File{Name: name, Data: data})
	}
	return files, left, nil
}

// Manifests returns the files that can have manifests in them, by their names, and are of a usual size.
func (t *Tree) Manifests(ctx context.Context) ([]tree.File, error) {
	var out []tree.File
	for _, name := range t.Names() {
		if !tree.IsManifest(name) || t.IsLink(name) {
			continue
		}
		data, err := t.View().Read(ctx, name)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && len(data) <= 1<<20 {
			out = append(out, tree.File{Name: name, Data: data})
		}
	}
	return out, nil
}

// Disk returns a directory as it is on disk, without regard to Git.
func Disk(dir string) (*tree.View, error) {
	t := &Tree{dir: dir}
	if err := t.list(context.Background()); err != nil {
		return nil, err
	}
	return t.View(), nil
}
