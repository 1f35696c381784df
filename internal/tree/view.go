package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// View is a directory whose files are read when they are wanted, and once: a work tree, a commit, an archive. Symbolic links work inside of
// it; following a link that leads out of it, to nothing or in a circle is an error. It is safe for concurrent use, and never changes.
type View struct {
	// Foreign says that it was fetched, and is not the user's own. It must be set before the view is used.
	Foreign bool

	links map[string]bool     // every name that is a file (false) or a link (true)
	dirs  map[string][]string // names in each directory, in order
	read  func(ctx context.Context, name string) ([]byte, error)
	// absent are directories with unavailable content, and the reasons.
	absent map[string]string

	mu      sync.Mutex
	kept    map[string][]byte
	size    int64
	most    int64   // of kept
	outside *string // the result of Outside; nil before its first call
}

// maxKept bounds the bytes of files that a View keeps for the next reader.
const maxKept = 128 << 20

// NewView returns a view of files. names has all of them, with true for symbolic links, and read returns the content of a file, or the
// target of a link.
func NewView(names map[string]bool, read func(ctx context.Context, name string) ([]byte, error)) *View {
	v := &View{links: names, dirs: map[string][]string{".": nil}, read: read, kept: map[string][]byte{}, most: maxKept}
	seen := map[string]bool{}
	for name := range names {
		for name != "." && !seen[name] {
			seen[name] = true
			dir := path.Dir(name)
			v.dirs[dir] = append(v.dirs[dir], path.Base(name))
			name = dir
		}
	}
	for _, list := range v.dirs {
		slices.Sort(list)
	}
	return v
}

// Unkept returns the view without a cache: each read reads the file again.
func (v *View) Unkept() *View {
	v.most = -1
	return v
}

// Without returns the view with directories of unavailable content, by name, with the reasons. Reading in one of them is an error.
func (v *View) Without(absent map[string]string) *View {
	v.absent = absent
	for name := range absent {
		dir := path.Dir(name)
		if _, ok := v.dirs[name]; !ok && !slices.Contains(v.dirs[dir], path.Base(name)) {
			v.dirs[dir] = append(slices.Clip(v.dirs[dir]), path.Base(name))
			slices.Sort(v.dirs[dir])
		}
	}
	return v
}

// Fresh returns a view of the same files that keeps none of their content yet.
func (v *View) Fresh() *View {
	v.mu.Lock()
	defer v.mu.Unlock()
	return &View{
		Foreign: v.Foreign, links: v.links, dirs: v.dirs, read: v.read, absent: v.absent, kept: map[string][]byte{},
		outside: v.outside,
	}
}

// Of returns a view of files in memory.
func Of(files []File) *View {
	names, content := make(map[string]bool, len(files)), make(map[string][]byte, len(files))
	for _, f := range files {
		names[f.Name], content[f.Name] = false, f.Data
	}
	return NewView(names, func(_ context.Context, name string) ([]byte, error) { return content[name], nil })
}

// All returns the names of all files and links, with true for links. They must not be changed.
func (v *View) All() map[string]bool { return v.links }

// Absent returns the directories of unavailable content, with the reasons. The map must not be changed.
func (v *View) Absent() map[string]string { return v.absent }

