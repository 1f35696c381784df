//go:build !unix

package cachedir

import "io/fs"

// private cannot be told here; the user's cache directory is the user's own.
func private(fs.FileInfo) bool { return true }
