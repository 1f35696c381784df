// Package gittree is the content of a Git repository at a revision, wherever it is stored: its paths, patterns of paths as git matches
// them, and revisions as Argo CD reads them. It never follows a link out of a tree, and refuses to read more than its limits.
package gittree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/tree"
)

// Limits of one tree.
const (
	MaxFileBytes = 16 << 20
	MaxRead      = 256 << 20
)

// Config configures a tree.
type Config struct {
	// Commit is "" for a directory on disk.
	Commit string
	// Files are object IDs by path, with Link before those of symbolic links. A file on disk has the ID "".
	Files map[string]string
	// Submodules are the folders of submodules whose content is not available.
	Submodules []string
	// Read reads a file, or where a link leads to.
	Read func(ctx context.Context, name string) ([]byte, error)
	// MaxRead bounds the bytes of files that are read at once. Zero is the limit of all trees.
	MaxRead int
	// Near says that reading is cheap, so that content is not cached.
	Near bool
	// Foreign says that the content was fetched.
	Foreign bool
}

// Link begins the object IDs of symbolic links.
const Link = "link "

// Tree is a repository at a revision, or a directory as it lies on disk.
type Tree struct {
	cfg     Config
	viewing sync.Once
	view    *tree.View // once it was needed
}

// New returns a tree. It does not change any more, and nor must the maps and lists of the configuration.
func New(cfg Config) *Tree { return &Tree{cfg: cfg} }

// Directories returns every directory that contains a file or is a submodule, in the order of a walk: each before its children, names
// in order.
func (t *Tree) Directories(context.Context) ([]string, error) {
	dirs := map[string]bool{}
	for name := range t.cfg.Files {
		for dir := path.Dir(name); dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, name := range t.cfg.Submodules {
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
	for name := range t.cfg.Files {
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
		names := make(map[string]bool, len(t.cfg.Files)+len(t.cfg.Submodules))
		for name := range t.cfg.Files {
			names[name] = t.IsLink(name)
		}
		absent := map[string]string{}
		for _, name := range t.cfg.Submodules {
			absent[name] = "it is a submodule, whose content is not here"
		}
		t.view = tree.NewView(names, t.content).Without(absent)
		if t.cfg.Near {
			t.view.Unkept()
		}
		t.view.Foreign = t.cfg.Foreign
	})
	return t.view
}

// Commit is the commit of a revision, "" for a directory on disk.
func (t *Tree) Commit() string { return t.cfg.Commit }

// ID is the same for files of the same content, in any commit; "" if there is no such file, or the tree is not a commit.
func (t *Tree) ID(name string) string { return t.cfg.Files[name] }

// IsLink reports whether a file is a symbolic link.
func (t *Tree) IsLink(name string) bool { return strings.HasPrefix(t.cfg.Files[name], Link) }

// Names returns the names of all files, in order.
func (t *Tree) Names() []string { return slices.Sorted(maps.Keys(t.cfg.Files)) }

// Select returns the wanted files.
func (t *Tree) Select(ctx context.Context, wanted tree.Selection) ([]tree.File, error) {
	return t.View().Select(ctx, wanted)
}

// content reads a file, or where a link leads to. A file that only stands for its content, which is elsewhere or encrypted, is an error.
func (t *Tree) content(ctx context.Context, name string) ([]byte, error) {
	data, err := t.cfg.Read(ctx, name)
	switch {
	case err != nil:
	case bytes.HasPrefix(data, []byte("\x00GITCRYPT\x00")):
		err = fmt.Errorf("%s: it is encrypted by git-crypt", name)
	case bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")):
		err = fmt.Errorf("%s: it is a pointer of Git LFS, whose content is not here", name)
	}
	return data, err
}

// read reads files by name.
func (t *Tree) read(ctx context.Context, names []string) (map[string][]byte, error) {
	out := make(map[string][]byte, len(names))
	total, most := 0, cmp.Or(t.cfg.MaxRead, MaxRead)
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

// notFound adds to an error that the name is a dangling link.
func notFound(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is a symbolic link to something that is no file in the repository", name)
	}
	return err
}
