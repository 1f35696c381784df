// Package cachedir has the directories in which caches are kept: where a user's is, whether it can be trusted, and how a file gets there.
//
// What is in a cache is deployed or believed later. So a directory that another user owns, or may write to, is refused.
package cachedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/argosy-cd/argosy/internal/environ"
)

// None is the name of a directory for people who want no cache.
const None = "none"

// Find returns the directory of a cache: own, or the user's cache directory for "". It returns "" for None, and where there is no place for
// a cache.
func Find(own string, env environ.Environ) string {
	switch own {
	case None:
		return ""
	case "":
		return user(env)
	default:
		return own
	}
}

// user is the directory of this program in the cache directory of a user, "" if there is none.
func user(env environ.Environ) string {
	if base := env.Get("XDG_CACHE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "argosy")
	}
	if home := env.Get("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "argosy")
	}
	return ""
}

var errShared = errors.New("it must be a directory that belongs to this user and that nobody else may write to")

// Open makes a directory if it does not exist. It refuses one that another user owns, or may write to.
func Open(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making it: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("opening it: %w", err)
	}
	if !info.IsDir() || !private(info) {
		return errShared
	}
	return nil
}

// Unfinished is the prefix of the names of files and directories that are being written. A writer that was killed leaves them behind.
const Unfinished = "new-"

// Write writes a file. The file has its old or its new content at any time, for any number of processes.
func Write(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), Unfinished)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
