// Package disk keeps packs of bucket content in a directory.
//
// Any number of processes may share the directory. A file appears complete or not at all, and a file that a crash has
// damaged is found by its checksum and treated as missing. The directory is bounded: packs that were unused for longest
// are evicted first. A cache that cannot be written makes things slower and never wrong, so nothing here fails after Open.
package disk

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/cachedir"
)

// Cache is a directory of packs.
type Cache struct {
	dir string
	Config
}

// Config configures a cache.
type Config struct {
	MaxBytes int64 // of all packs
	Now      func() time.Time
	Failed   func() // called when a pack could not be saved; nil is not called
}

// stale is how old a file of a writer that was killed must be before it is removed.
const stale = time.Hour

// Open creates the directory if it does not exist. It must be the user's own, since its content will be deployed.
func Open(dir string, c Config) (*Cache, error) {
	if err := cachedir.Open(dir); err != nil {
		return nil, fmt.Errorf("cache %s: %w", dir, err)
	}
	return &Cache{dir, c}, nil
}

func (c *Cache) path(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:])+".pack")
}

// Load returns a pack.
func (c *Cache) Load(id string) (bucket.Pack, bool) {
	data, err := os.ReadFile(c.path(id))
	if err != nil {
		return bucket.Pack{}, false
	}
	p, err := bucket.DecodePack(data)
	return p, err == nil
}

// Save stores a pack.
func (c *Cache) Save(id string, p bucket.Pack) {
	if !c.save(id, p.Encode()) && c.Failed != nil {
		c.Failed()
	}
	c.evict()
}

func (c *Cache) save(id string, data []byte) bool {
	if int64(len(data)) > c.MaxBytes {
		return false
	}
	return cachedir.Write(c.path(id), data) == nil
}

// Use marks a pack as used now.
func (c *Cache) Use(id string) {
	now := c.Now()
	_ = os.Chtimes(c.path(id), now, now)
}

// evict removes the packs that were not used for longest until the rest fits. Another process may do the same at the
// same time; both then remove the same files.
func (c *Cache) evict() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	var total int64
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case strings.HasPrefix(e.Name(), cachedir.Unfinished):
			if c.Now().Sub(info.ModTime()) > stale {
				_ = os.Remove(filepath.Join(c.dir, e.Name()))
			}
		case strings.HasSuffix(e.Name(), ".pack"):
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return cmp.Compare(a.ModTime().UnixNano(), b.ModTime().UnixNano()) })
	for _, f := range files {
		if total <= c.MaxBytes {
			return
		}
		if os.Remove(filepath.Join(c.dir, f.Name())) == nil {
			total -= f.Size()
		}
	}
}
