package bucket

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/retry"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Reader reads snapshots of one bucket.
type Reader struct {
	Store  Store
	Bucket string // its name, for messages
	// ID identifies the bucket and the reader's identity in the cache: identities have different rights.
	ID     string
	Cache  Cache // nil: none
	Limits Limits
}

// Request selects what to read.
type Request struct {
	Path string // directory, or key of an object if File is set; "" is the whole bucket
	File bool   // an object with the key Path is read if there is one; otherwise Path is a directory
	// Select is given the names of all files and returns which to read. nil reads all.
	Select func(names []string) (func(name string) bool, error)
	// Digest is the required digest of the content, as in Snapshot; "" accepts any.
	Digest string
}

// Snapshot is the content under a path at one moment.
type Snapshot struct {
	Names  []string    // of all files; of an object that was read as such, its last element
	Files  []tree.File // the selected files, ordered by name
	Single bool        // the path is an object
	// Digest identifies the content: of an object its sha256, of a directory the sha256 of what sha256sum prints for its
	// files. Without an index it is known only if all files were asked for, or a digest was demanded.
	Digest   string
	Modified time.Time // when the newest of Files was written
	Indexed  bool
	Mark     Mark
	Stats    Stats
}

// Stats counts the cost of a snapshot.
type Stats struct {
	Lists, Gets, Cached int
	Bytes               int64 // of objects that were got
}

// EmptyError says that there is nothing to read.
type EmptyError struct {
	URL    URL
	Reason string
}

func (e *EmptyError) Error() string { return fmt.Sprintf("%s: %s", e.URL, e.Reason) }

// Read reads a snapshot.
func (r *Reader) Read(ctx context.Context, req Request) (*Snapshot, error) {
	var stats Stats
	var s *Snapshot
	attempts := max(r.Limits.Attempts, 1)
	policy := retry.Policy{Attempts: attempts, Backoff: retry.Backoff{First: r.Limits.Backoff, Last: time.Minute}, After: time.After}
	err := retry.Do(ctx, policy, func() (again bool, err error) {
		s, err = r.attempt(ctx, req, &stats)
		return errors.As(err, new(*movedError)), err
	})
	var moved *movedError
	switch {
	case err == nil:
		s.Stats = stats
		return s, nil
	case ctx.Err() != nil:
		return nil, r.late(ctx, req, stats)
	case errors.As(err, &moved):
		return nil, fmt.Errorf("%s: %w, in each of %d attempts; another process is writing, or a push did not finish: push again",
			r.url(req), moved, attempts)
	}
	return nil, err
}

// late says how far it got.
func (r *Reader) late(ctx context.Context, req Request, s Stats) error {
	return fmt.Errorf("%s: %w; until then Argosy got %d listings and read %d objects", r.url(req), context.Cause(ctx), s.Lists, s.Gets)
}

func (r *Reader) url(req Request) URL { return URL{r.Bucket, req.Path} }

// movedError says that a snapshot must be begun again.
type movedError struct{ what string }

func (e *movedError) Error() string { return e.what }

// file is a file of a snapshot and the object that has its content.
type file struct {
	name   string
	object Object
	sum    string // from the index
	data   []byte
	read   bool
}

// Prefix is the prefix that a request lists. Beside an object there may be a directory of the same name.
func (q Request) Prefix() string {
	if q.File {
		return q.Path
	}
	return directory(q.Path)
}

func (r *Reader) attempt(ctx context.Context, req Request, stats *Stats) (*Snapshot, error) {
	prefix := req.Prefix()
	f := &fetch{r: r, req: req, stats: stats, dir: directory(req.Path)}
	listing, err := f.list(ctx, prefix)
	if err != nil {
		return nil, err
	}
	if !f.known() && !f.decides(listing.Objects) {
		// New content here may be part of an unfinished push to a parent directory, which has an index.
		above, found, lists, err := indexAbove(ctx, r.Store, f.dir)
		stats.Lists += lists
		if err != nil {
			return nil, err
		}
		if found {
			f.sub, f.dir = strings.TrimPrefix(f.dir, above), above
			prefix = above
			if listing, err = f.list(ctx, prefix); err != nil {
				return nil, err
			}
		}
	}
	s, files, err := f.choose(ctx, listing.Objects)
	if err != nil {
		return nil, err
	}
	s.Mark = f.markOf(listing.Objects, s, files)
	if err := f.get(ctx, files); err != nil {
		// The next attempt, or the next process, need not read these objects again.
		f.remember(listing.Objects, files, false)
		return nil, err
	}
	if listing.Pages > 1 && !s.Indexed && f.pack.Listing != f.digest {
		// The pages of a listing may be of different times, and cached objects were not read again, so list once more.
		again, err := r.Store.List(ctx, prefix, r.Limits.listed())
		if err != nil {
			return nil, err
		}
		stats.Lists += again.Pages
		if listingDigest(again.Objects) != f.digest {
			return nil, &movedError{"the listing changed while it was read"}
		}
	}
	if err := f.verify(s, files); err != nil {
		return nil, err
	}
	f.remember(listing.Objects, files, true)
	return s, nil
}

