package cmp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"

	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Request is a request of Argo CD to a plugin.
type Request struct {
	argo.Call
	// Dir is the application's directory in the repository, "." if it is the root.
	Dir string

	name   string
	key    string // the same for requests that have the same answer
	head   int    // bytes of the head that are counted
	err    error  // in the request itself
	upload *upload
	what   atomic.Pointer[string]
}

// Doing sets the current step of a request, for the message if it takes too long.
func (r *Request) Doing(what string) { r.what.Store(&what) }

func (r *Request) doing() string { return *r.what.Load() }

// Files returns those files of the repository that are wanted, by their names in it.
func (r *Request) Files(ctx context.Context, wanted tree.Selection) ([]tree.File, error) {
	return received(ctx, r, func() ([]tree.File, error) { return archive.Pick(ctx, r.open, archive.RepositoryLimits, wanted) })
}

// View is the repository.
func (r *Request) View(ctx context.Context) (*tree.View, error) {
	return received(ctx, r, func() (*tree.View, error) { return archive.View(ctx, r.open, archive.RepositoryLimits) })
}

// Archive is the repository as Argo CD sent it, a gzipped tar, and its size. It waits until it is complete.
func (r *Request) Archive(ctx context.Context) (io.ReaderAt, int64, error) {
	content, err := received(ctx, r, func() (readerAt, error) { return r.upload.content(ctx) })
	if err != nil {
		return nil, 0, err
	}
	return content, r.upload.size(), nil
}

// readerAt reads an upload from anywhere.
type readerAt interface {
	io.ReadSeeker
	io.ReaderAt
}

// received sets the step while a function reads the repository, and wraps its error.
func received[T any](ctx context.Context, r *Request, read func() (T, error)) (T, error) {
	before := r.doing()
	r.Doing("receiving the repository from Argo CD")
	defer r.Doing(before)
	got, err := read()
	var none T
	var own *coded
	switch {
	case ctx.Err() != nil:
		return none, ctx.Err()
	case errors.Is(err, os.ErrClosed):
		return none, errGone
	case errors.As(err, &own) || errors.Is(err, errGone):
		return none, err
	case err != nil:
		return none, fmt.Errorf("the repository that Argo CD sent: %w", err)
	}
	return got, nil
}

// open waits for the repository and reads it from its beginning.
func (r *Request) open(ctx context.Context) (io.Reader, error) {
	content, err := r.upload.content(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return &stoppable{ctx, content}, nil
}

// stoppable is a reader that ends with its context.
type stoppable struct {
	ctx context.Context
	io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}

// errGone says that a client went away before it had sent everything.
var errGone = errors.New("the request ended before the repository was complete")

const (
	// maxMemory bounds the part of an upload in memory; a larger upload is in a file.
	maxMemory = 4 << 20
	// allMemory bounds the memory of all uploads; once it is used up, further uploads are in files.
	allMemory = 64 << 20
	// projectUnits is the room for uploads that a project has in a plugin: for so many small repositories, or for one of the largest that
	// is allowed.
	projectUnits = 256
)

// budget is memory that is still free.
type budget struct{ free atomic.Int64 }

func (b *budget) take(n int) bool {
	if b.free.Add(-int64(n)) >= 0 {
		return true
	}
	b.free.Add(int64(n))
	return false
}

func (b *budget) give(n int) { b.free.Add(int64(n)) }

// unitsOf is the room that a repository of a size takes. Each unit is its part of the largest one on disk.
func unitsOf(size, largest int64) int {
	unit := max(largest/projectUnits, 1)
	return int(min(max((size+unit-1)/unit, 1), projectUnits))
}

// upload is the gzipped tar of a repository, as it comes in.
type upload struct {
	checksum string
	limit    int64
	said     int64 // how large it is to be
	units    int   // the room that it takes
	budget   *budget
	dir      string
	unread   bool // the content is not kept
	ended    chan struct{}
	stalled  chan struct{} // closed after a pause that is too long
	// reader and writer pass the upload on instead of keeping it. Nil keeps it.
	reader *io.PipeReader
	writer *io.PipeWriter

	mu     sync.Mutex
	bytes  int64
	hash   hash.Hash
	memory bytes.Buffer
	taken  int      // of the budget
	file   *os.File // without a name
	err    error
	closed bool
}

func tooLarge(size, limit int64) error {
	return &coded{codes.ResourceExhausted, fmt.Errorf("the repository has %d bytes, packed, and the limit is %d (--max-repository)", size,
		limit)}
}

// refuse sets the error of an upload, and drops its content.
func (u *upload) refuse(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop(err)
}

func (u *upload) drop(err error) {
	if u.err == nil {
		u.err = err
	}
	u.forget()
	if u.file != nil {
		_ = u.file.Close()
		u.file = nil
	}
}

// forget frees the memory of an upload.
func (u *upload) forget() {
	u.memory = bytes.Buffer{}
	u.budget.give(u.taken)
	u.taken = 0
}

func (u *upload) size() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.bytes
}

