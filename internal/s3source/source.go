// Package s3source turns a trigger file, s3-source.yaml in an application's directory, into the manifests that are stored
// in buckets.
//
// The answer is complete or an error: one source that cannot be read, or that has nothing in it, fails all, because objects that are
// missing from an answer are deleted from the cluster. The policy is checked before a bucket is read.
package s3source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Config configures how sources are read.
type Config struct {
	// Open returns a reader of a bucket.
	Open func(ctx context.Context, a triggerfile.Access) (*bucket.Reader, error)
	// Git is the directory of the trigger file.
	Git    fs.FS
	Policy *policy.Policy
	App    argo.Call
	// File is the name of the trigger file in messages; "" is its default name.
	File string
}

// Parameters of the s3 plugin.
func Parameters() []argo.Parameter {
	return []argo.Parameter{{
		Name: "source", Title: "Trigger file", Help: "content of " + triggerfile.Name +
			", for an application whose directory has no such file: bucket, path, …",
	}}
}

// Fetched is a source with its snapshot.
type Fetched struct {
	Source   triggerfile.Source
	Snapshot *bucket.Snapshot
}

// Fetch reads all sources, one after the other, and returns them in order. The limit of bytes is for all of them together.
func (c Config) Fetch(ctx context.Context, sources []triggerfile.Source) ([]Fetched, error) {
	// Check all sources first: a trigger file is read completely or not at all.
	if err := c.Check(sources); err != nil {
		return nil, err
	}
	var out []Fetched
	var errs []error
	var used int64
	for _, s := range sources {
		snapshot, err := c.read(ctx, s, used)
		errs = append(errs, c.wrap(s, err))
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			for _, f := range snapshot.Files {
				used += int64(len(f.Data))
			}
		}
		out = append(out, Fetched{s, snapshot})
	}
	return out, errors.Join(errs...)
}

// Check checks all sources against the policy, and reads nothing.
func (c Config) Check(sources []triggerfile.Source) error {
	var errs []error
	for _, s := range sources {
		errs = append(errs, c.allowed(s))
	}
	return errors.Join(errs...)
}

func (c Config) allowed(s triggerfile.Source) error {
	return c.wrap(s, c.Policy.S3(policy.S3Access{
		Project: c.App.Project, Bucket: s.Bucket, Path: s.Path,
		Endpoint: strings.TrimSuffix(s.Endpoint, "/"), Role: s.RoleARN,
	}))
}

// wrap says which source of several a problem is in.
func (c Config) wrap(s triggerfile.Source, err error) error {
	where := cmp.Or(c.File, triggerfile.Name)
	if s.Field() != "" {
		where += ": " + s.Field()
	}
	return problem.Wrap(err, func(err error) error { return fmt.Errorf("%s: %w", where, err) })
}

func (c Config) read(ctx context.Context, s triggerfile.Source, used int64) (*bucket.Snapshot, error) {
	shared, err := c.Open(ctx, s.Access)
	if err != nil {
		return nil, err
	}
	reader := *shared
	reader.Limits.Bytes -= used
	return reader.Read(ctx, request(s))
}

// request returns the bucket request of a source.
func request(s triggerfile.Source) bucket.Request {
	return bucket.Request{
		Path: s.Path, File: archive.Suffix(s.Path) != "" || tree.IsManifest(s.Path), Digest: s.Digest,
		Select: func(names []string) (func(string) bool, error) { return choose(s, names) },
	}
}

// choose selects the files of a directory to read: those that the patterns keep, and, for plain manifests, only those that can be
// manifests.
func choose(s triggerfile.Source, names []string) (func(string) bool, error) {
	kept := 0
	var filtered []string
	for _, name := range names {
		if s.Keeps(name) {
			filtered = append(filtered, name)
		}
	}
	keep := s.Keeps
	if kind(s, filtered) == triggerfile.Manifests {
		keep = func(name string) bool { return tree.IsManifest(name) && s.Keeps(name) }
	}
	for _, name := range filtered {
		if keep(name) {
			kept++
		}
	}
	if kept == 0 {
		return nil, &bucket.EmptyError{URL: s.URL(), Reason: nothing(s, len(names))}
	}
	return keep, nil
}

