package bucket

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Publication is a directory on its way into a bucket.
//
// Readers see the old state or the new one and nothing between. New files are written under their own names, which no
// index lists yet. New content of existing files is written beside them first, named after its digest. Then the index
// is written: this is the moment of change. Only then are existing files overwritten, for people and other programs:
// readers prefer what stands beside, which stays as long as an index refers to it. Ended at any point, the next push goes
// on from there. A push that is overtaken by another stops and says so.
type Publication struct {
	Store  Writer
	Bucket string
	Path   string // directory in the bucket; "" is the whole bucket
	Files  []tree.File
	Prune  bool // delete files that are not among Files
	DryRun bool // change nothing, and return what would be done
	Limits Limits
	// Progress is called before and during uploads; nil: not.
	Progress func(done, total int)
}

// Published is the result of a push, or of a dry run.
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
	old     map[string]string // file to digest, in the index at the start
	same    bool              // that index has the same content
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
			return nil, fmt.Errorf("%q: a file of this name cannot be published", f.Name)
		}
		x.bytes[f.Name] = f.Data
	}
	if len(p.Files) == 0 {
		return nil, errors.New("there are no files to publish; readers would fail")
	}
	if len(p.Files) > p.Limits.Objects {
		return nil, fmt.Errorf("%d files are over the limit of %d", len(p.Files), p.Limits.Objects)
	}
	x.index = NewIndex(p.Files)
	x.result.Digest = x.index.Digest
	if err := x.list(ctx); err != nil {
		return nil, err
	}
	if err := x.alone(ctx); err != nil {
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
	if p.DryRun || len(changed)+len(x.result.Deleted) == 0 && x.same {
		return &x.result, nil
	}
	return &x.result, x.write(ctx, changed)
}

