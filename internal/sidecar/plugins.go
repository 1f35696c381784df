package sidecar

import (
	"context"
	"io/fs"
	"path"

	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/gitremote"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/worker/job"
)

// AppSet is the appset plugin on a socket.
func (s *Sidecar) AppSet(a *AppSet) cmp.Plugin {
	return cmp.Plugin{
		Name: argo.PluginAppSet, Parameters: appsetplugin.Parameters(), Reads: appsetplugin.Reads,
		Generate: func(ctx context.Context, r *cmp.Request) ([]manifest.Object, error) {
			config := a.Config
			var err error
			if config.Policy, err = s.policy.Current(); err != nil {
				return nil, err
			}
			if s.workers != nil {
				config.Evaluator = job.Workers{Pool: s.workers}
			}
			ctx = gitremote.For(ctx, gitremote.User{Owner: r.Project, Request: r})
			answer, err := config.Generate(ctx, appsetplugin.Request{
				Call: r.Call, Dir: r.Dir, Repository: r.View, Archive: archiveOf(r),
				Doing: r.Doing,
			})
			s.warn(argo.PluginAppSet, r.App, answer.Warnings)
			if err == nil {
				s.metrics.generated.Add(answer.Applications)
			}
			return answer.Objects, err
		},
	}
}

// archiveOf returns the repository that Argo CD has sent with a request.
func archiveOf(r *cmp.Request) func(context.Context) (appsetplugin.Archive, error) {
	return func(ctx context.Context) (appsetplugin.Archive, error) {
		content, size, err := r.Archive(ctx)
		return appsetplugin.Archive{ReaderAt: content, Size: size}, err
	}
}

// Open opens a bucket that a trigger file names.
type Open func(context.Context, triggerfile.Access) (*bucket.Reader, error)

// S3 is the s3 plugin on a socket. The parent of a call is the application that asks.
func (s *Sidecar) S3(open Open, parentOf func(argo.Call) policy.Parent) cmp.Plugin {
	return cmp.Plugin{
		Name: argo.PluginS3, Discover: triggerfile.Name, Parameters: s3source.Parameters(),
		Generate: func(ctx context.Context, r *cmp.Request) ([]manifest.Object, error) {
			p, err := s.policy.Current()
			if err != nil {
				return nil, err
			}
			e := s.s3Evaluator(r)
			file, sources, err := e.sources(ctx)
			if err != nil {
				return nil, err
			}
			config := s3source.Config{Open: s.bounded(open), Policy: p, App: r.Call, File: file}
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
				s.metrics.cache.Add(f.Snapshot.Stats.Cached, "hit")
				s.metrics.cache.Add(f.Snapshot.Stats.Gets, "miss")
			}
			r.Doing("rendering what is in S3")
			objects, err := e.render(ctx, config, fetched)
			if err != nil {
				return nil, err
			}
			warnings, err := p.Answer(parentOf(r.Call), r.Namespace, objects)
			s.warn(argo.PluginS3, r.App, warnings)
			if err != nil {
				return nil, err
			}
			return objects, nil
		},
	}
}

// bounded opens buckets with a limit: a request reads no more than a worker can hold. This bounds the memory of all requests together, and
// nothing is read that could not be rendered.
func (s *Sidecar) bounded(open Open) Open {
	return func(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error) {
		r, err := open(ctx, a)
		if err != nil || s.maxRead == 0 {
			return r, err
		}
		own := *r
		own.Limits.Bytes = min(own.Limits.Bytes, s.maxRead)
		return &own, nil
	}
}

// Limits of the warnings of one request in the log: lines, and bytes of each.
const (
	maxWarnings = 20
	maxWarning  = 500
)

// warn logs the warnings of a request. Authors of applications can cause any number of them, of any length.
func (s *Sidecar) warn(plugin, app string, warnings []string) {
	for _, w := range warnings[:min(len(warnings), maxWarnings)] {
		s.log.Warn("warning", "plugin", plugin, "application", app, "warning", words.Shorten(w, maxWarning))
	}
	if more := len(warnings) - maxWarnings; more > 0 {
		s.log.Warn("more warnings", "plugin", plugin, "application", app, "number", more)
	}
}

// s3Evaluator evaluates the untrusted files of an application.
type s3Evaluator interface {
	sources(ctx context.Context) (file string, list []triggerfile.Source, err error)
	render(ctx context.Context, config s3source.Config, fetched []s3source.Fetched) ([]manifest.Object, error)
}

func (s *Sidecar) s3Evaluator(r *cmp.Request) s3Evaluator {
	if s.workers == nil {
		return s3Here{r}
	}
	return &s3Worker{request: r, workers: job.Workers{Pool: s.workers}}
}

// s3Worker has workers evaluate.
type s3Worker struct {
	request *cmp.Request
	workers job.Workers
	s3      job.S3
}

func (w *s3Worker) sources(ctx context.Context) (string, []triggerfile.Source, error) {
	content, err := archiveOf(w.request)(ctx)
	if err != nil {
		return "", nil, err
	}
	w.s3 = job.S3{Call: w.request.Call, Dir: w.request.Dir, Archive: content, Doing: w.request.Doing}
	return w.workers.Sources(ctx, &w.s3)
}

func (w *s3Worker) render(ctx context.Context, _ s3source.Config, fetched []s3source.Fetched) ([]manifest.Object, error) {
	return w.workers.Render(ctx, &w.s3, fetched)
}

// s3Here evaluates in this process.
type s3Here struct{ request *cmp.Request }

// beside has the files of the application's directory, each read when it is opened.
func (h s3Here) beside(ctx context.Context) fs.FS {
	return tree.FS(func(name string) ([]byte, error) {
		files, err := h.request.Files(ctx, tree.Selection{Names: []string{path.Join(h.request.Dir, name)}})
		if err == nil && len(files) == 0 {
			err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		if err != nil {
			return nil, err
		}
		return files[0].Data, nil
	})
}

func (h s3Here) sources(ctx context.Context) (string, []triggerfile.Source, error) {
	t, err := s3source.ReadTrigger(h.request.Call, h.request.Dir, h.beside(ctx))
	return t.File, t.Sources, err
}

func (h s3Here) render(ctx context.Context, config s3source.Config, fetched []s3source.Fetched) ([]manifest.Object, error) {
	config.Git = h.beside(ctx)
	docs, err := config.Render(ctx, fetched)
	return manifest.Objects(docs), err
}

// publish publishes the reads of an application. After an error, it publishes only the sources.
func (s *Sidecar) publish(call argo.Call, sources []triggerfile.Source, fetched []s3source.Fetched, err error) {
	if s.reads == nil || call.App == "" {
		return
	}
	if err != nil {
		fetched = nil
	}
	s.reads.add(call, s3source.ReadsOf(sources, fetched))
}
