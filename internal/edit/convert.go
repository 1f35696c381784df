package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/words"
)

// Conversion converts the manifests in files.
type Conversion struct {
	// Change returns a file with other manifests in it. A file that has nothing to convert has no names in its result.
	Change func(file string, data []byte) (*convert.Result, error)
	// Becomes is what the objects are then, for people, such as "an Application".
	Becomes string
	// Nothing is the error if no file has anything to convert.
	Nothing string
	// Write replaces the files; otherwise the files that change are printed.
	Write bool
	// Recursive reads subdirectories, too.
	Recursive bool
	Stdin     io.Reader
	Out       io.Writer
	Warn      func(line string)
}

// Run converts files and directories: all of them, or none and an error.
func (c Conversion) Run(args []string) error {
	var changed []replacement
	var names [][]string
	var errs []error
	for _, arg := range args {
		files, err := input.Files(arg, c.Recursive)
		errs = append(errs, err)
		for _, file := range files {
			data, err := input.FileOr(c.Stdin, file)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			res, err := c.Change(file, data)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if len(res.Names) > 0 {
				changed, names = append(changed, replacement{file: file, before: data, after: res.Data}), append(names, res.Names)
			}
			for _, w := range res.Warnings {
				c.Warn(w)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(changed) == 0 {
		return errors.New(c.Nothing)
	}
	if !c.Write {
		return c.print(changed)
	}
	if err := replaceFiles(changed, os.Rename); err != nil {
		return err
	}
	for i, f := range changed {
		for _, name := range names[i] {
			if err := words.Line(c.Out, "%s: %s is %s", input.Near(f.file), name, c.Becomes); err != nil {
				return err
			}
		}
	}
	return nil
}

// print writes files one after the other, as documents of one stream.
func (c Conversion) print(files []replacement) error {
	for i, f := range files {
		text := f.after
		if i > 0 && !bytes.HasPrefix(text, []byte("---")) {
			text = append([]byte("---\n"), text...)
		}
		if !bytes.HasSuffix(text, []byte("\n")) {
			text = append(bytes.Clone(text), '\n')
		}
		if _, err := c.Out.Write(text); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	return nil
}
