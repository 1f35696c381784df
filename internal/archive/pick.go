package archive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/argosy-cd/argosy/internal/tree"
)

// RepositoryLimits are for Pick: entries of the archive, bytes of the files that are wanted.
var RepositoryLimits = Limits{Entries: 500_000, FileBytes: 32 << 20, Bytes: 256 << 20}

// maxScan bounds what is unpacked of an archive to find the wanted files in it.
const maxScan = 64 << 30

// Pick returns those files of a gzipped tar of a repository that are wanted. Unlike Extract it takes symbolic links, as
// repositories have them: a wanted name that is, or leads through, a link is the file that the link leads to. A link that
// leads out of the repository, to nothing or in a circle is an error only if it is wanted itself. What else a repository
// cannot have, such as names with "..", other kinds of entries or one name twice, is refused.
func Pick(r io.ReadSeeker, limits Limits, wanted tree.Selection) ([]tree.File, error) {
	p := &pick{limits: limits, wants: wanted.Wants, most: wanted.MaxBytes}
	if err := p.scan(r); err != nil {
		return nil, err
	}
	aliases, err := p.aliases(wanted)
	if err != nil {
		return nil, err
	}
	var out []tree.File
	for name, data := range p.files {
		if wanted.Wants(name) {
			out = append(out, tree.File{Name: name, Data: data})
		}
	}
	if err := p.again(r, aliases); err != nil {
		return nil, err
	}
	for name, target := range aliases {
		out = append(out, tree.File{Name: name, Data: p.files[target]})
	}
	tree.Sort(out)
	return out, nil
}

// again reads what links have led to, if it was not read before.
func (p *pick) again(r io.ReadSeeker, aliases map[string]string) error {
	missing := map[string]bool{}
	for _, target := range aliases {
		if _, ok := p.files[target]; !ok {
			missing[target] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	p.wants = func(name string) bool { return missing[name] }
	return p.scan(r)
}

// Has reports whether a gzipped tar of a repository has a file of a name, or a link of that name. It reads as far as it
// must, and keeps little of what it reads.
func Has(r io.Reader, name string) (bool, error) {
	base := path.Base(name)
	p := &pick{limits: Limits{Entries: 1 << 40}, wants: func(string) bool { return false }}
	p.ignore = func(n string) bool { return path.Base(n) != base }
	p.enough = func() bool { _, link := p.links[name]; return link || p.names[name] }
	if err := p.scan(r); err != nil {
		return false, err
	}
	if p.enough() {
		return true, nil
	}
	dir, err := p.resolve(path.Dir(name))
	target := path.Join(dir, base)
	_, link := p.links[target]
	return err == nil && (link || p.names[target]), nil
}

type pick struct {
	limits  Limits
	wants   func(name string) bool // the content of a file
	ignore  func(name string) bool // files that need not be remembered; nil is none
	enough  func() bool            // nil is at the end
	most    int64                  // larger files are not there; zero is none
	entries int
	bytes   int64
	names   map[string]bool // of all files
	links   map[string]string
	files   map[string][]byte
	dirs    map[string]bool // nil is not known yet
	steps   int
}

func (p *pick) scan(r io.Reader) error {
	p.names, p.links, p.entries = map[string]bool{}, map[string]string{}, 0
	if p.files == nil {
		p.files = map[string][]byte{}
	}
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return unreadable(err, "not gzip")
	}
	bounded := &boundedReader{r: unzipped, left: maxScan}
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
	if len(name) > maxName || !fs.ValidPath(name) {
		return errors.New("not a name in a repository")
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
		if p.links[name] = h.Linkname; len(p.links) > RepositoryLimits.Entries {
			return fmt.Errorf("more than %d symbolic links", RepositoryLimits.Entries)
		}
		return nil
	}
	if p.most > 0 && h.Size > p.most {
		return nil
	}
	if p.ignore == nil || !p.ignore(name) {
		p.names[name] = true
	}
	if !p.wants(name) {
		return nil
	}
	if !tree.Safe(name) {
		return errors.New("a name with such characters is not supported")
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
