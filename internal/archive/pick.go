package archive

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/tree"
)

// RepositoryLimits are for Pick: entries of the archive, bytes of the files that are wanted.
var RepositoryLimits = Limits{Entries: 500_000, FileBytes: 32 << 20, Bytes: 256 << 20}

// Limits of names: directories in one, and bytes in all.
const (
	maxDepth = 100
	maxNames = 128 << 20
)

// maxScan bounds the bytes that are unpacked to find wanted files, and maxLook those for Has, which any client can cause.
const (
	maxScan = 64 << 30
	maxLook = 4 << 30
)

// Pick returns those files of a gzipped tar of a repository that are wanted. Unlike Extract it takes symbolic links, as repositories have
// them: a wanted name that is, or leads through, a link is the file that the link leads to. A link that leads out of the repository, to
// nothing or in a circle is an error only if it is wanted itself. Entries that no repository has, such as names with "..", devices or
// duplicate names, are refused.
func Pick(ctx context.Context, open Opener, limits Limits, wanted tree.Selection) ([]tree.File, error) {
	p := &pick{limits: limits, open: open, wants: func(name string, size int64) bool {
		return wanted.Wants(name) && (wanted.MaxBytes == 0 || size <= wanted.MaxBytes)
	}}
	v, err := p.view(ctx)
	if err != nil {
		return nil, err
	}
	return v.Select(ctx, wanted)
}

// Opener returns the archive, from its beginning. Readers end with the context.
type Opener func(ctx context.Context) (io.Reader, error)

// Limits of what View reads before it is asked: small files, up to a sum.
const (
	earlyFile = 256 << 10
	earlySum  = 64 << 20
	lateFile  = 4 << 20 // nothing in a larger file is a manifest
)

// View is a repository in a gzipped tar. One pass finds what is in it and keeps small files; if another is read, one more pass reads its
// directory. It refuses what Pick refuses.
func View(ctx context.Context, open Opener, limits Limits) (*tree.View, error) {
	p := &pick{limits: limits, open: open}
	p.wants = func(name string, size int64) bool {
		return size <= earlyFile && p.bytes+size <= earlySum && tree.Safe(name)
	}
	return p.view(ctx)
}

// view scans the archive.
func (p *pick) view(ctx context.Context) (*tree.View, error) {
	if err := p.rewind(ctx); err != nil {
		return nil, err
	}
	names := make(map[string]bool, len(p.names)+len(p.links))
	for name := range p.names {
		names[name] = false
	}
	for name := range p.links {
		names[name] = true
	}
	var mu sync.Mutex
	scans := 0
	var failed error
	return tree.NewView(names, func(ctx context.Context, name string) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if to, ok := p.links[name]; ok {
			return []byte(to), nil
		}
		if data, ok := p.files[name]; ok || failed != nil {
			return data, failed
		}
		if scans++; scans > maxScans {
			failed = fmt.Errorf("large files in more than %d directories are needed", maxScans)
			return nil, failed
		}
		// Files in the same directory are likely to be read next.
		had, dir := p.files, path.Dir(name)
		p.wants = func(n string, size int64) bool {
			return had[n] == nil && path.Dir(n) == dir && size <= lateFile && tree.Safe(n)
		}
		if err := p.rewind(ctx); err != nil {
			if ctx.Err() == nil {
				failed = err
			}
			return nil, err
		}
		data, ok := p.files[name]
		if !ok {
			return nil, fmt.Errorf("%q: over the limit of %d bytes for a file, or with characters in its name that are not supported",
				shorten(name), lateFile)
		}
		return data, nil
	}), nil
}

// maxScans bounds how often an archive is read again.
const maxScans = 32

func (p *pick) rewind(ctx context.Context) error {
	r, err := p.open(ctx)
	if err != nil {
		return err
	}
	return p.scan(r)
}

// maxKept bounds the names that Has keeps in case a link leads to the file.
const maxKept = 4 << 20

// Has reports whether a gzipped tar of a repository has a file of a name, or a link of that name. It reads as far as it
// must, 4 GiB unpacked at most, and keeps little of what it reads.
func Has(r io.Reader, name string) (bool, error) { return has(r, name, maxLook) }

