package plan

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

// trigger renders a directory with a trigger file as the plugin s3 does, nil without one. Named says that the source names the plugin.
func (l *loader) trigger(about source.Application, s map[string]any, named bool) *source.Result {
	repo, err := l.cfg.Loader.Open(l.ctx, manifest.String(s, "repoURL"), argo.TargetRevision(s))
	if err != nil && named {
		return missing(source.S3, err)
	}
	if err != nil {
		return nil // the reader of the directory reports it
	}
	dir := path.Clean(cmp.Or(manifest.String(s, "path"), "."))
	file := path.Join(dir, triggerfile.Name)
	data, err := repo.View.Read(l.ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return missing(source.S3, err)
	}
	r := l.s3(about, file, data, dir, repo.View)
	inRepository(r, s)
	r.Inputs = append(r.Inputs, source.Input{Path: file})
	return r
}

// s3 renders as the plugin s3 does, with directories for buckets: a repository s3://BUCKET.
func (l *loader) s3(about source.Application, file string, data []byte, dir string, view *tree.View) *source.Result {
	sources, err := triggerfile.Parse(file, data)
	if err != nil {
		return failed(source.S3, err)
	}
	for i := range sources {
		// Where a bucket is, and with which rights it is read, does not matter here.
		sources[i].Endpoint, sources[i].RoleARN = "", ""
	}
	config := s3source.Config{
		File: file, App: argo.Call{App: about.Name, Namespace: about.Namespace, Project: about.Project},
		Git: tree.FS(func(name string) ([]byte, error) { return view.Read(l.ctx, path.Join(dir, name)) }),
		Open: func(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error) {
			opened, err := l.cfg.Loader.Open(ctx, "s3://"+a.Bucket, "HEAD")
			if err != nil {
				return nil, Absent(err)
			}
			return &bucket.Reader{Store: store{opened.View}, Bucket: a.Bucket, Limits: bucket.DefaultLimits}, nil
		},
	}
	docs, err := config.Generate(l.ctx, sources)
	for _, e := range problem.All(err) {
		if !absent(e) {
			return failed(source.S3, err)
		}
	}
	if err != nil {
		return missing(source.S3, err)
	}
	return &source.Result{Kind: source.S3, Documents: docs}
}

// store is a directory as a bucket.
type store struct{ view *tree.View }

// List implements bucket.Store.
func (s store) List(ctx context.Context, prefix string, most int) (bucket.Listing, error) {
	files, err := s.view.Select(ctx, tree.Selection{Keep: func(name string) bool { return strings.HasPrefix(name, prefix) }})
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
	data, err := s.view.Read(ctx, o.Key)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: o.Key, Err: fs.ErrNotExist}
	}
	return data, nil
}
