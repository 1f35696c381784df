package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// readDocuments reads the documents of files, of all manifests in directories, and of standard input ("-"), in the
// order of the arguments and, in a directory, of names.
func readDocuments(stdin io.Reader, args []string, recursive bool) ([]manifest.Document, error) {
	var docs []manifest.Document
	var errs []error
	for _, arg := range args {
		files, err := manifestFiles(arg, recursive)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, file := range files {
			data, err := readInput(stdin, file)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			more, err := manifest.Decode(file, data)
			if err != nil {
				errs = append(errs, err)
			}
			docs = append(docs, more...)
		}
	}
	return docs, errors.Join(errs...)
}

// manifestFiles returns the files that an argument stands for.
func manifestFiles(arg string, recursive bool) ([]string, error) {
	if arg == "-" {
		return []string{arg}, nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, pathError(err)
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
			return pathError(err)
		case d.IsDir() && path != root && (!recursive || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case !d.IsDir() && isManifest(d.Name()) && isRegular(path, d):
			files = append(files, path)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		return nil, fmt.Errorf("%s: no .yaml, .yml or .json file in this directory", arg)
	}
	return files, err
}

// isRegular reports whether a file, or what a link points to, can be read without waiting for somebody to write.
func isRegular(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular() // a broken link is named when it is opened
}

// isManifest reports whether a file of a directory is read.
func isManifest(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(name, ".")
	}
	return false
}

func readInput(stdin io.Reader, file string) ([]byte, error) {
	if file != "-" {
		return readLimited(file)
	}
	data, err := io.ReadAll(io.LimitReader(stdin, manifest.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return data, nil
}

// readLimited reads a file; manifest.Decode refuses what is over its limit.
func readLimited(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, pathError(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, manifest.MaxBytes+1))
	if err != nil {
		return nil, pathError(err)
	}
	return data, nil
}

// pathError puts the file in front, where the eye looks for it.
func pathError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}

// parseRepoFlag reads URL=PATH[@REV]. The URL ends at the first "=" behind which there is a path that exists, because
// URLs may contain "="; the revision starts at the first "@" behind a path that exists, because both may contain "@".
func parseRepoFlag(flag string) (gitsource.Local, error) {
	url, rest, ok := strings.Cut(flag, "=")
	if !ok || url == "" || rest == "" {
		return gitsource.Local{}, usagef("--repo %s: must be URL=PATH or URL=PATH@REV", gitsource.Redact(flag))
	}
	for {
		l := splitRevision(rest)
		if _, err := os.Stat(l.Path); err == nil {
			l.URL = url
			return l, nil
		}
		more, tail, ok := strings.Cut(rest, "=")
		if !ok {
			return l, usagef("--repo %s: there is no directory %s", gitsource.Redact(flag), splitRevision(rest).Path)
		}
		url, rest = url+"="+more, tail
	}
}

func splitRevision(s string) gitsource.Local {
	if _, err := os.Stat(s); err == nil {
		return gitsource.Local{Path: s}
	}
	for i := 1; i < len(s)-1; i++ {
		if s[i] != '@' {
			continue
		}
		if _, err := os.Stat(s[:i]); err == nil {
			return gitsource.Local{Path: s[:i], Revision: s[i+1:]}
		}
	}
	path, _, _ := strings.Cut(s, "@")
	return gitsource.Local{Path: path}
}