// directory is the prefix of what is in a directory.
func directory(path string) string {
	if path == "" {
		return ""
	}
	return path + "/"
}

// list lists a prefix and looks into the cache for it.
func (f *fetch) list(ctx context.Context, prefix string) (Listing, error) {
	listing, err := f.r.Store.List(ctx, prefix, f.r.Limits.listed())
	if err != nil {
		return listing, err
	}
	f.stats.Lists += listing.Pages
	f.id = f.r.ID + "\x00" + prefix
	f.digest = listingDigest(listing.Objects)
	if f.r.Cache != nil {
		f.pack, f.cached = f.r.Cache.Load(f.id)
	}
	return listing, nil
}

// known reports whether a listing is the one that the last snapshot was made from.
func (f *fetch) known() bool { return f.cached && f.pack.Listing == f.digest }

// decides reports whether a listing says by itself what is there: it has the object that was asked for, or an index.
func (f *fetch) decides(objects []Object) bool {
	if _, ok := f.single(objects); ok {
		return true
	}
	return slices.ContainsFunc(objects, func(o Object) bool { return o.Key == f.dir+IndexName })
}

// choose decides what is a file and which files are read.
func (f *fetch) choose(ctx context.Context, objects []Object) (*Snapshot, []*file, error) {
	if o, ok := f.single(objects); ok {
		name := o.Key[strings.LastIndexByte(o.Key, '/')+1:]
		return &Snapshot{Single: true, Names: []string{name}}, []*file{{name: name, object: o}}, nil
	}
	all, index, err := f.files(ctx, objects)
	if err != nil {
		return nil, nil, err
	}
	if len(all) > f.r.Limits.Objects {
		return nil, nil, fmt.Errorf("%s: %d objects are over the limit of %d", f.r.url(f.req), len(all), f.r.Limits.Objects)
	}
	s := &Snapshot{Indexed: index != nil}
	for _, x := range all {
		s.Names = append(s.Names, x.name)
	}
	switch {
	case index != nil && len(all) == 0:
		return nil, nil, &EmptyError{f.r.url(f.req), "the index lists no files here; a first push has not finished, or nothing was pushed"}
	case len(all) == 0:
		return nil, nil, f.empty(ctx)
	case index != nil:
		s.Digest = index.Digest
	}
	if f.req.Select == nil || f.req.Digest != "" && index == nil {
		return s, all, nil
	}
	keep, err := f.req.Select(s.Names)
	if err != nil {
		return nil, nil, err
	}
	var selected []*file
	for _, x := range all {
		if keep(x.name) {
			selected = append(selected, x)
		}
	}
	return s, selected, nil
}

// empty returns the error that there is nothing to read, or why it only seems so.
func (f *fetch) empty(ctx context.Context) error {
	reason := "there are no objects in this path, so the answer would be empty"
	if l, err := f.r.Store.List(ctx, f.req.Path, f.r.Limits.listed()); err == nil && f.req.Path != "" && len(l.Objects) > 0 &&
		l.Objects[0].Key == f.req.Path {
		reason = "this is an object, not a directory, and its name does not end like that of an archive or a manifest"
	}
	return &EmptyError{f.r.url(f.req), reason}
}

// single returns the object that the path is the key of.
func (f *fetch) single(objects []Object) (Object, bool) {
	if !f.req.File {
		return Object{}, false
	}
	for _, o := range objects {
		if o.Key == f.req.Path {
			return o, true
		}
	}
	return Object{}, false
}