func has(r io.Reader, name string, most int64) (bool, error) {
	base := path.Base(name)
	kept := 0
	p := &pick{most: most, limits: Limits{Entries: 1 << 40}, wants: func(string, int64) bool { return false }}
	p.ignore = func(n, target string) bool {
		if n == name || strings.HasPrefix(name, n+"/") { // on the way
			return false
		}
		if target == "" && path.Base(n) != base {
			return true
		}
		kept += len(n) + len(target) + 100
		return kept > maxKept
	}
	p.enough = func() bool { _, link := p.links[name]; return link || p.names[name] }
	if err := p.scan(r); errors.Is(err, errTooLarge) {
		return false, fmt.Errorf("searching stopped after %d unpacked bytes", most)
	} else if err != nil {
		return false, err
	}
	if p.enough() {
		return true, nil
	}
	if kept > maxKept && p.linkIn(name) != "" {
		return false, fmt.Errorf("%q is behind a symbolic link, and the archive has too many links", shorten(name))
	}
	dir, err := p.resolve(path.Dir(name))
	target := path.Join(dir, base)
	_, link := p.links[target]
	return err == nil && (link || p.names[target]), nil
}

type pick struct {
	limits  Limits
	most    int64 // bytes that are unpacked; 0 is maxScan
	open    Opener
	wants   func(name string, size int64) bool // the content of a file
	ignore  func(name, target string) bool     // files, and links to a target, that need not be remembered; nil is none
	enough  func() bool                        // nil is at the end
	entries int
	// nameBytes counts the bytes of all names, because they and their directories are kept.
	nameBytes int64
	bytes     int64
	names     map[string]bool // of all files
	links     map[string]string
	files     map[string][]byte
	steps     int
}

func (p *pick) scan(r io.Reader) error {
	p.names, p.links, p.entries, p.nameBytes = map[string]bool{}, map[string]string{}, 0, 0
	if p.files == nil {
		p.files = map[string][]byte{}
	}
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return unreadable(err, "not gzip")
	}
	bounded := &boundedReader{r: unzipped, left: cmp.Or(p.most, maxScan)}
	t := tar.NewReader(bounded)
	for p.enough == nil || !p.enough() {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			if bounded.ended {
				return errors.New("damaged archive: its end is missing")
			}
			return nil
		}
		if err != nil {
			return unreadable(err, "")
		}
		if p.entries++; p.entries > p.limits.Entries {
			return fmt.Errorf("more than %d files", p.limits.Entries)
		}
		if err := p.entry(h, t); err != nil {
			return fmt.Errorf("%q: %w", shorten(h.Name), err)
		}
	}
	return nil
}

// unreadable tells damage from a reader that does not read any more.
func unreadable(err error, what string) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		if what != "" {
			return errors.New("damaged archive: " + what)
		}
	}
	return damaged(err)
}

func (p *pick) entry(h *tar.Header, r io.Reader) error {
	name := strings.TrimSuffix(strings.TrimPrefix(h.Name, "./"), "/")
	if name == "" || name == "." {
		return nil
	}
	if len(name) > maxName || strings.Count(name, "/") > maxDepth || !fs.ValidPath(name) {
		return errors.New("not a name in a repository")
	}
	if len(h.Linkname) > maxName {
		return fmt.Errorf("it is a link to a name of more than %d bytes", maxName)
	}
	if p.nameBytes += int64(len(name) + len(h.Linkname)); p.nameBytes > maxNames {
		return fmt.Errorf("the names of all files have more than %d bytes", int64(maxNames))
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return nil
	case tar.TypeReg, tar.TypeSymlink:
	default:
		return fmt.Errorf("it is %s", tarKind(h.Typeflag))
	}
	if _, link := p.links[name]; link || p.names[name] {
		return errors.New("it is there twice")
	}
	if h.Typeflag == tar.TypeSymlink {
		if p.ignore != nil && p.ignore(name, h.Linkname) {
			return nil
		}
		if p.links[name] = h.Linkname; len(p.links) > RepositoryLimits.Entries {
			return fmt.Errorf("more than %d symbolic links", RepositoryLimits.Entries)
		}
		return nil
	}
	if p.ignore == nil || !p.ignore(name, "") {
		p.names[name] = true
	}
	if !p.wants(name, h.Size) {
		return nil
	}
	if !tree.Safe(name) {
		return errors.New("its name has characters that are not supported")
	}
	if sparse(h) {
		return errors.New("it is a sparse file")
	}
	if h.Size > p.limits.FileBytes || h.Size > p.limits.Bytes-p.bytes {
		return fmt.Errorf("over the limit of %d bytes for a file, or %d for all that are needed", p.limits.FileBytes, p.limits.Bytes)
	}
	data, err := io.ReadAll(io.LimitReader(r, h.Size))
	if err != nil {
		return unreadable(err, "")
	}
	p.bytes += int64(len(data))
	p.files[name] = data
	return nil
}
