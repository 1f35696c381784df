//go:build unix

package cachedir

import (
	"io/fs"
	"os"
	"syscall"
)

// private reports whether a directory belongs to the user, and nobody else may write to it.
func private(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
