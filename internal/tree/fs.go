package tree

import (
	"bytes"
	"io/fs"
	"path"
	"time"
)

// FS is a directory whose files are read when they are opened.
type FS func(name string) ([]byte, error)

// Open implements fs.FS. An error of the function that is not about a path is passed on as it is.
func (f FS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	data, err := f(name)
	if err != nil {
		return nil, err
	}
	return &file{Reader: bytes.NewReader(data), name: path.Base(name)}, nil
}

// file is a file in memory, and its own description.
type file struct {
	*bytes.Reader
	name string
}

func (f *file) Stat() (fs.FileInfo, error) { return f, nil }
func (f *file) Close() error               { return nil }
func (f *file) Name() string               { return f.name }
func (f *file) Mode() fs.FileMode          { return 0o444 }
func (f *file) ModTime() time.Time         { return time.Time{} }
func (f *file) IsDir() bool                { return false }
func (f *file) Sys() any                   { return nil }
