// Package tree holds a directory in memory: what a bucket, an archive or a work tree contains, on its way to being
// rendered. Names are relative, with slashes, and in order.
package tree

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// File is a file of a directory.
type File struct {
	Name string
	Data []byte
}

// Sort orders files by name.
func Sort(files []File) {
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
}

// Find returns the content of a file.
func Find(files []File, name string) ([]byte, bool) {
	for _, f := range files {
		if f.Name == name {
			return f.Data, true
		}
	}
	return nil, false
}

// Names returns the names of files.
func Names(files []File) []string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	return names
}

// Safe reports whether a name can be a file below some directory on every system: relative, without empty, "." and
// ".." elements, backslashes, colons as drive letters have them, and control characters.
func Safe(name string) bool {
	if !fs.ValidPath(name) || name == "." || len(name) > 1 && name[1] == ':' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' })
}

// CheckNames refuses names that cannot be files of a directory, as keys of a bucket can, for a kind of directory that needs files.
func CheckNames(files []File, kind string, url func(name string) string) error {
	var errs []error
	for _, f := range files {
		if !Safe(f.Name) {
			errs = append(errs, fmt.Errorf("%s: this key is not a valid file name, which type %s needs", url(f.Name), kind))
		}
	}
	return errors.Join(errs...)
}

// Top strips the directory that contains all files, as tar adds one. Without such a directory it returns the files unchanged.
func Top(files []File) []File {
	if len(files) == 0 {
		return files
	}
	dir, _, ok := strings.Cut(files[0].Name, "/")
	if !ok {
		return files
	}
	out := make([]File, len(files))
	for i, f := range files {
		rest, ok := strings.CutPrefix(f.Name, dir+"/")
		if !ok {
			return files
		}
		out[i] = File{rest, f.Data}
	}
	return out
}

// IsManifest reports by its name whether a file may hold Kubernetes objects.
func IsManifest(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}
