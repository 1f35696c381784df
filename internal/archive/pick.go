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
const maxScan = 8 << 30

// Pick returns those files of a gzipped tar of a repository that are wanted. Unlike Extract it takes symbolic links, as
// repositories have them: a wanted name that is, or leads through, a link is the file that the link leads to. A link that
// leads out of the repository, to nothing or in a circle is an error only if it is wanted itself. What else a repository
// cannot have, such as names with "..", other kinds of entries or one name twice, is refused.
func Pick(r io.ReadSeeker, limits Limits, want func(name string) bool) ([]tree.File, error) {
	p := &pick{limits: limits, names: map[string]bool{}, links: map[string]string{}, files: map[string][]byte{}}
	if err := p.scan(r, want); err != nil {
		return nil, err
	}
	aliases, err := p.aliases(want)
	if err != nil {
		return nil, err
	}
	missing := map[string]bool{}
	for _, target := range aliases {
		if _, ok := p.files[target]; !ok {
			missing[target] = true
		}
	}
	var out []tree.File
	for name, data := range p.files {
		out = append(out, tree.File{Name: name, Data: data})
	}
	if len(missing) > 0 {
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		p.names, p.links, p.entries = map[string]bool{}, map[string]string{}, 0
		if err := p.scan(r, func(name string) bool { return missing[name] }); err != nil {
			return nil, err
		}
	}
	for name, target := range aliases {
		out = append(out, tree.File{Name: name, Data: p.files[target]})
	}
	tree.Sort(out)
	return out, nil
}

type pick struct {
	limits  Limits
	entries int
	bytes   int64
	names   map[string]bool // of all files
	links   map[string]string
	files   map[string][]byte
}

func (p *pick) scan(r io.Reader, want func(string) bool) error {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return errors.New("damaged archive: not gzip")
	}
	bounded := &boundedReader{r: unzipped, left: maxScan}
	t := tar.NewReader(bounded)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			if bounded.ended {
				return errors.New("damaged archive: its end is missing")
			}
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		if p.entries++; p.entries > p.limits.Entries {
			return fmt.Errorf("more than %d files", p.limits.Entries)
		}
		if err := p.entry(h, t, want); err != nil {
			return fmt.Errorf("%q: %w", shorten(h.Name), err)
		}
	}
}

func (p *pick) entry(h *tar.Header, r io.Reader, want func(string) bool) error {
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
		p.links[name] = h.Linkname
		return nil
	}
	p.names[name] = true
	if !want(name) {
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
		return damaged(err)
	}
	p.bytes += int64(len(data))
	p.files[name] = data
	return nil
}

// maxAliases bounds the names that links add: a few links to directories of links make many.
const maxAliases = 100_000

// aliases returns the wanted names that exist by way of links, and the file that each leads to.
func (p *pick) aliases(want func(string) bool) (map[string]string, error) {
	if len(p.links) == 0 {
		return nil, nil
	}
	a := &aliases{pick: p, want: want, below: map[string][]string{}, found: map[string]string{}}
	add := func(name string) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			a.below[dir] = append(a.below[dir], name)
		}
	}
	for name := range p.names {
		add(name)
	}
	for link := range p.links {
		add(link)
	}
	for link := range p.links {
		if err := a.follow(link, link, 0); err != nil {
			return nil, err
		}
	}
	return a.found, nil
}

type aliases struct {
	*pick
	want  func(string) bool
	below map[string][]string // directory to all files and links in it and below
	found map[string]string
}

// follow finds the files that a link leads to. The link is known by another name if it was reached through another link.
func (a *aliases) follow(link, as string, depth int) error {
	target, err := a.resolve(link)
	if err == nil && target != "." && !a.names[target] && len(a.below[target]) == 0 {
		err = fmt.Errorf("it is a symbolic link to %q, which is not there", shorten(a.links[link]))
	}
	if err != nil {
		if a.want(as) {
			return fmt.Errorf("%q: %w", shorten(as), err)
		}
		return nil
	}
	if a.names[target] {
		return a.add(as, target)
	}
	// A directory that is linked to from inside of itself has no end.
	if depth == 4 || target == "." || strings.HasPrefix(link, target+"/") {
		return nil
	}
	for _, name := range a.below[target] {
		alias := as + strings.TrimPrefix(name, target)
		if _, ok := a.links[name]; ok {
			err = a.follow(name, alias, depth+1)
		} else {
			err = a.add(alias, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *aliases) add(name, target string) error {
	if !a.want(name) {
		return nil
	}
	if a.found[name] = target; len(a.found) > maxAliases {
		return fmt.Errorf("symbolic links lead to more than %d files", maxAliases)
	}
	return nil
}

// resolve follows a link, and links on the way, to a file or directory.
func (p *pick) resolve(name string) (string, error) {
	for range 40 {
		prefix := p.linkIn(name)
		if prefix == "" {
			return name, nil
		}
		to := p.links[prefix]
		if path.IsAbs(to) {
			return "", fmt.Errorf("it is a symbolic link out of the repository, to %q", shorten(to))
		}
		name = path.Join(path.Dir(prefix), to) + strings.TrimPrefix(name, prefix)
		if name == ".." || strings.HasPrefix(name, "../") {
			return "", fmt.Errorf("it is a symbolic link out of the repository, to %q", shorten(to))
		}
	}
	return "", errors.New("it is a symbolic link that leads in a circle")
}

// linkIn returns the first part of a path that is a link, "" if there is none.
func (p *pick) linkIn(name string) string {
	for i := 0; i <= len(name); i++ {
		if i == len(name) || name[i] == '/' {
			if _, ok := p.links[name[:i]]; ok {
				return name[:i]
			}
		}
	}
	return ""
}
