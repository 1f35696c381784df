package main

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"time"

	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/parent"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/tree"
)

// appset is the appset plugin on a socket.
func (s *sidecar) appset(a *appsetPlugin) cmp.Plugin {
	return cmp.Plugin{
		Name: "appset", Parameters: parent.Parameters(), Reads: parent.Reads,
		Generate: func(ctx context.Context, r *cmp.Request) ([]manifest.Object, error) {
			config := a.config
			var err error
			if config.Policy, err = s.policy.current(); err != nil {
				return nil, err
			}
			answer, err := config.Generate(ctx, parent.Request{Call: r.Call, Dir: r.Dir, Files: r.Files, Doing: r.Doing})
			for _, w := range answer.Warnings {
				s.log.Warn("warning", "plugin", "appset", "application", r.App, "warning", w)
			}
			if err == nil {
				s.metrics.generated.Add(float64(answer.Applications))
			}
			return answer.Objects, err
		},
	}
}

// s3 is the s3 plugin on a socket.
func (s *sidecar) s3(b *buckets) cmp.Plugin {
	return cmp.Plugin{
		Name: "s3", Discover: triggerfile.Name, Parameters: s3source.Parameters(),
		Generate: func(ctx context.Context, r *cmp.Request) ([]manifest.Object, error) {
			p, err := s.policy.current()
			if err != nil {
				return nil, err
			}
			beside := &repositoryFS{ctx: ctx, request: r}
			file := path.Join(r.Dir, triggerfile.Name)
			data, err := fs.ReadFile(beside, triggerfile.Name)
			file, sources, err := parseTrigger(r.Call, file, data, err)
			if err != nil {
				return nil, err
			}
			config := s3source.Config{Open: b.reader, Git: beside, Policy: p, App: r.Call, File: file}
			r.Doing("reading from S3")
			fetched, err := config.Fetch(ctx, sources)
			if err != nil {
				return nil, err
			}
			for _, f := range fetched {
				s.metrics.cache.WithLabelValues("hit").Add(float64(f.Snapshot.Stats.Cached))
				s.metrics.cache.WithLabelValues("miss").Add(float64(f.Snapshot.Stats.Gets))
			}
			r.Doing("rendering what is in S3")
			docs, err := config.Render(fetched)
			return objectsOf(docs), err
		},
	}
}

// repositoryFS has the files of an application's directory, each read when it is opened.
type repositoryFS struct {
	ctx     context.Context
	request *cmp.Request
}

// Open implements fs.FS.
func (f *repositoryFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	full := path.Join(f.request.Dir, name)
	files, err := f.request.Files(f.ctx, tree.Selection{Names: []string{full}})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memoryFile{Reader: bytes.NewReader(files[0].Data), name: path.Base(name)}, nil
}

// memoryFile is a file of a repository, and its own description.
type memoryFile struct {
	*bytes.Reader
	name string
}

func (m *memoryFile) Stat() (fs.FileInfo, error) { return m, nil }
func (m *memoryFile) Close() error               { return nil }
func (m *memoryFile) Name() string               { return m.name }
func (m *memoryFile) Mode() fs.FileMode          { return 0o444 }
func (m *memoryFile) ModTime() time.Time         { return time.Time{} }
func (m *memoryFile) IsDir() bool                { return false }
func (m *memoryFile) Sys() any                   { return nil }
