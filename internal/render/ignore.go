package render

import (
	"bytes"
	"fmt"
	"io/fs"

	"helm.sh/helm/v4/pkg/ignore"

	"github.com/argosy-cd/argosy/internal/tree"
)

// helmIgnore returns which files of a chart directory its .helmignore leaves out.
func helmIgnore(files []tree.File) (func(name string) bool, error) {
	rules := ignore.Empty()
	if data, ok := tree.Find(files, ignore.HelmIgnore); ok {
		err := boundIgnore(data, files)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
		}
		if rules, err = ignore.Parse(bytes.NewReader(data)); err != nil {
			return nil, fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
		}
	}
	rules.AddDefaults()
	return func(name string) bool {
		// A file is left out with any directory that it is in.
		for i := range len(name) + 1 {
			if (i == len(name) || name[i] == '/') && rules.Ignore(name[:i], entry{dir: i < len(name)}) {
				return true
			}
		}
		return false
	}, nil
}

// entry is all that the rules want to know about a file.
type entry struct {
	fs.FileInfo
	dir bool
}

func (e entry) IsDir() bool { return e.dir }
