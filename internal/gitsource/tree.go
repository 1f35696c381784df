package gitsource

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/argosy-cd/argosy/internal/tree"
)

// Limits of one tree.
const (
	maxFiles     = 1_000_000
	maxFileBytes = 16 << 20
	maxRead      = 256 << 20
	maxListing   = 128 << 20
)

// Tree is a repository at a revision, or a directory as it lies on disk.
type Tree struct {
	repo   *repository // nil for a directory that is not under Git
	dir    string      // of the work tree; empty for a commit
	commit string
	files  map[string]string // path → object ID, "link" and object ID of a symbolic link; on disk the ID is empty
	// most bounds the bytes of files that are read at once. Zero is maxRead.
	most int
	// blobs reads objects of a commit; nil is by the git command.
	blobs   func(ctx context.Context, ids []string) ([][]byte, error)
	viewing sync.Once
	view    *tree.View // once it was needed
	// submodules are the folders of submodules whose content is not here.
	submodules []string
}

// list fills t.files, with paths relative to the root of the tree.
func (t *Tree) list(ctx context.Context) error {
	var err error
	var files map[string]string
	switch {
	case t.commit != "":
		files, err = t.listCommit(ctx)
	case t.repo != nil:
		files, err = t.listWorkTree(ctx)
	default:
		files, err = listDisk(t.dir)
	}
	if err != nil {
		return err
	}
	if len(files) > maxFiles {
		return fmt.Errorf("%d files is over the limit of %d", len(files), maxFiles)
	}
	t.files = files
	return nil
}

func (t *Tree) listCommit(ctx context.Context) (map[string]string, error) {
	// With directories: a tree of nothing else would be walked without an output that can be bounded.
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
			files[name] = linkPrefix + id
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
		t.submodules = append(t.submodules, name) // one that is not checked out
	case readable(info.Mode()):
		files[name] = onDisk(info.Mode())
	}
	return nil
}

// onDisk is what Tree.files has for a file of the work tree.
func onDisk(mode fs.FileMode) string {
	if mode.Type() == fs.ModeSymlink {
		return linkPrefix
	}
	return ""
}

// linkPrefix begins the object IDs of symbolic links.
const linkPrefix = "link "

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

// Directories returns every directory that contains a file or is a submodule, in the order of a walk: each before its children, names
// in order.
func (t *Tree) Directories(context.Context) ([]string, error) {
	dirs := map[string]bool{}
	for name := range t.files {
		for dir := path.Dir(name); dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, name := range t.submodules {
		for dir := name; dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	return slices.SortedFunc(maps.Keys(dirs), compareWalk), nil
}

// compareWalk orders paths by their parts, so that "a/b" comes before "a-b".
func compareWalk(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		}
		return int(a[i]) - int(b[i])
	}
	return len(a) - len(b)
}

// Files returns the content of all files that match a pattern as git ls-files matches it: the name of a file, of a
// directory above it, or a wildcard whose stars match slashes too.
func (t *Tree) Files(ctx context.Context, pattern string) (map[string][]byte, error) {
	spec, err := parsePathspec(pattern)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range t.files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if spec.matches(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return t.read(ctx, names)
}

// View is the tree, to be read file by file.
func (t *Tree) View() *tree.View {
	t.viewing.Do(func() {
		names := make(map[string]bool, len(t.files)+len(t.submodules))
		for name, id := range t.files {
			names[name] = strings.HasPrefix(id, linkPrefix)
		}
		absent := map[string]string{}
		for _, name := range t.submodules {
			absent[name] = "it is a submodule, whose content is not here"
		}
		t.view = tree.NewView(names, t.content).Without(absent)
		if t.most > 0 {
			t.view.Unkept() // its store is near, and many trees are kept
		}
		// In repositories that we made is what was fetched.
		t.view.Foreign = t.repo != nil && t.repo.remote
	})
	return t.view
}

// Commit is the commit of a revision, "" for what lies on disk.
func (t *Tree) Commit() string { return t.commit }

// ID is the same for files of the same content, in any commit; "" if there is no such file, or the tree is not a commit.
func (t *Tree) ID(name string) string { return t.files[name] }

// Select returns the wanted files.
func (t *Tree) Select(ctx context.Context, wanted tree.Selection) ([]tree.File, error) {
	return t.View().Select(ctx, wanted)
}

// content reads a file, or where a link leads to. A file that only stands for its content, which is elsewhere or encrypted, is an error.
func (t *Tree) content(ctx context.Context, name string) ([]byte, error) {
	data, err := t.raw(ctx, name)
	switch {
	case err != nil:
	case bytes.HasPrefix(data, []byte("\x00GITCRYPT\x00")):
		err = fmt.Errorf("%s: it is encrypted by git-crypt", name)
	case bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")):
		err = fmt.Errorf("%s: it is a pointer of Git LFS, whose content is not here", name)
	}
	return data, err
}

func (t *Tree) raw(ctx context.Context, name string) ([]byte, error) {
	id, link := strings.CutPrefix(t.files[name], linkPrefix)
	switch {
	case t.commit != "" && t.blobs != nil:
		blobs, err := t.blobs(ctx, []string{id})
		if err != nil {
			return nil, err
		}
		return blobs[0], nil
	case t.commit != "":
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

// read reads files by name.
func (t *Tree) read(ctx context.Context, names []string) (map[string][]byte, error) {
	out := make(map[string][]byte, len(names))
	total, most := 0, cmp.Or(t.most, maxRead)
	for _, name := range names {
		data, err := t.View().Read(ctx, name)
		if err != nil {
			return nil, notFound(name, err)
		}
		if total += len(data); total > most {
			return nil, fmt.Errorf("the files are over the limit of %d bytes", most)
		}
		out[name] = data
	}
	return out, nil
}

// notFound says of a link that leads nowhere what it is.
func notFound(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is a symbolic link to something that is no file in the repository", name)
	}
	return err
}

func (t *Tree) sorted() []string { return slices.Sorted(maps.Keys(t.files)) }

func readLimited(root *os.Root, name string) ([]byte, error) {
	// Without waiting: behind a link there may be a pipe that nobody writes to.
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
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s is over the limit of %d bytes", name, maxFileBytes)
	}
	return data, nil
}

// Names returns the names of all files, in order.
func (t *Tree) Names() []string { return t.sorted() }