// Raw returns the content of a file, or the target of a link.
func (v *View) Raw(ctx context.Context, name string) ([]byte, error) {
	if !v.Has(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return v.content(ctx, name)
}

// Kind is the kind of a name.
type Kind int

// Kinds.
const (
	None Kind = iota
	Regular
	Directory
)

// Errors of links.
var (
	ErrOutside = errors.New("it is a symbolic link out of the repository")
	errCircle  = errors.New("it is a symbolic link that leads in a circle")
)

// UnreadableError says that a file exists and cannot be read here: it is over a limit of ours, or reading it fails.
type UnreadableError struct{ Err error }

func (e UnreadableError) Error() string { return e.Err.Error() }
func (e UnreadableError) Unwrap() error { return e.Err }

// Resolve follows links, and returns the resulting name and its kind. A name that does not exist has the kind None and no error.
func (v *View) Resolve(ctx context.Context, name string) (real string, kind Kind, err error) {
	at, rest, links := ".", path.Clean(name), 0
	for rest != "" {
		part, more, _ := strings.Cut(rest, "/")
		rest = more
		switch part {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return "", None, fmt.Errorf("%s: %w", name, ErrOutside)
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		if reason, ok := v.absent[next]; ok {
			return "", None, UnreadableError{fmt.Errorf("%s: %s", next, reason)}
		}
		if !v.links[next] {
			at = next
			continue
		}
		if links++; links > 40 {
			return "", None, fmt.Errorf("%s: %w", name, errCircle)
		}
		to, err := v.content(ctx, next)
		if err != nil {
			return "", None, err
		}
		if path.IsAbs(string(to)) {
			return "", None, fmt.Errorf("%s: %w", next, ErrOutside)
		}
		if len(to)+len(rest) > maxPath {
			return "", None, fmt.Errorf("%s: %w", name, errCircle)
		}
		rest = string(to) + "/" + rest
	}
	_, file := v.links[at]
	_, dir := v.dirs[at]
	switch {
	case file:
		return at, Regular, nil
	case dir:
		return at, Directory, nil
	}
	return at, None, nil
}

// maxPath bounds a path with its links expanded.
const maxPath = 1 << 16

// Has reports whether a name is a file or a link itself.
func (v *View) Has(name string) bool {
	_, ok := v.links[name]
	return ok
}

// IsLink reports whether a name is a symbolic link itself.
func (v *View) IsLink(name string) bool { return v.links[name] }

// Names returns the names of the files and links in a directory, in order, without directories. The directory is not a link.
func (v *View) Names(dir string) []string {
	dir = path.Clean(dir)
	var out []string
	for _, base := range v.dirs[dir] {
		if _, ok := v.links[path.Join(dir, base)]; ok {
			out = append(out, base)
		}
	}
	return out
}

// Read returns the content of a file, and follows links. The content must not be changed.
func (v *View) Read(ctx context.Context, name string) ([]byte, error) {
	real, kind, err := v.Resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	if kind != Regular {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return v.content(ctx, real)
}

// content reads a file or a link itself.
func (v *View) content(ctx context.Context, name string) ([]byte, error) {
	v.mu.Lock()
	data, ok := v.kept[name]
	v.mu.Unlock()
	if ok {
		return data, nil
	}
	data, err := v.read(ctx, name)
	if err != nil {
		return nil, UnreadableError{err}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.size+int64(len(data)) <= v.most {
		v.kept[name] = data
		v.size += int64(len(data))
	}
	return data, nil
}

// Outside returns the first link, by its name, that is absolute or leaves the view on its way, whether or not it comes back; "" if there is
// none. It reads all links once, and no files.
func (v *View) Outside(ctx context.Context) (string, error) {
	v.mu.Lock()
	found := v.outside
	v.mu.Unlock()
	if found != nil {
		return *found, nil
	}
	first := ""
	for name, isLink := range v.links {
		if !isLink || first != "" && first < name {
			continue
		}
		target, err := v.content(ctx, name)
		if err != nil {
			return "", err
		}
		if leaves(path.Dir(name), string(target)) {
			first = name
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.outside = &first
	return first, nil
}

// leaves reports whether a relative path leads out of the root on its way from a directory, or is not relative.
func leaves(dir, target string) bool {
	if path.IsAbs(target) {
		return true
	}
	for part := range strings.SplitSeq(target, "/") {
		if dir = path.Join(dir, part); dir == ".." {
			return true
		}
	}
	return false
}

// Walk calls visit for all directories, files and links below a directory, in the order of names as filepath.Walk has it, by their names in
// the view. If visit returns fs.SkipDir for a directory, its content is skipped. Links are followed if follow is set, but never into a
// directory that is being walked. Any other error of visit ends the walk.
func (v *View) Walk(ctx context.Context, dir string, follow bool, visit func(name string, kind Kind) error) error {
	if dir == "" {
		dir = "."
	}
	real, kind, err := v.Resolve(ctx, dir)
	if err != nil || kind != Directory {
		return err
	}
	w := walk{v, follow, visit, 0}
	return w.directory(ctx, path.Clean(dir), real, []string{real})
}

type walk struct {
	*View
	follow bool
	visit  func(name string, kind Kind) error
	steps  int
}

// maxWalk and maxLinked bound the files and the bytes that links to directories can multiply.
const (
	maxWalk   = 200_000
	maxLinked = 512 << 20
)

func (w *walk) directory(ctx context.Context, as, real string, above []string) error {
	for _, base := range w.dirs[real] {
		if w.steps++; w.follow && w.steps > maxWalk {
			return UnreadableError{fmt.Errorf("%s: symbolic links lead to more than %d files", as, maxWalk)}
		}
		name, at := path.Join(as, base), path.Join(real, base)
		isLink, file := w.links[at]
		kind := Directory
		if file {
			kind = Regular
		}
		if isLink {
			kind = None
			if w.follow {
				var err error
				if at, kind, err = w.Resolve(ctx, at); err != nil || kind == None {
					if err := w.visit(name, None); err != nil {
						return err
					}
					continue
				}
				if kind == Directory && slices.Contains(above, at) {
					continue
				}
			}
		}
		err := w.visit(name, kind)
		if kind == Directory && errors.Is(err, fs.SkipDir) {
			continue
		}
		if reason, ok := w.absent[at]; ok && err == nil {
			err = UnreadableError{fmt.Errorf("%s: %s", at, reason)}
		}
		if kind == Directory && err == nil {
			err = w.directory(ctx, name, at, append(slices.Clip(above), at))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Select returns the wanted files: links to files under their own name, and files behind links to directories if the selection has Links. A
// wanted link that leads out of the view, to nothing or in a circle is an error.
func (v *View) Select(ctx context.Context, wanted Selection) ([]File, error) {
	var out []File
	size := int64(0)
	add := func(name string) error {
		data, err := v.Read(ctx, name)
		if size += int64(len(data)); wanted.Links && size > maxLinked {
			return UnreadableError{fmt.Errorf("%s: the files up to this one have more than %d MiB, counting what symbolic links lead to",
				name, maxLinked>>20)}
		}
		if err == nil && (wanted.MaxBytes == 0 || int64(len(data)) <= wanted.MaxBytes) {
			out = append(out, File{name, data})
		}
		return err
	}
	if wanted.Names != nil {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(wanted.Names))) {
			_, kind, err := v.Resolve(ctx, name)
			if err == nil && kind == Regular {
				err = add(name)
			}
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	err := v.Walk(ctx, wanted.Dir, wanted.Links, func(name string, kind Kind) error {
		if kind == Directory || !wanted.Wants(name) {
			return nil
		}
		if kind == None {
			_, kind, err := v.Resolve(ctx, name)
			if err == nil && kind == None {
				err = fmt.Errorf("%s: it is a symbolic link to something that is not there", name)
			}
			if err != nil || kind == Directory {
				return err
			}
		}
		return add(name)
	})
	if err != nil {
		return nil, err
	}
	Sort(out)
	return out, nil
}
