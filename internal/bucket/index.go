package bucket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/tree"
)

// IndexName is the object that says what a directory contains. blobDir holds new content of files until their own
// objects are overwritten, see Publish.
const (
	IndexName = ".argosy-index.json"
	blobDir   = ".argosy/"

	maxIndexBytes = 32 << 20
)

// Index lists the files of a directory and the digests of their content.
type Index struct {
	Version int     `json:"version"`
	Digest  string  `json:"digest"`
	Files   []Entry `json:"files"`
}

// Entry is a file of an Index.
type Entry struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// NewIndex makes the index of files.
func NewIndex(files []tree.File) Index {
	x := Index{Version: 1, Files: []Entry{}}
	for _, f := range files {
		x.Files = append(x.Files, Entry{f.Name, Sum(f.Data), int64(len(f.Data))})
	}
	slices.SortFunc(x.Files, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	x.Digest = x.digest()
	return x
}

// digest is the sha256 of what sha256sum prints for the files in order.
func (x Index) digest() string {
	h := sha256.New()
	for _, e := range x.Files {
		fmt.Fprintf(h, "%s  %s\n", e.SHA256, e.Path)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Encode returns the index as it is stored.
func (x Index) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(x, "", "  ")
	return append(data, '\n'), err
}

var sumPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// DecodeIndex reads an index and checks that it is whole.
func DecodeIndex(data []byte) (Index, error) {
	if len(data) > maxIndexBytes {
		return Index{}, fmt.Errorf("%d bytes is over the limit of %d", len(data), maxIndexBytes)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var x Index
	if err := dec.Decode(&x); err != nil {
		return Index{}, fmt.Errorf("not an index: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Index{}, errors.New("not an index: there is more behind it")
	}
	if x.Version != 1 {
		return Index{}, fmt.Errorf("version is %d; this program reads version 1", x.Version)
	}
	for i, e := range x.Files {
		switch {
		case !tree.Safe(e.Path) || internal(e.Path):
			return Index{}, fmt.Errorf("files[%d].path: %q is not a name below the directory", i, e.Path)
		case i > 0 && x.Files[i-1].Path >= e.Path:
			return Index{}, fmt.Errorf("files must be sorted: files[%d].path %q must come after %q", i, e.Path, x.Files[i-1].Path)
		case !sumPattern.MatchString(e.SHA256):
			return Index{}, fmt.Errorf("files[%d].sha256 must have 64 hexadecimal digits", i)
		case e.Size < 0:
			return Index{}, fmt.Errorf("files[%d].size must not be negative", i)
		}
	}
	if x.digest() != x.Digest {
		return Index{}, fmt.Errorf("digest is %q, but its files make %q", x.Digest, x.digest())
	}
	return x, nil
}

// indexAbove returns the nearest parent directory that has an index. If a parent may not be listed, the search ends without an error.
func indexAbove(ctx context.Context, store Store, dir string) (above string, found bool, lists int, err error) {
	for dir != "" {
		dir = dir[:strings.LastIndexByte(strings.TrimSuffix(dir, "/"), '/')+1]
		l, err := store.List(ctx, dir+IndexName, 1000)
		lists += l.Pages
		if errors.Is(err, ErrDenied) {
			return "", false, lists, nil
		}
		if err != nil {
			return "", false, lists, err
		}
		if len(l.Objects) > 0 && l.Objects[0].Key == dir+IndexName {
			return dir, true, lists, nil
		}
	}
	return "", false, lists, nil
}

// internal reports whether a name is argosy's own, and not a file of the directory.
func internal(name string) bool {
	return name[strings.LastIndexByte(name, '/')+1:] == IndexName || strings.HasPrefix(name, blobDir) || strings.Contains(name, "/"+blobDir)
}

// Sum returns the sha256 of data in hexadecimal.
func Sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
