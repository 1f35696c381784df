// Package archive unpacks tar and zip archives that are not trusted, into memory, and packs directories.
//
// Extract promises that every name stays below the root, that there are regular files only, each name once, and that
// time and memory are bounded by Limits whatever the archive says about itself. Links, devices, absolute names, names
// with "..", duplicates and encrypted or damaged entries are refused. Then the whole archive is refused, because deploying
// half of it would delete what the other half has deployed.
package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// Limits bound what an archive may contain.
type Limits struct {
	Entries   int   // files and directories
	FileBytes int64 // of one file
	Bytes     int64 // of all files
	// Ratio is how many times larger than the archive its content may be. It counts from RatioFrom bytes on, since small
	// repetitive manifests pack very well.
	Ratio     int64
	RatioFrom int64
}

// DefaultLimits are far above what manifests and charts need.
var DefaultLimits = Limits{Entries: 20_000, FileBytes: 32 << 20, Bytes: 128 << 20, Ratio: 200, RatioFrom: 16 << 20}

// maxName keeps checking names cheap: a pax header can make one a megabyte long, and finish looks at each directory of it.
const maxName = 1024

// suffixes in the order in which they are tried.
var suffixes = []string{".tar.gz", ".tgz", ".tar.zst", ".tar", ".zip"}

// Suffix returns the part of a file's name that says that it is an archive, "" for other files.
func Suffix(name string) string {
	lower := strings.ToLower(name)
	for _, s := range suffixes {
		if strings.HasSuffix(lower, s) {
			return s
		}
	}
	return ""
}

// Extract returns the files of an archive, by name. The archive's own name says which kind it is.
func Extract(name string, data []byte, limits Limits) ([]tree.File, error) {
	x := &extraction{limits: limits, packed: int64(len(data)), seen: map[string]bool{}}
	var err error
	switch Suffix(name) {
	case ".zip":
		err = x.zip(data)
	case ".tar":
		err = x.tar(bytes.NewReader(data))
	case ".tar.gz", ".tgz":
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(data)); err != nil {
			return nil, fmt.Errorf("not a gzip file: %w", err)
		}
		err = x.tar(r)
	case ".tar.zst":
		var r *zstd.Decoder
		r, err = zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return nil, fmt.Errorf("not a zstd file: %w", err)
		}
		defer r.Close()
		err = x.tar(r)
	default:
		return nil, fmt.Errorf("not an archive: the name must end in one of %s", strings.Join(suffixes, ", "))
	}
	if err != nil {
		return nil, err
	}
	tree.Sort(x.files)
	return x.files, nil
}

type extraction struct {
	limits  Limits
	packed  int64
	entries int
	bytes   int64
	read    int64 // packed bytes of a zip's entries
	files   []tree.File
	seen    map[string]bool // true for files, false for directories
}

// enter checks an entry before anything of it is read and returns its name.
func (x *extraction) enter(raw string, size int64) (string, error) {
	x.entries++
	if x.entries > x.limits.Entries {
		return "", fmt.Errorf("more than %d entries", x.limits.Entries)
	}
	name := strings.TrimSuffix(strings.TrimPrefix(raw, "./"), "/")
	if name == "" || name == "." {
		return "", nil
	}
	if len(name) > maxName {
		return "", fmt.Errorf("entry %q: the name is longer than %d bytes", shorten(raw), maxName)
	}
	if !tree.Safe(name) {
		return "", fmt.Errorf("entry %q: not a name below the root", shorten(raw))
	}
	if size > x.limits.FileBytes {
		return "", fmt.Errorf("entry %q: %d bytes is over the limit of %d for one file", shorten(raw), size, x.limits.FileBytes)
	}
	return name, nil
}

// directory remembers a directory, to find one that is also a file.
func (x *extraction) directory(name string) error {
	if x.seen[name] {
		return fmt.Errorf("entry %q is both a file and a directory", shorten(name))
	}
	x.seen[name] = false
	return nil
}

// keep reads a file to its end or to a limit, whatever size was announced.
func (x *extraction) keep(name string, r io.Reader) error {
	if file, ok := x.seen[name]; file {
		return fmt.Errorf("entry %q is there twice", shorten(name))
	} else if ok {
		return fmt.Errorf("entry %q is both a file and a directory", shorten(name))
	}
	x.seen[name] = true
	left := min(x.limits.FileBytes, x.limits.Bytes-x.bytes)
	var buf bytes.Buffer
	n, err := io.Copy(&buf, io.LimitReader(r, left+1))
	if err != nil {
		return fmt.Errorf("entry %q: %w", shorten(name), err)
	}
	x.bytes += n
	switch {
	case n > x.limits.FileBytes:
		return fmt.Errorf("entry %q: over the limit of %d bytes for one file", shorten(name), x.limits.FileBytes)
	case x.bytes > x.limits.Bytes:
		return fmt.Errorf("unpacked content is over the limit of %d bytes", x.limits.Bytes)
	case x.bytes > x.limits.RatioFrom && x.bytes > x.limits.Ratio*x.packed:
		return fmt.Errorf("unpacked content is more than %d times the size of the archive", x.limits.Ratio)
	}
	x.files = append(x.files, tree.File{Name: name, Data: buf.Bytes()})
	return nil
}