func nothing(s triggerfile.Source, n int) string {
	if len(s.Include)+len(s.Exclude) > 0 {
		return fmt.Sprintf("include and exclude leave nothing of its %d files", n)
	}
	return fmt.Sprintf("none of its %d files is a manifest (.yaml, .yml, .json)", n)
}

// kind is the type of a directory: the one in the trigger file, or the one that Argo CD would detect.
func kind(s triggerfile.Source, names []string) string {
	if s.Type != "" && s.Type != triggerfile.Archive {
		return s.Type
	}
	switch source.Detect(slices.Sorted(slices.Values(names))) {
	case source.Helm:
		return triggerfile.Helm
	case source.Kustomize:
		return triggerfile.Kustomize
	default:
		return triggerfile.Manifests
	}
}

// Generate reads all sources and returns their objects, in the order of the sources.
func (c Config) Generate(ctx context.Context, sources []triggerfile.Source) ([]manifest.Document, error) {
	fetched, err := c.Fetch(ctx, sources)
	if err != nil {
		return nil, err
	}
	return c.Render(ctx, fetched)
}

// Render returns the objects of fetched sources. A chart's template that does not end cannot be stopped.
func (c Config) Render(ctx context.Context, fetched []Fetched) ([]manifest.Document, error) {
	var docs []manifest.Document
	var errs []error
	for _, f := range fetched {
		more, err := c.render(ctx, f)
		if err == nil && len(more) == 0 {
			err = &bucket.EmptyError{URL: f.Source.URL(), Reason: "there are no Kubernetes objects in it, so the answer would be empty"}
		}
		errs = append(errs, c.wrap(f.Source, err))
		docs = append(docs, more...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return docs, nil
}

func (c Config) render(ctx context.Context, f Fetched) ([]manifest.Document, error) {
	s := f.Source
	files, url := f.Snapshot.Files, s.URL().Join
	if f.Snapshot.Single {
		key := s.URL().String()
		url = func(string) string { return key }
		if archive.Suffix(s.Path) != "" {
			unpacked, err := archive.Extract(s.Path, files[0].Data, archive.DefaultLimits)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			files, url = unpack(s, unpacked), func(name string) string { return key + ": " + name }
			if len(files) == 0 {
				return nil, &bucket.EmptyError{URL: s.URL(), Reason: nothing(s, len(unpacked))}
			}
		} else if s.Type == triggerfile.Helm || s.Type == triggerfile.Kustomize {
			return nil, fmt.Errorf("%s: type is %s, but this is one manifest", key, s.Type)
		}
	}
	return c.documents(ctx, s, kind(s, tree.Names(files)), files, url)
}

// documents renders files by the rules of Git directories, and strictly: they were made for this.
func (c Config) documents(ctx context.Context, s triggerfile.Source, kind string, files []tree.File,
	url func(string) string,
) ([]manifest.Document, error) {
	if kind == triggerfile.Manifests {
		if s.Helm != nil {
			return nil, fmt.Errorf("%s: helm is set, but there is no Chart.yaml", s.URL())
		}
		return manifests(ctx, files, url)
	}
	if err := tree.CheckNames(files, kind, url); err != nil {
		return nil, err
	}
	r := source.Request{
		Application: source.Application{Name: c.App.App, Namespace: c.App.Namespace, Project: c.App.Project},
		Environment: source.Environment{KubeVersion: c.App.KubeVersion, APIVersions: c.App.APIVersions},
		Kind:        source.Kind(kind), Strict: true, URL: url, Spec: map[string]any{},
	}
	switch {
	case kind == triggerfile.Helm:
		spec, values, err := c.chart(s, files)
		if err != nil {
			return nil, err
		}
		r.Spec["helm"], r.Refs = spec, map[string]source.Repository{valuesRef: {View: tree.Of(values)}}
	case s.Helm != nil:
		return nil, fmt.Errorf("%s: helm is set, but there is no Chart.yaml", s.URL())
	}
	r.View = tree.Of(files)
	result := source.Render(ctx, r)
	return result.Documents, result.Err()
}

// manifests decodes manifests by the names of their keys, which need not be names of files.
func manifests(ctx context.Context, files []tree.File, url func(string) string) ([]manifest.Document, error) {
	var list []tree.File
	for _, f := range files {
		if tree.IsManifest(f.Name) {
			list = append(list, tree.File{Name: url(f.Name), Data: f.Data})
		}
	}
	docs, _, err := render.Plain(ctx, list, false)
	return docs, err
}

// unpack returns the files of an archive that the patterns keep, without a directory around all of them.
func unpack(s triggerfile.Source, files []tree.File) []tree.File {
	var kept []tree.File
	for _, f := range tree.Top(files) {
		if s.Keeps(f.Name) {
			kept = append(kept, f)
		}
	}
	return kept
}

// valuesRef is the prefix of the trigger file's value files in the source.
const valuesRef = "$values"

// chart collects the input of a chart: the helm part of a source, and value files.
func (c Config) chart(s triggerfile.Source, files []tree.File) (map[string]any, []tree.File, error) {
	h := s.Helm
	if h == nil {
		h = &triggerfile.Chart{}
	}
	out := map[string]any{"skipCrds": h.SkipCRDs || h.IncludeCRDs != nil && !*h.IncludeCRDs}
	for field, text := range map[string]string{"releaseName": h.ReleaseName, "namespace": h.Namespace} {
		if text != "" {
			out[field] = text
		}
	}
	var values []tree.File
	var names []any
	for i, name := range h.ValueFiles {
		data, err := c.valueFile(name, files)
		if err != nil {
			return nil, nil, fmt.Errorf("helm.valueFiles: %w", err)
		}
		file := fmt.Sprintf("%d/%s", i, path.Clean("/" + strings.TrimPrefix(name, triggerfile.GitPrefix))[1:])
		values, names = append(values, tree.File{Name: file, Data: data}), append(names, valuesRef+"/"+file)
	}
	if names != nil {
		out["valueFiles"] = names
	}
	if h.ValuesObject != nil {
		out["valuesObject"] = h.ValuesObject
	} else if h.Values != "" {
		out["values"] = h.Values
	}
	return out, values, nil
}

// valueFile finds a value file in the chart or beside the trigger file. In both, it is not clear which is meant.
func (c Config) valueFile(name string, files []tree.File) ([]byte, error) {
	beside, onlyBeside := strings.CutPrefix(name, triggerfile.GitPrefix)
	inGit, gitErr := readFile(c.Git, beside)
	inChart, ok := tree.Find(files, name)
	switch {
	case onlyBeside && gitErr != nil:
		return nil, fmt.Errorf("%s beside the trigger file: %w", beside, reason(gitErr))
	case onlyBeside:
		return inGit, nil
	case ok && gitErr == nil:
		return nil, fmt.Errorf("%s is in the chart and beside the trigger file; write %s%s for the latter, or rename it", name,
			triggerfile.GitPrefix, name)
	case ok:
		return inChart, nil
	case gitErr == nil:
		return inGit, nil
	case !errors.Is(gitErr, fs.ErrNotExist):
		return nil, fmt.Errorf("%s beside the trigger file: %w", name, reason(gitErr))
	default:
		return nil, fmt.Errorf("%s is neither in the chart nor beside the trigger file", name)
	}
}

// reason is the error without its path, which is one of this machine.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func readFile(dir fs.FS, name string) ([]byte, error) {
	if dir == nil {
		return nil, fs.ErrNotExist
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, manifest.MaxBytes+1))
	if err == nil && len(data) > manifest.MaxBytes {
		err = fmt.Errorf("over the limit of %d bytes", manifest.MaxBytes)
	}
	return data, err
}