// files returns the files of a directory: those that the index lists, or all.
func (f *fetch) files(ctx context.Context, objects []Object) ([]*file, *Index, error) {
	byName := make(map[string]Object, len(objects))
	var all []*file
	for _, o := range objects {
		name, ok := strings.CutPrefix(o.Key, f.dir)
		if !ok || name == "" || strings.HasSuffix(name, "/") {
			continue // a neighbour of a path with an extension, or the marker of a directory
		}
		byName[name] = o
		if !internal(name) {
			all = append(all, &file{name: name, object: o})
		}
	}
	o, ok := byName[IndexName]
	if !ok && f.sub != "" {
		return nil, nil, &movedError{"the index around this directory vanished"}
	}
	if !ok {
		return all, nil, nil
	}
	index, err := f.index(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	if f.sub != "" {
		index.Files = slices.DeleteFunc(index.Files, func(e Entry) bool { return !strings.HasPrefix(e.Path, f.sub) })
	}
	listed := make([]*file, 0, len(index.Files))
	for _, e := range index.Files {
		o, ok := byName[blobDir+e.SHA256]
		if !ok {
			o, ok = byName[e.Path]
		}
		if !ok {
			return nil, nil, &movedError{fmt.Sprintf("%q is in the index, but not in the bucket", e.Path)}
		}
		if o.Size != e.Size {
			return nil, nil, &movedError{fmt.Sprintf("the content of %q does not match the index", e.Path)}
		}
		listed = append(listed, &file{name: strings.TrimPrefix(e.Path, f.sub), object: o, sum: e.SHA256})
	}
	if f.sub != "" {
		for i := range index.Files {
			index.Files[i].Path = listed[i].name
		}
		index.Digest = index.digest()
	}
	return listed, &index, nil
}

// index reads the index, which has the limits of an index and not those of a manifest.
func (f *fetch) index(ctx context.Context, o Object) (Index, error) {
	if o.Size > maxIndexBytes {
		return Index{}, fmt.Errorf("%s: %d bytes is over the limit of %d", f.r.url(f.req).Join(IndexName), o.Size, maxIndexBytes)
	}
	x := &file{name: IndexName, object: o}
	if err := f.get(ctx, []*file{x}); err != nil {
		return Index{}, err
	}
	f.extra = append(f.extra, x)
	index, err := DecodeIndex(x.data)
	if err != nil {
		return Index{}, fmt.Errorf("%s: %w", f.r.url(f.req).Join(IndexName), err)
	}
	return index, nil
}

// verify checks digests and hands the selected files to the snapshot.
func (f *fetch) verify(s *Snapshot, files []*file) error {
	for _, x := range files {
		if x.sum != "" && Sum(x.data) != x.sum {
			return &movedError{fmt.Sprintf("the content of %q does not match the index", x.name)}
		}
		s.Files = append(s.Files, tree.File{Name: x.name, Data: x.data})
		if x.object.Modified.After(s.Modified) {
			s.Modified = x.object.Modified
		}
	}
	switch {
	case s.Single:
		s.Digest = "sha256:" + Sum(files[0].data)
	case !s.Indexed && (f.req.Select == nil || f.req.Digest != ""):
		if i := slices.IndexFunc(s.Files, func(x tree.File) bool { return !tree.Safe(x.Name) }); i >= 0 && f.req.Digest != "" {
			// With a newline in its name, one file looks like two.
			return fmt.Errorf("%s: key %q cannot be in a directory with a digest", f.r.url(f.req), s.Files[i].Name)
		}
		s.Digest = NewIndex(s.Files).Digest
	}
	if f.req.Digest != "" && s.Digest != f.req.Digest {
		return fmt.Errorf("%s: its content is %s, but digest demands %s", f.r.url(f.req), s.Digest, f.req.Digest)
	}
	if f.req.Digest == "" || s.Indexed || f.req.Select == nil || s.Single {
		return nil
	}
	// All was read for the digest; only what was selected is given.
	keep, err := f.req.Select(s.Names)
	if err != nil {
		return err
	}
	var selected []tree.File
	for _, x := range s.Files {
		if keep(x.Name) {
			selected = append(selected, x)
		}
	}
	s.Files = selected
	return nil
}