func (x *extraction) tar(r io.Reader) error {
	// Headers, padding and skipped content count too: without this, an archive of nothing but headers would be free.
	bounded := &boundedReader{r: r, left: x.limits.Bytes + int64(x.limits.Entries)*2048 + 10240}
	t := tar.NewReader(bounded)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			// To the library an archive that just stops is complete, and a checksum behind its end does not matter.
			if bounded.ended {
				return errors.New("damaged archive: its end is missing")
			}
			if _, err := io.Copy(io.Discard, bounded); err != nil {
				return damaged(err)
			}
			return x.finish()
		}
		if err != nil {
			return damaged(err)
		}
		raw := h.Name
		if h.Typeflag == tar.TypeXGlobalHeader { // git archive writes one; GNU tar names it after a file in /tmp
			raw = ""
		}
		name, err := x.enter(raw, h.Size)
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
		case tar.TypeDir:
			if err := x.directory(name); err != nil {
				return err
			}
		case tar.TypeReg:
			if sparse(h) {
				return fmt.Errorf("entry %q: only files and directories are allowed, it is a sparse file", shorten(h.Name))
			}
			if name == "" || strings.HasSuffix(h.Name, "/") {
				return fmt.Errorf("entry %q: a file without a name", shorten(h.Name))
			}
			if err := x.keep(name, t); err != nil {
				return err
			}
		default:
			return fmt.Errorf("entry %q: only files and directories are allowed, it is %s", shorten(h.Name), tarKind(h.Typeflag))
		}
	}
}

func (x *extraction) zip(data []byte) error {
	// The library keeps all entries in memory, so their number is bounded before it looks.
	if n := bytes.Count(data, []byte("PK\x01\x02")); n > x.limits.Entries {
		return fmt.Errorf("more than %d entries", x.limits.Entries)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("damaged archive: %w", err)
	}
	for _, f := range z.File {
		name, err := x.enter(f.Name, int64(min(f.UncompressedSize64, 1<<62)))
		if err != nil {
			return err
		}
		mode := f.Mode()
		switch {
		case mode.IsDir() && f.UncompressedSize64 != 0:
			return fmt.Errorf("entry %q: a directory with content", shorten(f.Name))
		case mode.IsDir():
			if err := x.directory(name); err != nil {
				return err
			}
			continue
		case !mode.IsRegular():
			return fmt.Errorf("entry %q: only files and directories are allowed, it is a link or a device", shorten(f.Name))
		case name == "":
			return fmt.Errorf("entry %q: a file without a name", shorten(f.Name))
		case f.Flags&1 != 0:
			return fmt.Errorf("entry %q: encrypted entries are not supported", shorten(f.Name))
		}
		if err := x.zipFile(f, name); err != nil {
			return err
		}
	}
	return x.finish()
}

func (x *extraction) zipFile(f *zip.File, name string) error {
	// Entries that share their packed bytes make little data a lot of work.
	if f.CompressedSize64 > uint64(x.packed-x.read) {
		return fmt.Errorf("entry %q: overlaps another entry", shorten(f.Name))
	}
	x.read += int64(f.CompressedSize64)
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("entry %q: %w", shorten(f.Name), err)
	}
	defer func() { _ = r.Close() }()
	return x.keep(name, r)
}

// finish refuses an archive in which a name is both a file and a directory.
func (x *extraction) finish() error {
	for _, name := range slices.Sorted(maps.Keys(x.seen)) {
		for i := range len(name) {
			if name[i] == '/' && x.seen[name[:i]] {
				return fmt.Errorf("entry %q is both a file and a directory", shorten(name[:i]))
			}
		}
	}
	return nil
}

// boundedReader fails when more is read than an archive within its limits can have.
type boundedReader struct {
	r     io.Reader
	left  int64
	ended bool
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.ended = b.ended || n == 0 && errors.Is(err, io.EOF)
	return n, err
}

var errTooLarge = errors.New("the archive is over its limits when it is unpacked: too many or too long headers, or too much behind its end")

// damaged tells damage from what is whole but not supported.
func damaged(err error) error {
	switch {
	case errors.Is(err, errTooLarge):
		return err
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrWindowSizeTooSmall):
		return errors.New("zstd needs a window over 64 MiB to unpack it; pack it with level 19 or less and without --long")
	case errors.Is(err, zstd.ErrMagicMismatch):
		return errors.New("not a zstd file")
	default:
		return fmt.Errorf("damaged archive: %w", err)
	}
}

// sparse reports whether a file has holes in the way that pax headers say it; the library fills them.
func sparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

func tarKind(flag byte) string {
	switch flag {
	case tar.TypeSymlink:
		return "a symbolic link"
	case tar.TypeLink:
		return "a hard link"
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return "a device"
	case tar.TypeGNUSparse:
		return "a sparse file"
	default:
		return fmt.Sprintf("of type %q", flag)
	}
}

// shorten keeps a name from filling a message.
func shorten(name string) string { return words.Shorten(name, 120) }
