package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// Conversion converts the manifests in files.
type Conversion struct {
	// Change returns a file with other manifests in it. A file that has nothing to convert has no names in its result.
	Change func(file string, data []byte) (*convert.Result, error)
	// Becomes names the result in messages, such as "an Application".
	Becomes string
	// Nothing is the error if no file has anything to convert, and Already describes objects that need no conversion.
	Nothing, Already string
	// Unique refuses an object that would have the name of an Application in another document of the same tree. Namespace is the namespace
	// of objects that name none.
	Unique    bool
	Namespace string
	// Write replaces the files; otherwise the files that change are printed.
	Write bool
	// Recursive reads subdirectories, too, and skips files in directories that are no manifests.
	Recursive bool
	Stdin     io.Reader
	Out       io.Writer
	Warn      func(line string)
}

// Run converts files and directories: all of them, or none and an error.
func (c Conversion) Run(args []string) error {
	var changed []replacement
	var names [][]string
	var already []string
	var errs []error
	for _, arg := range args {
		files, err := input.Files(arg, c.Recursive)
		errs = append(errs, c.hint(err, args))
		for _, file := range files {
			data, err := input.FileOr(c.Stdin, file)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if c.skips(arg, file, data) {
				continue
			}
			res, err := c.Change(file, data)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			already = append(already, res.Already...)
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
		if len(already) > 0 {
			return fmt.Errorf("%s; %s %s %s already", c.Nothing, words.Some(already), words.IsAre(len(already)), c.Already)
		}
		return c.hint(errors.New(c.Nothing), args)
	}
	if c.Unique {
		if err := c.collisions(args, changed, names); err != nil {
			return err
		}
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

// hint adds to an error how to look into subdirectories, if there are any.
func (c Conversion) hint(err error, args []string) error {
	if err == nil || c.Recursive {
		return err
	}
	for _, arg := range args {
		entries, readErr := os.ReadDir(arg)
		if readErr == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.IsDir() && e.Name()[0] != '.' }) {
			return fmt.Errorf("%w; -R looks into subdirectories", err)
		}
	}
	return err
}

// skips reports whether a file of a directory is no manifest, such as a chart's template. It warns about a skipped file that may have an
// ApplicationSet.
func (c Conversion) skips(arg, file string, data []byte) bool {
	if !c.Recursive || file == arg {
		return false
	}
	_, err := manifest.Decode(file, data)
	if err != nil && bytes.Contains(data, []byte(argo.KindApplicationSet)) {
		c.Warn(fmt.Sprintf("skipped, it is not a manifest: %v", problem.All(err)[0]))
	}
	return err != nil
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
