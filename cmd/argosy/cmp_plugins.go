package main

import (
	"context"
	"io/fs"
	"path"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/parent"
	"github.com/argosy-cd/argosy/internal/policy"
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
			answer, err := config.Generate(ctx, parent.Request{Call: r.Call, Dir: r.Dir, Repository: r.View, Doing: r.Doing})
			s.warn("appset", r.App, answer.Warnings)
			if err == nil {
				s.metrics.generated.Add(float64(answer.Applications))
			}
			return answer.Objects, err
		},
	}
}

// s3 is the s3 plugin on a socket. The parent of a call is the application that asks.
func (s *sidecar) s3(b *buckets, parentOf func(argo.Call) policy.Parent) cmp.Plugin {
	return cmp.Plugin{
		Name: "s3", Discover: triggerfile.Name, Parameters: s3source.Parameters(),
		Generate: func(ctx context.Context, r *cmp.Request) ([]manifest.Object, error) {
			p, err := s.policy.current()
			if err != nil {
				return nil, err
			}
			// Files of the application's directory, each read when it is opened.
			beside := tree.FS(func(name string) ([]byte, error) {
				files, err := r.Files(ctx, tree.Selection{Names: []string{path.Join(r.Dir, name)}})
				if err == nil && len(files) == 0 {
					err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
				}
				if err != nil {
					return nil, err
				}
				return files[0].Data, nil
			})
			file := path.Join(r.Dir, triggerfile.Name)
			data, err := fs.ReadFile(beside, triggerfile.Name)
			file, sources, err := parseTrigger(r.Call, file, data, err)
			if err != nil {
				return nil, err
			}
			config := s3source.Config{Open: b.reader, Git: beside, Policy: p, App: r.Call, File: file}
			if err := config.Check(sources); err != nil {
				return nil, err
			}
			r.Doing("reading from S3")
			fetched, err := config.Fetch(ctx, sources)
			s.publish(r.Call, sources, fetched, err)
			if err != nil {
				return nil, err
			}
			for _, f := range fetched {
				s.metrics.cache.WithLabelValues("hit").Add(float64(f.Snapshot.Stats.Cached))
				s.metrics.cache.WithLabelValues("miss").Add(float64(f.Snapshot.Stats.Gets))
			}
			r.Doing("rendering what is in S3")
			docs, err := config.Render(ctx, fetched)
			if err != nil {
				return nil, err
			}
			objects := objectsOf(docs)
			warnings, err := p.Answer(parentOf(r.Call), r.Namespace, objects)
			s.warn("s3", r.App, warnings)
			if err != nil {
				return nil, err
			}
			return objects, nil
		},
	}
}

func (s *sidecar) warn(plugin, app string, warnings []string) {
	for _, w := range warnings {
		s.log.Warn("warning", "plugin", plugin, "application", app, "warning", w)
	}
}

// publish tells what an application reads. Of what could not be read it tells where it should be.
func (s *sidecar) publish(call argo.Call, sources []triggerfile.Source, fetched []s3source.Fetched, err error) {
	if s.reads == nil || call.App == "" {
		return
	}
	if err != nil {
		fetched = nil
	}
	s.reads.add(call, s3source.ReadsOf(sources, fetched))
}
