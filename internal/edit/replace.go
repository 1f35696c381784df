package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/tree"
)

// replacement is a file that gets other content.
type replacement struct {
	file          string
	before, after []byte

	newFile, oldFile string // with the content, beside the file
}

// replaceFiles replaces the content of all files, or of none. Each of them has its old or its new content at any time. All content is on
// disk before the first file is replaced; if one cannot be, those before it get their old content back. The old content of a file that
// cannot be restored stays beside it.
func replaceFiles(files []replacement, rename func(from, to string) error) error {
	defer func() {
		for _, f := range files {
			for _, name := range []string{f.newFile, f.oldFile} {
				if name != "" {
					_ = os.Remove(name) // unless it was renamed
				}
			}
		}
	}()
	for i := range files {
		if err := files[i].stage(); err != nil {
			return err
		}
	}
	for i, f := range files {
		if err := rename(f.newFile, f.file); err != nil {
			return restore(files[:i], fmt.Errorf("%s: %w", f.file, plainRename(err)), rename)
		}
	}
	return nil
}

// restore gives files their old content back, and adds to the cause whether that worked.
func restore(files []replacement, cause error, rename func(from, to string) error) error {
	var errs []error
	for i, f := range files {
		if err := rename(f.oldFile, f.file); err != nil {
			errs = append(errs, fmt.Errorf("%s has its new content: restoring it: %w; its old content is in %s", f.file, plainRename(err),
				filepath.Base(f.oldFile)))
			files[i].oldFile = "" // kept
		}
	}
	if errs == nil {
		return fmt.Errorf("%w; nothing was changed", cause)
	}
	return errors.Join(append([]error{cause}, errs...)...)
}

// plainRename is the error of a rename without its two names.
func plainRename(err error) error {
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}

// stage writes both contents into files beside the file.
func (r *replacement) stage() error {
	info, err := os.Lstat(r.file)
	if err != nil {
		return problem.Path(err)
	}
	if info.Mode()&fs.ModeSymlink != 0 { // the link would be replaced, and its file would stay as it is
		return fmt.Errorf("%s: it is a link; Argosy does not write through links, so name the files that it should change", r.file)
	}
	if info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s: it is read-only", r.file)
	}
	now, err := input.File(r.file)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, r.before) {
		return fmt.Errorf("%s: somebody else has changed it in the meantime; run this again", r.file)
	}
	if r.newFile, err = writeBeside(r.file, r.after, info.Mode().Perm()); err != nil {
		return err
	}
	r.oldFile, err = writeBeside(r.file, r.before, info.Mode().Perm())
	return err
}

// Write writes a file at once: it has its old or its new content at any time. A link is an error, because it could lead anywhere.
func Write(file string, data []byte) error {
	mode := os.FileMode(0o644)
	switch info, err := os.Lstat(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return problem.Path(err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: it is a link, a directory or a device; name a file", file)
	case info.Mode().Perm()&0o200 == 0:
		return fmt.Errorf("%s: it is read-only", file)
	default:
		mode = info.Mode().Perm()
	}
	beside, err := writeBeside(file, data, mode)
	if err == nil {
		err = os.Rename(beside, file)
	}
	if err != nil {
		if beside != "" {
			_ = os.Remove(beside)
		}
		return fmt.Errorf("%s: %w", file, plainRename(err))
	}
	return nil
}

// writeBeside writes a new file into the directory of another one, and returns its name.
func writeBeside(file string, data []byte, mode os.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(file), ".argosy-")
	if err != nil {
		return "", problem.Path(err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return f.Name(), problem.Path(err)
	}
	return f.Name(), nil
}

// Generated writes files into a directory, which it makes if it is not there. A file that is there must begin with the marker: then it was
// generated, too. Nothing is written if one does not.
func Generated(dir, marker string, files []tree.File) error {
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		switch old, err := os.ReadFile(name); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return problem.Path(err)
		case !strings.HasPrefix(string(old), marker):
			return fmt.Errorf("%s: somebody else wrote it; name another directory, or remove it", name)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return problem.Path(err)
	}
	for _, f := range files {
		if err := Write(filepath.Join(dir, f.Name), f.Data); err != nil {
			return err
		}
	}
	return nil
}
