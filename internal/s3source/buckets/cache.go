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
	"github.com/argosy-cd/argosy/internal/cachedir"
	"github.com/argosy-cd/argosy/internal/environ"
)

// Cache configures the cache of bucket content.
type Cache struct {
	// Dir is a directory, or cachedir.None for no cache; "" is the user's cache directory, and no cache if that cannot be used.
	Dir      string
	MaxBytes int64
	Now      func() time.Time
	// Env is the user's environment.
	Env environ.Environ
	// Note is called with notes for the user.
	Note func(line string)
}

// Open returns the cache; nil is none.
func (c Cache) Open() (bucket.Cache, error) {
	if c.Dir == cachedir.None {
		return nil, nil
	}
	dir := cachedir.Find(c.Dir, c.Env)
	if dir == "" { // in a container without a home
		dir = filepath.Join(os.TempDir(), "argosy-"+strconv.Itoa(os.Geteuid()))
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
