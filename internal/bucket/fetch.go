package bucket

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/argosy-cd/argosy/internal/flight"
)

// fetch is one attempt at a snapshot.
type fetch struct {
	r      *Reader
	req    Request
	stats  *Stats
	dir    string // prefix of the directory whose index, if there is one, decides
	sub    string // requested prefix inside of dir
	id     string
	digest [sha256.Size]byte // of the listing
	pack   Pack
	cached bool
	extra  []*file // read, but not files of the directory
	got    bool    // something came from the store
}

// get fills in the content of files, from the cache or from the store, several at a time.
func (f *fetch) get(ctx context.Context, files []*file) error {
	if err := f.limits(files); err != nil {
		return err
	}
	var missing []*file
	for _, x := range files {
		if e, ok := f.pack.Entries[x.object.Key]; ok && e.ETag == x.object.ETag && int64(len(e.Data)) == x.object.Size {
			x.data, x.read = e.Data, true
			f.stats.Cached++
			continue
		}
		missing = append(missing, x)
	}
	if len(missing) == 0 {
		return nil
	}
	f.got = true
	return f.download(ctx, missing)
}

func (f *fetch) limits(files []*file) error {
	var total int64
	for _, x := range files {
		if x.object.Size > f.r.Limits.ObjectBytes {
			return fmt.Errorf("%s: %d bytes is over the limit of %d for one object", f.r.url(f.req).Join(x.name), x.object.Size,
				f.r.Limits.ObjectBytes)
		}
		total += x.object.Size
	}
	if total > f.r.Limits.Bytes {
		return fmt.Errorf("%s: %d objects with %d bytes are over the limit of %d bytes", f.r.url(f.req), len(files), total,
			f.r.Limits.Bytes)
	}
	return nil
}

// download gets objects, bounded in number and bytes at one time. The first error ends it.
func (f *fetch) download(ctx context.Context, files []*file) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type result struct {
		file *file
		err  error
	}
	results := make(chan result)
	running, bytes := 0, int64(0)
	var first error
	for next := 0; running > 0 || next < len(files) && first == nil; {
		if next < len(files) && first == nil && running < f.r.Limits.Parallel &&
			(running == 0 || bytes+files[next].object.Size <= f.r.Limits.ParallelBytes) {
			x := files[next]
			next++
			running++
			bytes += x.object.Size
			go func() {
				data, err := flight.Safely(func() ([]byte, error) { return f.r.Store.Get(ctx, x.object) })
				x.data = data
				results <- result{x, err}
			}()
			continue
		}
		r := <-results
		running--
		bytes -= r.file.object.Size
		if r.err == nil {
			r.file.read = true
			f.stats.Gets++
			f.stats.Bytes += int64(len(r.file.data))
		}
		if r.err != nil && first == nil {
			first = r.err
			cancel(r.err)
		}
		if r.err == nil && first == nil && int64(len(r.file.data)) != r.file.object.Size {
			first = &movedError{fmt.Sprintf("%q has %d bytes, it was listed with %d", r.file.object.Key, len(r.file.data),
				r.file.object.Size)}
			cancel(first)
		}
		if errors.Is(first, ErrChanged) {
			first = &movedError{fmt.Sprintf("%q changed or vanished while it was read", r.file.object.Key)}
		}
	}
	return first
}

// remember saves the read objects, together with the cached ones of the same listing. Only a complete snapshot sets the listing of the
// pack.
func (f *fetch) remember(objects []Object, files []*file, complete bool) {
	if f.r.Cache == nil || !complete && !f.got {
		return
	}
	if complete && f.known() && !f.got {
		f.r.Cache.Use(f.id)
		return
	}
	p := Pack{Entries: make(map[string]PackEntry, len(files)+len(f.extra))}
	if complete {
		p.Listing = f.digest
	}
	var total int64
	keep := func(key string, e PackEntry) {
		if _, ok := p.Entries[key]; ok || total+int64(len(e.Data)) > f.r.Limits.Bytes {
			return
		}
		total += int64(len(e.Data))
		p.Entries[key] = e
	}
	for _, x := range append(f.extra, files...) {
		if !x.read || int64(len(x.data)) != x.object.Size {
			continue
		}
		keep(x.object.Key, PackEntry{x.object.ETag, x.data})
	}
	for _, o := range objects {
		if e, ok := f.pack.Entries[o.Key]; ok && e.ETag == o.ETag {
			keep(o.Key, e)
		}
	}
	f.r.Cache.Save(f.id, p)
}
