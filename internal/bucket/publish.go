package bucket

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/tree"
)

// Publication is a directory on its way into a bucket.
//
// Readers see the old state or the new one and nothing between. New files are written under their own names, which no
// index lists yet. New content of existing files is written beside them first, named after its digest. Then the index
// is written: this is the moment of change. Only then are existing files overwritten, and what stood beside them is
// deleted; a reader takes whichever of the two there is. Ended at any point, the next push goes on from there.
type Publication struct {
	Store  Writer
	Bucket string
	Path   string // directory in the bucket; "" is the whole bucket
	Files  []tree.File
	Prune  bool // delete files that are not among Files
	DryRun bool // say what would be done
	Limits Limits
	// Progress is called before and during uploads; nil: not.
	Progress func(done, total int)
}

// Published is what was done, or would be.
type Published struct {
	Digest    string   // of the directory, to pin it
	Uploaded  []string // files that are new or have new content
	Unchanged int
	Deleted   []string // files that were deleted
	Left      []string // files that are in the bucket but no longer read
}

// publishing is the state of one run.
type publishing struct {
	Publication
	dir     string
	objects map[string]Object // by name, as listed at the start
	index   Index             // new
	bytes   map[string][]byte // by name
	result  Published
}

// Run publishes the directory.
func (p Publication) Run(ctx context.Context) (*Published, error) {
	x := &publishing{Publication: p, bytes: map[string][]byte{}}
	if x.Path != "" {
		x.dir = x.Path + "/"
	}
	for _, f := range p.Files {
		if !tree.Safe(f.Name) || internal(f.Name) {
			return nil, fmt.Errorf("%s: this name cannot be published", f.Name)
		}
		x.bytes[f.Name] = f.Data
	}
	if len(p.Files) == 0 {
		return nil, errors.New("there are no files to publish; readers would fail")
	}
	x.index = NewIndex(p.Files)
	x.result.Digest = x.index.Digest
	if err := x.list(ctx); err != nil {
		return nil, err
	}
	changed, err := x.changes(ctx)
	if err != nil {
		return nil, err
	}
	for name := range x.objects {
		if _, ok := x.bytes[name]; !ok && !internal(name) {
			x.result.Left = append(x.result.Left, name)
		}
	}
	slices.Sort(x.result.Left)
	if p.Prune {
		x.result.Deleted, x.result.Left = x.result.Left, nil
	}
	x.result.Uploaded, x.result.Unchanged = changed, len(p.Files)-len(changed)
	if p.DryRun {
		return &x.result, nil
	}
	return &x.result, x.write(ctx, changed)
}

func (x *publishing) list(ctx context.Context) error {
	listing, err := x.Store.List(ctx, x.dir, x.Limits.Objects)
	if err != nil {
		return err
	}
	x.objects = make(map[string]Object, len(listing.Objects))
	for _, o := range listing.Objects {
		if name := strings.TrimPrefix(o.Key, x.dir); name != "" && !strings.HasSuffix(name, "/") {
			x.objects[name] = o
		}
	}
	return nil
}

