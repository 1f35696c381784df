package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/cachedir"
)

// cache is a directory that any number of processes share:
//
//	blobs/DIGEST     an archive, checked against its name each time it is read
//	refs/KEY.json    which archive an exact version is
//	indexes/KEY.json the charts of a repository, with the ETag of its index.yaml
//
// A file appears complete or not at all. A cache that cannot be read or written costs time, and is never an error.
type cache struct {
	dir    string // "" is no cache
	note   func(string)
	opened sync.Once
	usable bool
}

// reference says which archive an exact version is.
type reference struct {
	Version string `json:"version"`
	Digest  string `json:"digest"`         // "sha256:" and 64 digits
	Keep    bool   `json:"keep,omitempty"` // the top directory is content
}

const digestPrefix = "sha256:"

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// blob returns an archive by its digest, nil if it is not there. A damaged one is removed.
func (c *cache) blob(digest string) []byte {
	path := c.blobPath(digest)
	data := c.read(path, maxArchive)
	if data == nil || digestOf(data, digest) {
		return data
	}
	_ = os.Remove(path)
	return nil
}

func (c *cache) keepBlob(data []byte) { c.write(c.blobPath(digest(data)), data) }

// blobPath is "" for a digest of another kind.
func (c *cache) blobPath(digest string) string {
	digits, ok := strings.CutPrefix(digest, digestPrefix)
	if raw, err := hex.DecodeString(digits); !ok || err != nil || len(raw) != sha256.Size {
		return ""
	}
	return filepath.Join(c.dir, "blobs", strings.ToLower(digits))
}

// reference returns the archive of an exact version, if it is known.
func (c *cache) reference(key ...string) (reference, bool) {
	var r reference
	data := c.read(c.keyPath("refs", key), maxConfig)
	return r, data != nil && json.Unmarshal(data, &r) == nil && c.blobPath(r.Digest) != ""
}

func (c *cache) keepReference(r reference, key ...string) {
	if data, err := json.Marshal(r); err == nil {
		c.write(c.keyPath("refs", key), data)
	}
}

// index returns the last index of a repository; its zero value if there is none.
func (c *cache) index(repository string) keptIndex {
	var i keptIndex
	data := c.read(c.keyPath("indexes", []string{repository}), maxIndex)
	if data == nil || json.Unmarshal(data, &i) != nil || i.Entries == nil {
		return keptIndex{}
	}
	return i
}

func (c *cache) keepIndex(repository string, i keptIndex) {
	if data, err := json.Marshal(i); err == nil {
		c.write(c.keyPath("indexes", []string{repository}), data)
	}
}

func (c *cache) keyPath(kind string, key []string) string {
	sum := sha256.Sum256([]byte(strings.Join(key, "\x00")))
	return filepath.Join(c.dir, kind, hex.EncodeToString(sum[:])+".json")
}

// open creates the directory when it is first needed, and reports whether it can be used. References in it are trusted.
func (c *cache) open() bool {
	c.opened.Do(func() {
		if c.dir == "" {
			return
		}
		err := cachedir.Open(c.dir)
		for _, kind := range []string{"blobs", "refs", "indexes"} {
			if err == nil {
				err = os.MkdirAll(filepath.Join(c.dir, kind), 0o700)
			}
		}
		if err != nil {
			c.note(fmt.Sprintf("the cache %s is not used: %v", c.dir, err))
		}
		c.usable = err == nil
	})
	return c.usable
}

func (c *cache) read(path string, limit int64) []byte {
	if path == "" || !c.open() {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil || int64(len(data)) > limit {
		return nil
	}
	return data
}

func (c *cache) write(path string, data []byte) {
	if path == "" || !c.open() {
		return
	}
	if err := cachedir.Write(path, data); err != nil {
		c.note(fmt.Sprintf("writing to the cache %s: %v", c.dir, err))
	}
}

func digestOf(data []byte, want string) bool { return strings.EqualFold(digest(data), want) }