// toReader passes the upload to a reader as it arrives, and keeps nothing.
func (u *upload) toReader() {
	u.unread = true
	u.reader, u.writer = io.Pipe()
}

func (u *upload) stream() io.Reader { return u.reader }

// done closes the reader.
func (u *upload) done() {
	if u.reader != nil {
		_ = u.reader.Close()
	}
}

func (u *upload) write(chunk []byte) {
	if u.writer != nil {
		_, _ = u.writer.Write(chunk) // the reader may be closed
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes += int64(len(chunk))
	if u.unread || u.err != nil || u.closed {
		return
	}
	if u.bytes > u.limit {
		u.drop(tooLarge(u.bytes, u.limit))
		return
	}
	if u.bytes > u.said && u.bytes > maxMemory {
		u.drop(&coded{codes.InvalidArgument, fmt.Errorf("the repository is larger than the %d bytes that the request says", u.said)})
		return
	}
	if u.hash == nil {
		u.hash = sha256.New()
	}
	u.hash.Write(chunk)
	if u.file == nil && u.memory.Len()+len(chunk) <= maxMemory && u.budget.take(len(chunk)) {
		u.taken += len(chunk)
		u.memory.Write(chunk)
		return
	}
	if err := u.toFile(chunk); err != nil {
		u.drop(fmt.Errorf("storing the repository: %w", err))
	}
}

func (u *upload) toFile(chunk []byte) error {
	if u.file == nil {
		f, err := os.CreateTemp(u.dir, "argosy-upload-")
		if err != nil {
			return err
		}
		u.file = f
		// Without a name, it is gone with the process, however that ends.
		if err := os.Remove(f.Name()); err != nil {
			return err
		}
		if _, err := f.Write(u.memory.Bytes()); err != nil {
			return err
		}
		u.forget()
	}
	_, err := u.file.Write(chunk)
	return err
}

func (u *upload) finish(err error) {
	if u.writer != nil {
		_ = u.writer.CloseWithError(err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	defer close(u.ended)
	switch {
	case err != nil:
		u.drop(err)
	case u.err != nil || u.unread || u.closed:
	case u.hash == nil:
		u.drop(&coded{codes.InvalidArgument, errors.New("the repository that Argo CD sent is empty")})
	case hex.EncodeToString(u.hash.Sum(nil)) != u.checksum:
		u.drop(&coded{codes.DataLoss, errors.New("the repository that Argo CD sent is damaged: its checksum does not match")})
	}
}

// content waits for the end of the upload and returns it.
func (u *upload) content(ctx context.Context) (readerAt, error) {
	select {
	case <-u.ended:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.err != nil:
		return nil, u.err
	case u.closed:
		return nil, errGone
	case u.file != nil:
		return io.NewSectionReader(u.file, 0, u.bytes), nil
	default:
		return bytes.NewReader(u.memory.Bytes()), nil
	}
}

// close frees the memory and the file of an upload. A left call may still read from memory.
func (u *upload) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	u.budget.give(u.taken)
	u.taken = 0
	if u.file != nil {
		_ = u.file.Close()
	}
}
