package workspace

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Checkout is a repository that Argo CD's plugin server has unpacked. A command runs in the application's directory.
type Checkout struct {
	Root *os.Root
	Dir  string // the application's, in it
}

// OpenCheckout finds the root of the repository by the path of the application in it, from the working directory.
func OpenCheckout(appPath string) (*Checkout, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir := path.Clean("/" + filepath.ToSlash(appPath))[1:]
	top, ok := strings.CutSuffix(filepath.ToSlash(here), "/"+dir)
	if dir == "" || !ok || top == "" {
		top, dir = here, "."
	}
	root, err := input.Dir(filepath.FromSlash(top))
	if err != nil {
		return nil, err
	}
	return &Checkout{root, dir}, nil
}

// View is the repository, as it lies on disk.
func (c *Checkout) View(context.Context) (*tree.View, error) { return gitsource.Disk(c.Root.Name()) }