// changes returns the files whose objects do not have their content. An ETag that is not the MD5 of the content, as
// with encryption by key, is followed by a look at the digest that was noted with the object.
func (x *publishing) changes(ctx context.Context) ([]string, error) {
	var changed, doubtful []string
	for _, e := range x.index.Files {
		o, ok := x.objects[e.Path]
		switch {
		case !ok || o.Size != e.Size:
			changed = append(changed, e.Path)
		case o.ETag != contentTag(x.bytes[e.Path]):
			doubtful = append(doubtful, e.Path)
		}
	}
	sums := make([]string, len(doubtful))
	err := x.each(ctx, len(doubtful), func(ctx context.Context, i int) (err error) {
		sums[i], err = x.Store.Sum(ctx, x.dir+doubtful[i])
		return err
	})
	for i, name := range doubtful {
		if sums[i] != Sum(x.bytes[name]) {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, err
}

// contentTag is the ETag that S3 gives to content that it stores as it is.
func contentTag(data []byte) string {
	s := md5.Sum(data)
	return hex.EncodeToString(s[:])
}

func (x *publishing) write(ctx context.Context, changed []string) error {
	old, indexed := x.objects[IndexName]
	condition := Condition{ETag: old.ETag, New: !indexed}
	if !indexed && x.empty() {
		// A new directory: an empty index keeps readers from taking the first files for all.
		o, err := x.putIndex(ctx, NewIndex(nil), condition)
		if err != nil {
			return err
		}
		indexed, condition = true, Condition{ETag: o.ETag}
	}
	// Content that readers of the old state look for under this name is not overwritten yet.
	var beside []string
	target := map[string]string{}
	for _, name := range changed {
		target[name] = name
		if _, exists := x.objects[name]; exists || !indexed {
			target[name] = blobDir + Sum(x.bytes[name])
			beside = append(beside, name)
		}
	}
	total := len(changed) + len(beside)
	count := &counter{total: total, report: x.Progress}
	if err := x.upload(ctx, changed, target, count); err != nil {
		return err
	}
	if _, err := x.putIndex(ctx, x.index, condition); err != nil {
		return err
	}
	if err := x.upload(ctx, beside, nil, count); err != nil {
		return err
	}
	return x.clean(ctx, beside)
}

// empty reports whether there are no files in the directory yet.
func (x *publishing) empty() bool {
	for name := range x.objects {
		if !internal(name) {
			return false
		}
	}
	return true
}

// upload writes files under the names in target, or their own, and checks that they are what the store now lists.
func (x *publishing) upload(ctx context.Context, names []string, target map[string]string, count *counter) error {
	put := make([]Object, len(names))
	err := x.each(ctx, len(names), func(ctx context.Context, i int) error {
		key := names[i]
		if target != nil {
			key = target[key]
		}
		o, err := x.Store.Put(ctx, x.dir+key, x.bytes[names[i]], Condition{})
		put[i] = o
		if err == nil {
			count.add()
		}
		return err
	})
	if err != nil || len(names) == 0 {
		return err
	}
	listing, err := x.Store.List(ctx, x.dir, x.Limits.Objects)
	if err != nil {
		return err
	}
	listed := make(map[string]Object, len(listing.Objects))
	for _, o := range listing.Objects {
		listed[o.Key] = o
	}
	for i, o := range put {
		if l := listed[o.Key]; l.ETag != o.ETag || l.Size != int64(len(x.bytes[names[i]])) {
			return fmt.Errorf("%s: %q is not what was written; is somebody else writing there?", URL{x.Bucket, x.Path}, names[i])
		}
	}
	return nil
}

func (x *publishing) putIndex(ctx context.Context, index Index, c Condition) (Object, error) {
	data, err := index.Encode()
	if err != nil {
		return Object{}, err
	}
	o, err := x.Store.Put(ctx, x.dir+IndexName, data, c)
	if errors.Is(err, ErrChanged) {
		return o, fmt.Errorf("%s: somebody else has pushed at the same time; push again", URL{x.Bucket, x.Path})
	}
	return o, err
}

// clean deletes files that are no longer wanted, and content that has reached its own name: what this push has put
// there, and what was there before it began. Anything else belongs to a push that runs now.
func (x *publishing) clean(ctx context.Context, beside []string) error {
	blobs := map[string]bool{}
	for _, name := range beside {
		blobs[blobDir+Sum(x.bytes[name])] = true
	}
	for name := range x.objects {
		if strings.HasPrefix(name, blobDir) {
			blobs[name] = true
		}
	}
	var keys []string
	for name := range blobs {
		keys = append(keys, x.dir+name)
	}
	for _, name := range x.result.Deleted {
		keys = append(keys, x.dir+name)
	}
	slices.Sort(keys)
	return x.Store.Delete(ctx, keys...)
}

// each runs n calls, some at a time, to the first error.
func (x *publishing) each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, x.Limits.Parallel) {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					continue
				}
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

type counter struct {
	mu          sync.Mutex
	done, total int
	report      func(done, total int)
}

func (c *counter) add() {
	if c.report == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	c.report(c.done, c.total)
}
