package transfer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// errNoFiles says that a directory has nothing to publish or to compare.
var errNoFiles = errors.New("there are no files in this directory")

// ReadDir reads the files of a directory, in order. Hidden directories are left out, and noted; links are an error.
func ReadDir(dir string, note func(line string)) ([]tree.File, error) {
	root, err := input.Dir(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var files []tree.File
	var total int64
	limits := bucket.DefaultLimits
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return problem.Path(err)
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			note(fmt.Sprintf("%s is left out, as all hidden directories are", words.Printable(name)))
			return fs.SkipDir
		case d.IsDir() || name == bucket.IndexName:
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s: only files and directories are read, no links and no devices", words.Printable(path.Join(dir, name)))
		case len(files) == limits.Objects:
			return fmt.Errorf("%s: more than %d files", dir, limits.Objects)
		}
		data, err := readBounded(root, name, limits.ObjectBytes)
		if err != nil {
			return fmt.Errorf("%s: %w", words.Printable(path.Join(dir, name)), err)
		}
		if total += int64(len(data)); total > limits.Bytes {
			err = fmt.Errorf("%s: its files have more than %d MiB, which is the limit", dir, limits.Bytes>>20)
		}
		files = append(files, tree.File{Name: name, Data: data})
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, errNoFiles)
	}
	tree.Sort(files)
	return files, nil
}

func readBounded(root *os.Root, name string, most int64) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, problem.Innermost(err)
	}
	if info.Size() > most {
		return nil, fmt.Errorf("over the limit of %d MiB for one file", most>>20)
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return nil, problem.Innermost(err)
	}
	return data, nil
}