// alone refuses a directory that contains another published one, whose files would be hidden or deleted, and a directory inside of a
// published one, whose index would become wrong.
func (x *publishing) alone(ctx context.Context) error {
	for e := range strings.SplitSeq(x.dir, "/") {
		if e == IndexName || e+"/" == blobDir {
			return fmt.Errorf("%s: this path has a name that argosy needs for itself; push to another path", URL{x.Bucket, x.Path})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(x.objects)) {
		if dir, ok := strings.CutSuffix(name, "/"+IndexName); ok {
			return fmt.Errorf("%s: %[2]s in it was pushed on its own; push to another path, or delete %[2]s first",
				URL{x.Bucket, x.Path}, dir)
		}
	}
	above, found, _, err := indexAbove(ctx, x.Store, x.dir)
	if found {
		return fmt.Errorf("%s: it is part of %[2]s, which was pushed as a whole; push %[2]s again, or push to another path",
			URL{x.Bucket, x.Path}, URL{x.Bucket, strings.TrimSuffix(above, "/")})
	}
	return err
}

func (x *publishing) list(ctx context.Context) error {
	// Pushes that were killed may have left more than readers take.
	listing, err := x.Store.List(ctx, x.dir, 10*x.Limits.listed())
	if err != nil {
		return err
	}
	x.objects = make(map[string]Object, len(listing.Objects))
	for _, o := range listing.Objects {
		if name := strings.TrimPrefix(o.Key, x.dir); name != "" && !strings.HasSuffix(name, "/") {
			x.objects[name] = o
		}
	}
	return x.readIndex(ctx)
}

// readIndex reads the index of the last push, if there is one. A damaged one is replaced.
func (x *publishing) readIndex(ctx context.Context) error {
	o, ok := x.objects[IndexName]
	if !ok || o.Size > maxIndexBytes {
		return nil
	}
	data, err := x.Store.Get(ctx, o)
	if errors.Is(err, ErrChanged) {
		return x.overtaken()
	}
	if err != nil {
		return err
	}
	if index, err := DecodeIndex(data); err == nil {
		x.same = index.Digest == x.index.Digest
		x.old = make(map[string]string, len(index.Files))
		for _, e := range index.Files {
			x.old[e.Path] = e.SHA256
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
		case !ok || o.Size != e.Size || x.old != nil && x.old[e.Path] != "" && x.old[e.Path] != e.SHA256:
			// With another digest in the index, a push that still runs may be about to overwrite it.
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
	first := map[string]target{}
	for _, name := range changed {
		first[name] = target{name, Condition{New: true}}
		if _, exists := x.objects[name]; exists || !indexed {
			first[name] = target{blobDir + Sum(x.bytes[name]), Condition{}}
			beside = append(beside, name)
		}
	}
	count := &counter{total: len(changed) + len(beside), report: x.Progress}
	if err := x.upload(ctx, changed, first, count); err != nil {
		return err
	}
	own, err := x.putIndex(ctx, x.index, condition)
	if err != nil {
		return err
	}
	// From here on another push may follow. The conditions keep its objects from being overwritten.
	last := map[string]target{}
	for _, name := range beside {
		o, exists := x.objects[name]
		last[name] = target{name, Condition{ETag: o.ETag, New: !exists}}
	}
	if err := x.current(ctx, own); err != nil {
		return err
	}
	if err := x.upload(ctx, beside, last, count); err != nil {
		return err
	}
	if err := x.current(ctx, own); err != nil {
		return err
	}
	if err := x.clean(ctx); err != nil {
		return err
	}
	return x.current(ctx, own)
}

// current returns nil while the index is the one of this push.
func (x *publishing) current(ctx context.Context, own Object) error {
	l, err := x.Store.List(ctx, own.Key, x.Limits.listed())
	if err == nil && (len(l.Objects) == 0 || l.Objects[0].Key != own.Key || l.Objects[0].ETag != own.ETag) {
		return x.overtaken()
	}
	return err
}

func (x *publishing) overtaken() error {
	return fmt.Errorf("%s: somebody else has pushed at the same time; push again", URL{x.Bucket, x.Path})
}

// target is where the content of a file is written, and when.
type target struct {
	name      string
	condition Condition
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

// upload writes files to their targets and checks that they are what the store now lists.
func (x *publishing) upload(ctx context.Context, names []string, targets map[string]target, count *counter) error {
	put := make([]Object, len(names))
	err := x.each(ctx, len(names), func(ctx context.Context, i int) error {
		t := targets[names[i]]
		o, err := x.Store.Put(ctx, x.dir+t.name, x.bytes[names[i]], t.condition)
		put[i] = o
		if errors.Is(err, ErrChanged) {
			// Or the answer to the first attempt was lost, and the retry finds its own object.
			sum, sumErr := x.Store.Sum(ctx, x.dir+t.name)
			if sumErr != nil || sum != Sum(x.bytes[names[i]]) {
				return errors.Join(sumErr, x.overtaken())
			}
			put[i], err = Object{Key: x.dir + t.name}, nil
		}
		if err == nil {
			count.add()
		}
		return err
	})
	if err != nil || len(names) == 0 {
		return err
	}
	listing, err := x.Store.List(ctx, x.dir, 10*x.Limits.listed())
	if err != nil {
		return err
	}
	listed := make(map[string]Object, len(listing.Objects))
	for _, o := range listing.Objects {
		listed[o.Key] = o
	}
	for i, o := range put {
		if l := listed[o.Key]; o.ETag != "" && l.ETag != o.ETag || l.Size != int64(len(x.bytes[names[i]])) {
			return x.overtaken()
		}
	}
	return nil
}

func (x *publishing) putIndex(ctx context.Context, index Index, c Condition) (Object, error) {
	data, err := index.Encode()
	if err != nil {
		return Object{}, err
	}
	if len(data) > maxIndexBytes {
		return Object{}, fmt.Errorf("the index has %d bytes, which is over the limit of %d", len(data), maxIndexBytes)
	}
	key := x.dir + IndexName
	o, err := x.Store.Put(ctx, key, data, c)
	if !errors.Is(err, ErrChanged) {
		return o, err
	}
	// The answer to the first attempt may have been lost: then the retry finds its own index.
	sum, sumErr := x.Store.Sum(ctx, key)
	l, listErr := x.Store.List(ctx, key, x.Limits.listed())
	if err := errors.Join(sumErr, listErr); err != nil {
		return o, err
	}
	if sum == Sum(data) && len(l.Objects) > 0 && l.Objects[0].Key == key {
		return l.Objects[0], nil
	}
	return o, x.overtaken()
}

// clean deletes files that are no longer wanted, and content beside them that our index does not refer to and that was there
// before this push began. Anything else belongs to a push that runs now.
func (x *publishing) clean(ctx context.Context) error {
	wanted := map[string]bool{}
	for _, e := range x.index.Files {
		wanted[blobDir+e.SHA256] = true
	}
	var keys []string
	for name := range x.objects {
		if strings.HasPrefix(name, blobDir) && !wanted[name] {
			keys = append(keys, x.dir+name)
		}
	}
	for _, name := range x.result.Deleted {
		keys = append(keys, x.dir+name)
	}
	slices.Sort(keys)
	return x.Store.Delete(ctx, keys...)
}

// each runs n calls, some at a time, to the first error.
func (x *publishing) each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	return flight.Each(ctx, x.Limits.Parallel, n, f)
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
