package main

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/argosy-cd/argosy/internal/gitsource"
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

// view is the repository, as it lies on disk.
func (c *checkout) view(context.Context) (*tree.View, error) { return gitsource.Disk(c.root.Name()) }
