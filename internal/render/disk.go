package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/argosy-cd/argosy/internal/tree"
)

// root is where Kustomize sees the source.
const root = "/source"

// disk is the file system for Kustomize: the source, fetched repositories beside it, and our own files over both. Kustomize's file system
// in memory needs all files at once, and allows few characters in names.
type disk struct {
	filesys.FileSystem // nil: a build does not use the other methods
	ctx                context.Context
	mounts             map[string]mount // by their directory at the root
	written            map[string][]byte
	read               func(name string)
	unreadable         []error
}

// mount is a repository, and its name in messages.
type mount struct {
	view *tree.View
	url  string
}

func newDisk(ctx context.Context, source *tree.View, read func(string)) *disk {
	return &disk{filesys.MakeEmptyDirInMemory(), ctx, map[string]mount{root: {view: source}}, map[string][]byte{}, read, nil}
}

// mount adds a repository, and returns its directory.
func (d *disk) mount(view *tree.View, url string) string {
	for at, m := range d.mounts {
		if m.view == view {
			return at
		}
	}
	at := fmt.Sprintf("/remote-%d", len(d.mounts))
	d.mounts[at] = mount{view, url}
	return at
}

// path is where a name of the source is.
func (d *disk) path(name string) string { return path.Join(root, name) }

// name is the opposite: a name in the source, or the URL of a file of another repository.
func (d *disk) name(file string) string {
	at, rest := top(file)
	if at == root {
		return strings.TrimPrefix(rest, "/")
	}
	return d.mounts[at].url + rest
}

// top is the mount that a path is in, and the rest of the path.
func top(file string) (at, rest string) {
	if i := strings.IndexByte(file[min(1, len(file)):], '/'); i >= 0 {
		return file[:i+1], file[i+1:]
	}
	return file, ""
}

// find resolves a path.
func (d *disk) find(file string) (real string, kind tree.Kind) {
	file = path.Clean(file)
	if _, ok := d.written[file]; ok {
		return file, tree.Regular
	}
	at, rest := top(file)
	m, ok := d.mounts[at]
	if !ok {
		return "", tree.None
	}
	name, kind, err := m.view.Resolve(d.ctx, path.Join(".", rest))
	if err != nil {
		d.note(err)
		return "", tree.None
	}
	return path.Join(at, name), kind
}

// original reads a file of the source, without our own file over it.
func (d *disk) original(name string) ([]byte, error) {
	real, kind := d.find(name)
	at, rest := top(real)
	if kind != tree.Regular || d.mounts[at].view == nil {
		return nil, fs.ErrNotExist
	}
	return d.mounts[at].view.Read(d.ctx, strings.TrimPrefix(rest, "/"))
}

// note records a read error: Kustomize's result is then not the one of Argo CD.
func (d *disk) note(err error) {
	if errors.As(err, new(tree.UnreadableError)) {
		d.unreadable = append(d.unreadable, err)
	}
}

func (d *disk) IsDir(name string) bool {
	_, kind := d.find(name)
	return kind == tree.Directory
}

func (d *disk) Exists(name string) bool {
	_, kind := d.find(name)
	return kind != tree.None
}

func (d *disk) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	switch real, kind := d.find(name); kind {
	case tree.Directory:
		return filesys.ConfirmedDir(real), "", nil
	case tree.Regular:
		return filesys.ConfirmedDir(path.Dir(real)), path.Base(real), nil
	}
	return "", "", fmt.Errorf("'%s' doesn't exist", path.Clean(name))
}

func (d *disk) ReadFile(name string) ([]byte, error) {
	// A build whose caller is cancelled ends here.
	if err := d.ctx.Err(); err != nil {
		return nil, err
	}
	real, kind := d.find(name)
	if kind != tree.Regular {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	at, rest := top(real)
	if at == root && d.read != nil {
		// Skip our own files.
		if name := strings.TrimPrefix(rest, "/"); d.mounts[at].view.Has(name) {
			d.read(name)
		}
	}
	if data, ok := d.written[real]; ok {
		return data, nil
	}
	data, err := d.mounts[at].view.Read(d.ctx, strings.TrimPrefix(rest, "/"))
	if err != nil {
		d.note(err)
	}
	return data, err
}
