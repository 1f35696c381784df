package appsetplugin

import (
	"context"
	"io"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Evaluator evaluates what the authors of applications wrote: documents, templates, charts. It decides nothing, and may do its work in
// another process.
type Evaluator interface {
	// Expand reads the documents of an application, and replaces sets by their Applications. Warnings are there even if there is an error.
	Expand(ctx context.Context, e Evaluation) (*appset.Expanded, error)
	// Compare finds out whether Applications have the same content at two commits. It returns one answer for each pair.
	Compare(ctx context.Context, c Comparison) ([]Sums, error)
}

// Evaluation is an application to be evaluated.
type Evaluation struct {
	Call argo.Call
	// Dir is its directory in the repository.
	Dir string
	// Namespace is Argo CD's own.
	Namespace string
	Expansion appset.Expansion
	// Repository returns the repository, and Archive the same as Argo CD sent it; a nil Archive is none.
	Repository func(ctx context.Context) (*tree.View, error)
	Archive    func(ctx context.Context) (Archive, error)
	Doing      func(what string)
}

// Archive is a repository as a gzipped tar.
type Archive struct {
	io.ReaderAt
	Size int64
}

// Here evaluates in this process.
type Here struct{}

// Expand implements Evaluator.
func (Here) Expand(ctx context.Context, e Evaluation) (*appset.Expanded, error) {
	docs, warnings, err := e.documents(ctx)
	if err != nil {
		return &appset.Expanded{Warnings: generator.Warnings("", warnings...)}, err
	}
	e.Doing("generating Applications")
	out, err := e.Expansion.Expand(ctx, docs)
	out.Warnings = append(generator.Warnings("", warnings...), out.Warnings...)
	return out, err
}

// documents returns the documents of the parameter, or of the directory. An incomplete directory is an error.
func (e Evaluation) documents(ctx context.Context) ([]manifest.Document, []string, error) {
	r := e.Call
	given, err := ParseParameters(r.Parameter)
	if err != nil {
		return nil, nil, err
	}
	if given.Spec != "" {
		docs, err := manifest.Decode("parameter spec", []byte(given.Spec))
		return docs, nil, err
	}
	view, err := e.Repository(ctx)
	if err != nil {
		return nil, nil, err
	}
	e.Doing("rendering the application's directory")
	name := argo.Ref{Namespace: r.AppNamespace, Name: r.App}.Instance(e.Namespace)
	result := source.Render(ctx, source.Request{
		Application: source.Application{Name: name, Namespace: r.Namespace, Project: r.Project},
		Environment: source.Environment{KubeVersion: r.KubeVersion, APIVersions: r.APIVersions},
		Spec:        map[string]any{"repoURL": r.RepoURL, "path": e.Dir, "targetRevision": r.Target},
		Repository:  source.Repository{View: view, Commit: r.Revision}, Recurse: given.Recurse, Plugin: true,
	})
	var warnings []string
	for _, p := range result.Problems {
		if p.Class == source.Lenient || p.Class == source.Ignored {
			warnings = append(warnings, p.Text)
		}
	}
	return result.Documents, warnings, result.Err()
}

// Comparison is a comparison of contents of Applications.
type Comparison struct {
	KubeVersion string
	APIVersions []string
	// Pairs have the new and the current content of each Application.
	Pairs [][2]Content
	// Open opens a commit of a repository.
	Open Commits
}

// Content identifies the content that an Application has from a repository at a commit.
type Content struct {
	// URL is the repository as the Application names it, and Key identifies it.
	URL, Key, Commit string
	Application      source.Application
	// Sources are all of the Application's; those that are compared are at the commit.
	Sources []map[string]any
	// Sum identifies the content, if it is known already.
	Sum string
}

// Sums identify both contents of a pair, as far as they are known.
type Sums struct {
	Sum [2]string
	Err error
}

// Compare implements Evaluator.
func (Here) Compare(ctx context.Context, c Comparison) ([]Sums, error) {
	out := make([]Sums, len(c.Pairs))
	for i, pair := range c.Pairs {
		for j, content := range pair {
			out[i].Sum[j] = content.Sum
			if content.Sum == "" {
				out[i].Sum[j], out[i].Err = c.content(ctx, content)
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if out[i].Err != nil {
				break
			}
		}
	}
	return out, nil
}
