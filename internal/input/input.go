// Package input reads the files and directories that a user names on the command line, and standard input.
//
// Every read has a limit. An error begins with the file that it is about.
package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Documents reads the documents of files, of all manifests in directories, and of standard input ("-"), in the
// order of the arguments and, in a directory, of names. In a directory, a file that cannot be decoded is skipped if it does not have the
// text about: templates of charts are there, too. With "" it is an error.
func Documents(stdin io.Reader, args []string, recursive bool, about string) ([]manifest.Document, error) {
	var docs []manifest.Document
	var errs []error
	for _, arg := range args {
		files, err := Files(arg, recursive)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, file := range files {
			data, err := FileOr(stdin, file)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			more, err := manifest.Decode(file, data)
			if err != nil && file != arg && !bytes.Contains(data, []byte(about)) {
				continue
			}
			if err != nil {
				errs = append(errs, err)
			}
			docs = append(docs, more...)
		}
	}
	return docs, errors.Join(errs...)
}

// Files returns the files that an argument stands for: itself, or the manifests in a directory.
func Files(arg string, recursive bool) ([]string, error) {
	if arg == "-" {
		return []string{arg}, nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, problem.Path(err)
	}
	if !info.IsDir() {
		return []string{arg}, nil
	}
	var files []string
	// With a separator behind it, a link to a directory is a directory.
	root := strings.TrimSuffix(arg, string(filepath.Separator)) + string(filepath.Separator)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return problem.Path(err)
		case d.IsDir() && path != root && (!recursive || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case !d.IsDir() && IsManifest(d.Name()) && isRegular(path, d):
			files = append(files, path)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		return nil, fmt.Errorf("%s: no .yaml, .yml or .json file in this directory", arg)
	}
	return files, err
}

// isRegular reports whether a name, or the target of a link, is a regular file, so that reading does not block.
func isRegular(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular() // a broken link is named when it is opened
}

// IsManifest reports whether a file of a directory is read, by its name.
func IsManifest(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(name, ".")
	}
	return false
}

// FileOr reads a file, or standard input if its name is "-".
func FileOr(stdin io.Reader, file string) ([]byte, error) {
	if file != "-" {
		return File(file)
	}
	data, err := io.ReadAll(io.LimitReader(stdin, manifest.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return data, nil
}

// File reads a file, up to one byte over the limit of manifests; manifest.Decode refuses what is over it.
func File(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, problem.Path(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, manifest.MaxBytes+1))
	if err != nil {
		return nil, problem.Path(err)
	}
	return data, nil
}

// Dir opens a directory that nothing can lead out of.
func Dir(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, problem.Path(err)
	}
	return root, nil
}

// Near returns a file's name relative to the working directory, if the file is below it; else the unchanged name.
func Near(file string) string {
	here, err := filepath.Abs(".")
	if err != nil {
		return file
	}
	full, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	if rel, err := filepath.Rel(here, full); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return file
}
