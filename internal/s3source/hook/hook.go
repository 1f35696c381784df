// Package hook is the s3 plugin as commands of Argo CD's own plugin server: they run in the application's directory, and read Argo CD's
// variables from the environment.
//
// The answer is all or nothing.
package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/strict"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Discover says why an application is for the plugin: the name of its trigger file, or the parameter that it has instead. "" is not.
func Discover(dir string, getenv func(string) string) (string, error) {
	if getenv(argo.Variable("source")) != "" {
		return "parameter source", nil
	}
	root, err := input.Dir(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Stat(triggerfile.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("%s: %w", filepath.Join(dir, triggerfile.Name), problem.Innermost(err))
	case !info.Mode().IsRegular():
		return "", nil
	}
	return triggerfile.Name, nil
}

// Dir is the directory of an application that a user names, or that of its trigger file.
func Dir(arg string) string {
	if filepath.Base(arg) == triggerfile.Name {
		return filepath.Dir(arg)
	}
	return arg
}

// Config configures how a trigger file is read.
type Config struct {
	Dir    string // of the application
	Policy *policy.Policy
	// Open returns a reader of a bucket.
	Open func(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error)
	// Getenv returns a variable that Argo CD has set.
	Getenv func(string) string
}

// Source is a trigger file that was read.
type Source struct {
	config  s3source.Config
	sources []triggerfile.Source
	root    *os.Root
}

// Open reads the trigger file of a directory. It must be closed.
func Open(cfg Config) (*Source, error) {
	root, err := input.Dir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	s := &Source{root: root}
	if err := s.read(cfg); err != nil {
		root.Close()
		return nil, err
	}
	return s, nil
}

func (s *Source) read(cfg Config) error {
	call, err := argo.NewCall(cfg.Getenv, s3source.Parameters())
	if err != nil {
		return err
	}
	file := filepath.Join(cfg.Dir, triggerfile.Name)
	t, err := s3source.ReadTrigger(call, cfg.Dir, tree.FS(func(string) ([]byte, error) { return readTrigger(s.root, file) }))
	s.sources, s.config = t.Sources, s3source.Config{Open: cfg.Open, Git: s.root.FS(), Policy: cfg.Policy, App: call, File: t.File}
	return err
}

func readTrigger(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(triggerfile.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, strict.MaxBytes+1))
	if err != nil {
		return nil, problem.Path(err)
	}
	return data, nil
}

// Close closes the directory.
func (s *Source) Close() error { return s.root.Close() }

// Call returns the call of Argo CD.
func (s *Source) Call() argo.Call { return s.config.App }

// Fetch reads all sources.
func (s *Source) Fetch(ctx context.Context) ([]s3source.Fetched, error) {
	return s.config.Fetch(ctx, s.sources)
}

// Warm reads all sources into the cache, and says how much that was.
func (s *Source) Warm(ctx context.Context, talk io.Writer) error {
	fetched, err := s.Fetch(ctx)
	if err != nil {
		return err
	}
	for _, f := range fetched {
		st := f.Snapshot.Stats
		fmt.Fprintf(talk, "%s: %d of %d files, %d downloaded, %d from the cache\n", f.Source.URL(), len(f.Snapshot.Files),
			len(f.Snapshot.Names), st.Gets, st.Cached)
	}
	return nil
}

// Objects reads all sources and renders them. The answer of a project's application is checked by the policy, with Argo CD's namespace and
// the projects of administrators.
func (s *Source) Objects(ctx context.Context, argocd string, admins []string) (objects []manifest.Object, warnings []string, err error) {
	fetched, err := s.Fetch(ctx)
	if err != nil {
		return nil, nil, err
	}
	docs, err := render(ctx, s.config, fetched)
	if err != nil {
		return nil, nil, err
	}
	objects = manifest.Objects(docs)
	// Without a project, the user runs the command, and no policy applies.
	if call := s.config.App; call.Project != "" {
		warnings, err = s.config.Policy.Answer(policy.ParentOf(call, argocd, admins), call.Namespace, objects)
	}
	return objects, warnings, err
}

// render returns at the end of ctx. A rendering that does not end runs on in the background.
func render(ctx context.Context, c s3source.Config, fetched []s3source.Fetched) ([]manifest.Document, error) {
	type result struct {
		docs []manifest.Document
		err  error
	}
	done := make(chan result, 1)
	go func() {
		docs, err := c.Render(ctx, fetched)
		done <- result{docs, err}
	}()
	select {
	case r := <-done:
		return r.docs, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: a chart or a Kustomization takes too long to render: %w", c.File, context.Cause(ctx))
	}
}
