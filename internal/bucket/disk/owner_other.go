//go:build !unix

package disk

import "io/fs"

// owned cannot be told here; the user's cache directory is the user's own.
func owned(fs.FileInfo) bool { return true }
