package bucket

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/flight"
)

// Mark identifies the state that a snapshot was made from, in a few bytes. An equal Mark later means that nothing has changed.
type Mark struct {
	// Key is the object that decides what is there: an index, or the object that was asked for. "" is the listing.
	Key string
	Sum string // "" if the object does not exist
}

// markOf is the mark of an attempt that has chosen its files.
func (f *fetch) markOf(objects []Object, s *Snapshot, files []*file) Mark {
	key := f.dir + IndexName
	switch {
	case s.Single:
		key = files[0].object.Key
	case !s.Indexed:
		return listingMark(files)
	}
	return objectMark(objects, key)
}

// objectMark is the mark of an object, wherever it is in a listing.
func objectMark(objects []Object, key string) Mark {
	if i := slices.IndexFunc(objects, func(o Object) bool { return o.Key == key }); i >= 0 {
		return Mark{key, objects[i].ETag}
	}
	return Mark{Key: key}
}

func listingMark(files []*file) Mark {
	objects := make([]Object, len(files))
	for i, x := range files {
		objects[i] = x.object
	}
	sum := listingDigest(objects)
	return Mark{Sum: hex.EncodeToString(sum[:])}
}

// Look returns the mark of what a request would read now, with one listing and no other request. The key is that of the mark to compare
// with.
func (r *Reader) Look(ctx context.Context, req Request, key string) (Mark, error) {
	if key != "" {
		l, err := r.Store.List(ctx, key, r.Limits.listed())
		return objectMark(l.Objects, key), err
	}
	l, err := r.Store.List(ctx, req.Prefix(), r.Limits.listed())
	if err != nil {
		return Mark{}, err
	}
	f := &fetch{r: r, req: req, stats: &Stats{}, dir: directory(req.Path)}
	if o, ok := f.single(l.Objects); ok {
		return objectMark(l.Objects, o.Key), nil
	}
	if f.decides(l.Objects) {
		return objectMark(l.Objects, f.dir+IndexName), nil
	}
	_, files, err := f.choose(ctx, l.Objects)
	var empty *EmptyError
	if errors.As(err, &empty) {
		return Mark{}, nil
	}
	return listingMark(files), err
}

// Round returns a Store for one look at many paths. It lists each prefix once, and many paths in a directory of up to a page of objects
// together.
func Round(s Store, prefixes []string) Store {
	r := &round{store: s, known: map[string]listed{}}
	if prefixes = slices.Compact(slices.Sorted(slices.Values(prefixes))); len(prefixes) >= many {
		r.around, r.try = common(prefixes[0], prefixes[len(prefixes)-1]), true
	}
	return r
}

const (
	// page is how many objects one request lists.
	page = 1000
	// many is from how many paths on it is tried to list the directory around them.
	many = 4
)

type round struct {
	store  Store
	around string // the directory around all prefixes, if it is to be tried
	try    bool
	calls  flight.Group[Listing]

	mu    sync.Mutex
	known map[string]listed
}

type listed struct {
	listing Listing
	err     error
}

// Get implements Store.
func (r *round) Get(ctx context.Context, o Object) ([]byte, error) { return r.store.Get(ctx, o) }

// List implements Store.
func (r *round) List(ctx context.Context, prefix string, most int) (Listing, error) {
	if r.try && strings.HasPrefix(prefix, r.around) {
		l, err := r.once(ctx, r.around, page-1)
		if err == nil {
			return Listing{Objects: within(l.Objects, prefix), Pages: 1}, nil
		}
		if ctx.Err() != nil {
			return Listing{}, err
		}
		// Too many objects, or no right to see them all, is no error: each path is listed by itself.
	}
	return r.once(ctx, prefix, most)
}

// once lists a prefix once for all callers. A caller that is cancelled does not cancel the listing for others.
func (r *round) once(ctx context.Context, prefix string, most int) (Listing, error) {
	key := listKey(prefix, most)
	l, _, err := r.calls.Do(ctx, key, func(ctx context.Context) (Listing, error) {
		r.mu.Lock()
		x, ok := r.known[key]
		r.mu.Unlock()
		if ok {
			return x.listing, x.err
		}
		x.listing, x.err = r.store.List(ctx, prefix, most)
		if ctx.Err() == nil { // the store's own answer
			r.mu.Lock()
			r.known[key] = x
			r.mu.Unlock()
		}
		return x.listing, x.err
	})
	return l, err
}

// common returns the directory that contains both keys. For an ordered list, pass the first and the last.
func common(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:strings.LastIndexByte(a[:n], '/')+1]
}

// within returns those of ordered objects whose keys start with a prefix.
func within(objects []Object, prefix string) []Object {
	first, _ := slices.BinarySearchFunc(objects, prefix, func(o Object, p string) int { return strings.Compare(o.Key, p) })
	last := first
	for last < len(objects) && strings.HasPrefix(objects[last].Key, prefix) {
		last++
	}
	return objects[first:last]
}
