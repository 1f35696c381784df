package plan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/tree"
)

// s3 does what the plugin s3 does, with buckets that are directories at hand: a repository s3://BUCKET.
func (c *content) s3(file string, data []byte, dir string, t Tree) ([]manifest.Document, error) {
	sources, err := triggerfile.Parse(file, data)
	if err != nil {
		return nil, certain(err)
	}
	for i := range sources {
		// Where a bucket is, and with which rights it is read, does not matter here.
		sources[i].Endpoint, sources[i].RoleARN = "", ""
	}
	config := s3source.Config{
		File: file, App: argo.Call{App: c.app.Name, Namespace: manifest.String(c.spec, "destination", "namespace"), Project: c.app.Project},
		Git: tree.FS(func(name string) ([]byte, error) { return readOne(c.ctx, t, path.Join(dir, name)) }),
		Open: func(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error) {
			opened, err := c.cfg.Open(ctx, "s3://"+a.Bucket, "HEAD")
			if err != nil {
				return nil, Absent(err)
			}
			return &bucket.Reader{Store: store{opened}, Bucket: a.Bucket, Limits: bucket.DefaultLimits}, nil
		},
	}
	return config.Generate(c.ctx, sources)
}

func readOne(ctx context.Context, t Tree, name string) ([]byte, error) {
	files, err := t.Select(ctx, tree.Selection{Names: []string{name}})
	if err == nil && len(files) == 0 {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	return files[0].Data, nil
}

// store is a directory as a bucket.
type store struct{ Tree }

// List implements bucket.Store.
func (s store) List(ctx context.Context, prefix string, most int) (bucket.Listing, error) {
	files, err := s.Select(ctx, tree.Selection{Keep: func(name string) bool { return strings.HasPrefix(name, prefix) }})
	if err != nil {
		return bucket.Listing{}, err
	}
	if len(files) > most {
		return bucket.Listing{}, fmt.Errorf("more than %d objects", most)
	}
	var l bucket.Listing
	for _, f := range files {
		sum := sha256.Sum256(f.Data)
		l.Objects = append(l.Objects, bucket.Object{Key: f.Name, Size: int64(len(f.Data)), ETag: hex.EncodeToString(sum[:])})
	}
	return l, nil
}

// Get implements bucket.Store.
func (s store) Get(ctx context.Context, o bucket.Object) ([]byte, error) {
	return readOne(ctx, s.Tree, o.Key)
}
