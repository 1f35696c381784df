package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/argosy-cd/argosy/internal/gittree"
)

// Limits of one tree.
const (
	maxFiles   = 1_000_000
	maxListing = 128 << 20
)

// Tree is a repository at a revision, or a directory as it lies on disk.
type Tree struct {
	*gittree.Tree // once it is listed

	repo   *repository // nil for a directory that is not under Git
	dir    string      // of the work tree; empty for a commit
	commit string
	files  map[string]string // as in gittree.Config
	// submodules are the folders of submodules whose content is not available.
	submodules []string
	instead    string
}

// Instead says that this is not the revision that was asked for, and why; "" is that it is.
func (t *Tree) Instead() string { return t.instead }

// list lists the files, with paths relative to the root of the tree.
func (t *Tree) list(ctx context.Context) error {
	var err error
	switch {
	case t.commit != "":
		t.files, err = t.listCommit(ctx)
	case t.repo != nil:
		t.files, err = t.listWorkTree(ctx)
	default:
		t.files, err = listDisk(t.dir)
	}
	if err != nil {
		return err
	}
	if len(t.files) > maxFiles {
		return fmt.Errorf("%d files is over the limit of %d", len(t.files), maxFiles)
	}
	t.Tree = gittree.New(gittree.Config{
		Commit: t.commit, Files: t.files, Submodules: t.submodules, Read: t.read,
		Foreign: t.repo != nil && t.repo.remote, // our own repositories hold fetched content
	})
	return nil
}

// read reads a file, or where a link leads to.
func (t *Tree) read(ctx context.Context, name string) ([]byte, error) {
	id, link := strings.CutPrefix(t.files[name], gittree.Link)
	if t.commit != "" {
		data, err := t.repo.blob(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return data, nil
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if link {
		to, err := root.Readlink(filepath.FromSlash(name))
		return []byte(filepath.ToSlash(to)), err
	}
	return readLimited(root, name)
}

func (t *Tree) listCommit(ctx context.Context) (map[string]string, error) {
	// List directories, too: a tree of directories only would be walked without output, and so without a limit.
	args := []string{"ls-tree", "-r", "-t", "-z", "--full-tree", t.commit}
	if t.repo.prefix != "" {
		args = append(args, "--", t.repo.prefix)
	}
	out, err := t.repo.runMost(ctx, maxListing, args...)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		meta, name, ok := strings.Cut(entry, "\t")
		parts := strings.Fields(meta)
		if !ok || len(parts) != 3 {
			continue
		}
		name = strings.TrimPrefix(name, t.repo.prefix)
		switch id := parts[2]; {
		case parts[1] == "tree":
		case parts[1] == "commit":
			t.submodules = append(t.submodules, name)
		case parts[0] == "120000":
			files[name] = gittree.Link + id
		default:
			files[name] = id
		}
	}
	if len(files) == 0 && t.repo.prefix != "" {
		return nil, fmt.Errorf("there is no folder %s in commit %.12s", t.repo.prefix, t.commit)
	}
	return files, nil
}

// listWorkTree lists what a commit of everything would contain: tracked files that are still there, those of
// submodules too, and new files that are not ignored.
func (t *Tree) listWorkTree(ctx context.Context) (map[string]string, error) {
	tracked, err := t.repo.run(ctx, "ls-files", "-z", "-t", "--cached", "--recurse-submodules")
	if err != nil {
		return nil, err
	}
	others, err := t.repo.run(ctx, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(tracked, "\x00"), "\x00") {
		tag, name, ok := strings.Cut(entry, " ")
		if !ok {
			continue
		}
		if err := t.addFile(files, name, tag == "S"); err != nil {
			return nil, err
		}
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(others, "\x00"), "\x00") {
		// A name with a slash at its end is a repository inside of this one, which a commit would not contain.
		if name == "" || strings.HasSuffix(name, "/") {
			continue
		}
		if err := t.addFile(files, name, false); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// addFile adds a file of the work tree if it is there. One that is absent on purpose, by a sparse checkout, would be
// missing from the answer, so it is refused.
func (t *Tree) addFile(files map[string]string, name string, sparse bool) error {
	info, err := os.Lstat(filepath.Join(t.dir, filepath.FromSlash(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist) && sparse:
		return fmt.Errorf("%s is not checked out (sparse checkout), so the work tree is incomplete; name a revision, as in PATH@HEAD", name)
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir():
		t.submodules = append(t.submodules, name) // a submodule that is not checked out
	case readable(info.Mode()):
		files[name] = onDisk(info.Mode())
	}
	return nil
}

// onDisk returns the entry of Tree.files for a file of the work tree.
func onDisk(mode fs.FileMode) string {
	if mode.Type() == fs.ModeSymlink {
		return gittree.Link
	}
	return ""
}

// readable reports whether a file can be in a commit: not a pipe or a device.
func readable(mode fs.FileMode) bool { return mode.IsRegular() || mode.Type() == fs.ModeSymlink }

func listDisk(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		if !readable(d.Type()) || d.Name() == ".git" { // of a submodule that was copied
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		if files[filepath.ToSlash(rel)] = onDisk(d.Type()); len(files) > maxFiles {
			return fmt.Errorf("%s has more than %d files", dir, maxFiles)
		}
		return nil
	})
	return files, err
}

func readLimited(root *os.Root, name string) ([]byte, error) {
	// Do not block: a link may lead to a pipe without a writer.
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			return nil, fmt.Errorf("%s: %w", name, pe.Err)
		}
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, gittree.MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > gittree.MaxFileBytes {
		return nil, fmt.Errorf("%s is over the limit of %d bytes", name, gittree.MaxFileBytes)
	}
	return data, nil
}
