package buckets

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/disk"
)

// Cache configures the cache of bucket content.
type Cache struct {
	// Dir is a directory, or "none" for no cache; "" is the user's cache directory, and no cache if that cannot be used.
	Dir      string
	MaxBytes int64
	Now      func() time.Time
	// Getenv returns a variable of the user's environment.
	Getenv func(string) string
	// Note is called with notes for the user.
	Note func(line string)
}

// Open returns the cache; nil is none.
func (c Cache) Open() (bucket.Cache, error) {
	dir := c.Dir
	switch dir {
	case "none":
		return nil, nil
	case "":
		if dir = disk.UserDir(c.Getenv); dir == "" {
			// A container without a home.
			dir = filepath.Join(os.TempDir(), "argosy-"+strconv.Itoa(os.Geteuid()))
		}
	}
	note := sync.OnceFunc(func() {
		c.Note(fmt.Sprintf("the cache in %s cannot be written, or is too small; everything is read again each time", dir))
	})
	open, err := disk.Open(dir, disk.Config{MaxBytes: c.MaxBytes, Now: c.Now, Failed: note})
	switch {
	case err == nil:
		return open, nil
	case c.Dir != "":
		return nil, err
	}
	c.Note(fmt.Sprintf("reading without a cache: %v", err))
	return nil, nil
}
