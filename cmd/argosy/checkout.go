package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// checkout is a repository that Argo CD's plugin server has unpacked. A command runs in the application's directory.
type checkout struct {
	root *os.Root
	dir  string // the application's, in it
}

// openCheckout finds the root of the repository by the path of the application in it.
func openCheckout(appPath string) (*checkout, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir := path.Clean("/" + filepath.ToSlash(appPath))[1:]
	top, ok := strings.CutSuffix(filepath.ToSlash(here), "/"+dir)
	if dir == "" || !ok || top == "" {
		top, dir = here, "."
	}
	root, err := openDir(filepath.FromSlash(top))
	if err != nil {
		return nil, err
	}
	return &checkout{root, dir}, nil
}

// files returns files of the repository.
func (c *checkout) files(ctx context.Context, wanted tree.Selection) ([]tree.File, error) {
	var out []tree.File
	total := 0
	err := fs.WalkDir(c.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return pathError(err)
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || !wanted.Wants(name):
			return nil
		}
		f, err := c.root.Open(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, innermost(err))
		}
		defer f.Close()
		// Also a link to a directory: of those that Kustomize could use, only the native plugin knows.
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(f, manifest.MaxBytes+1))
		if err != nil {
			return fmt.Errorf("%s: %w", name, innermost(err))
		}
		if wanted.MaxBytes > 0 && int64(len(data)) > wanted.MaxBytes {
			return nil
		}
		if total += len(data); len(data) > manifest.MaxBytes || total > maxCheckout {
			return fmt.Errorf("%s: over the limit of %d bytes for a file, or %d for all that are needed", name, manifest.MaxBytes, maxCheckout)
		}
		out = append(out, tree.File{Name: name, Data: data})
		return nil
	})
	return out, err
}

// maxCheckout bounds what is read of a repository.
const maxCheckout = 256 << 20
