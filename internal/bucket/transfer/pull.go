package transfer

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// Read reads all files under a path, or those in an archive. A digest refuses other content; "" takes any.
func Read(ctx context.Context, reader *bucket.Reader, url bucket.URL, digest string) (*bucket.Snapshot, error) {
	packed := archive.Suffix(url.Path) != ""
	s, err := reader.Read(ctx, bucket.Request{Path: url.Path, File: packed || tree.IsManifest(url.Path), Digest: digest})
	if err != nil {
		return nil, err
	}
	if s.Single && packed {
		if s.Files, err = archive.Extract(url.Path, s.Files[0].Data, archive.DefaultLimits); err != nil {
			return nil, fmt.Errorf("%s: %w", url, err)
		}
		s.Files = tree.Top(s.Files)
	}
	return s, nil
}

// Pull copies what a path in a bucket has to a directory.
type Pull struct {
	URL bucket.URL
	Dir string
	// Prune deletes files of the directory that are not in the bucket.
	Prune bool
	// DryRun changes nothing, and prints what would be done.
	DryRun bool
	// Digest refuses other content; "" takes any.
	Digest string
}

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Check refuses a digest that is none.
func (w Pull) Check() error {
	if w.Digest != "" && !digestPattern.MatchString(w.Digest) {
		return problem.Usagef("--digest must be sha256: and 64 hexadecimal digits, it is %q", w.Digest)
	}
	return nil
}

// Read reads the content at the URL.
func (w Pull) Read(ctx context.Context, open Open) (*bucket.Snapshot, error) {
	reader, err := open(ctx, w.URL.Bucket)
	if err != nil {
		return nil, err
	}
	return Read(ctx, reader, w.URL, w.Digest)
}

// check refuses files that must not be written.
func (w Pull) check(snapshot *bucket.Snapshot) error {
	for _, f := range snapshot.Files {
		if !tree.Safe(f.Name) {
			return fmt.Errorf("%q: this key cannot be the name of a file", w.URL.Join(f.Name))
		}
		if slices.Contains(strings.Split(f.Name, "/"), ".git") {
			return fmt.Errorf("%s: what is in a .git directory can make Git run programs; it is not written", w.URL.Join(f.Name))
		}
	}
	if w.Prune && snapshot.Single && archive.Suffix(w.URL.Path) == "" {
		return problem.Usagef("--prune would delete everything but one file; %s is an object", w.URL)
	}
	return nil
}

// Write writes a snapshot of the URL to the directory. It prints the digest as data and the rest as talk.
func (w Pull) Write(out, talk io.Writer, snapshot *bucket.Snapshot) error {
	if err := w.check(snapshot); err != nil {
		return err
	}
	if !w.DryRun {
		if err := os.MkdirAll(w.Dir, 0o755); err != nil {
			return problem.Path(err)
		}
	}
	p := &pulling{talk: talk, dryRun: w.DryRun}
	var err error
	if p.root, err = os.OpenRoot(w.Dir); err != nil && (!w.DryRun || !errors.Is(err, fs.ErrNotExist)) {
		return problem.Path(err)
	}
	if p.root != nil {
		defer p.root.Close()
	}
	// Before files are written: one of them may be where a directory was.
	if w.Prune && p.root != nil {
		if err := p.prune(snapshot.Files); err != nil {
			return err
		}
	}
	if err := p.write(snapshot.Files); err != nil {
		return err
	}
	would := ""
	if w.DryRun {
		would = "would be "
	}
	fmt.Fprintf(talk, "%s: %d %swritten, %d unchanged, %d %sdeleted; %d downloaded, %d from the cache\n",
		w.URL, p.written, would, p.unchanged, p.deleted, would, snapshot.Stats.Gets, snapshot.Stats.Cached)
	return words.Line(out, "%s", snapshot.Digest)
}

// pulling writes files to a directory that nothing can lead out of.
type pulling struct {
	talk                        io.Writer
	root                        *os.Root // nil: there is no directory yet
	dryRun                      bool
	written, unchanged, deleted int
}

func (p *pulling) write(files []tree.File) error {
	for _, f := range files {
		if p.root != nil {
			if old, err := p.root.ReadFile(f.Name); err == nil && bytes.Equal(old, f.Data) {
				p.unchanged++
				continue
			}
		}
		p.written++
		if p.dryRun {
			fmt.Fprintln(p.talk, "write", words.Printable(f.Name))
			continue
		}
		if err := p.replace(f); err != nil {
			return fmt.Errorf("%s: %w", words.Printable(f.Name), problem.Innermost(err))
		}
	}
	return nil
}

// replace writes a file beside the old one and then takes its place. It does not write through links.
func (p *pulling) replace(f tree.File) error {
	dir := path.Dir(f.Name)
	for i := range len(f.Name) {
		if f.Name[i] != '/' {
			continue
		}
		if info, err := p.root.Lstat(f.Name[:i]); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link", words.Printable(f.Name[:i]))
		}
	}
	if err := p.root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	temp := path.Join(dir, ".argosy-"+rand.Text())
	out, err := p.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Data)
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = p.root.Rename(temp, f.Name)
	}
	if err != nil {
		_ = p.root.Remove(temp)
	}
	return err
}

// prune deletes files that were not read, and directories that are empty then. Hidden files, such as Git's, are not touched.
func (p *pulling) prune(files []tree.File) error {
	keep := map[string]bool{".": true}
	for _, f := range files {
		keep[f.Name] = true
		for d := path.Dir(f.Name); d != "."; d = path.Dir(d) {
			keep[d+"/"] = true
		}
	}
	var dirs []string
	err := fs.WalkDir(p.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return problem.Path(err)
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			if name != "." && !keep[name+"/"] {
				dirs = append(dirs, name)
			}
			return nil
		case keep[name]:
			return nil
		}
		p.deleted++
		if p.dryRun {
			fmt.Fprintln(p.talk, "delete", words.Printable(name))
			return nil
		}
		return p.root.Remove(name)
	})
	for _, dir := range slices.Backward(dirs) {
		if !p.dryRun {
			_ = p.root.Remove(dir) // with something hidden in it, it stays
		}
	}
	return err
}
