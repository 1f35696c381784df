package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Remote fetches remote content.
type Remote interface {
	render.Remote
	// Artifact returns the files of an artifact in an OCI registry.
	Artifact(ctx context.Context, url, revision string) ([]tree.File, error)
}

// Loader finds repositories and renders sources.
type Loader struct {
	// Open returns a repository at a revision; an error says why it is not available.
	Open func(ctx context.Context, url, revision string) (Repository, error)
	// Remote fetches charts and more. Nil fetches nothing.
	Remote Remote
	// Tool renders sources that name a plugin, in its place; "" leaves them unknown.
	Tool Kind
	Environment
}

// Refs opens the sources of an Application that have a ref. An unavailable one has no View. An Application with a single source has no
// refs, even if that has a ref.
func (l Loader) Refs(ctx context.Context, sources []map[string]any) map[string]Repository {
	refs := map[string]Repository{}
	if len(sources) < 2 {
		return refs
	}
	invalid := validRefs(sources)
	for _, s := range sources {
		ref := manifest.String(s, "ref")
		if ref == "" {
			continue
		}
		repo := Repository{Err: invalid, Ref: Ref{Chart: manifest.String(s, "chart") != ""}}
		if invalid == nil && !repo.Ref.Chart {
			opened, err := l.Open(ctx, manifest.String(s, "repoURL"), argo.TargetRevision(s))
			if err != nil {
				opened.Ref.Missing = err
			}
			repo = opened
		}
		repo.Ref.URL, repo.Ref.Revision = giturl.Normal(manifest.String(s, "repoURL")), argo.TargetRevision(s)
		refs["$"+ref] = repo
	}
	return refs
}

// Load renders one source of an Application.
func (l Loader) Load(ctx context.Context, app Application, spec map[string]any, refs map[string]Repository) *Result {
	if l.Tool != "" {
		spec = maps.Clone(spec)
		delete(spec, "plugin")
	}
	r := Request{Application: app, Environment: l.Environment, Spec: spec, Refs: refs, Kind: l.Tool}
	if l.Remote != nil {
		r.Remote = l.Remote
	}
	chart, url := manifest.String(spec, "chart"), manifest.String(spec, "repoURL")
	switch {
	case chart != "":
		files, err := l.chart(ctx, url, chart, manifest.String(spec, "targetRevision"))
		if err != nil {
			return withoutChart(ctx, r, chart, err)
		}
		r.View, r.Commit = fetched(files), manifest.String(spec, "targetRevision")
		r.URL = func(name string) string { return "chart " + chart + ": " + name }
	case strings.HasPrefix(url, "oci://"):
		files, err := l.artifact(ctx, url, manifest.String(spec, "targetRevision"))
		if err != nil {
			return &Result{Kind: Directory, Verdict: Unknown, Problems: []Problem{NewProblem(Missing, oneLine(err))}}
		}
		r.View = fetched(files)
		r.URL = func(name string) string { return giturl.Redact(url) + ": " + name }
	default:
		repo, err := l.Open(ctx, url, argo.TargetRevision(spec))
		if err != nil {
			// for all that is known
			return &Result{
				Kind: Directory, Verdict: Unknown, Problems: []Problem{NewProblem(Missing, oneLine(err))},
				Mentions: true,
			}
		}
		r.Repository = repo
	}
	return Render(ctx, r).instead(r.Instead)
}

// instead marks the result as that of another revision than the requested one: it is not certain.
func (r *Result) instead(why string) *Result {
	if why == "" {
		return r
	}
	for i, p := range r.Problems {
		if p.Class == Failure {
			r.Problems[i].Class = Missing
		}
	}
	r.Problems = append([]Problem{{Class: Missing, Text: why}}, r.Problems...)
	r.Verdict = Partly
	if len(r.Documents) == 0 {
		r.Verdict = Unknown
	}
	return r
}

// fetched is a view of files that were fetched.
func fetched(files []tree.File) *tree.View {
	v := tree.Of(files)
	v.Foreign = true
	return v
}

func (l Loader) chart(ctx context.Context, url, chart, version string) ([]tree.File, error) {
	if l.Remote == nil {
		return nil, fmt.Errorf("the chart %s %s of %s is not available here: nothing is fetched", chart, version, giturl.Redact(url))
	}
	return l.Remote.Chart(ctx, url, chart, version)
}

func (l Loader) artifact(ctx context.Context, url, revision string) ([]tree.File, error) {
	if l.Remote == nil {
		return nil, errors.New(giturl.Redact(url) + " is not available here: nothing is fetched")
	}
	return l.Remote.Artifact(ctx, url, revision)
}

// withoutChart is the result of a source whose chart is not available. Its value files are read nevertheless: a missing one is an error.
func withoutChart(ctx context.Context, r Request, chart string, why error) *Result {
	r.View = tree.Of(nil)
	j := newJob(ctx, r)
	j.dir, j.result.Kind = ".", Helm
	j.result.Problems = []Problem{{Class: Missing, Text: oneLine(why).Error(), Chart: chart, Namespace: j.namespace()}}
	j.unhonoured(Helm)
	// The files of the chart itself are unknown.
	helm := maps.Clone(manifest.Map(r.Spec, "helm"))
	var elsewhere []any
	for _, name := range manifest.Strings(helm["valueFiles"]) {
		first, _, _ := strings.Cut(name, "/")
		if _, ok := r.Refs[first]; ok {
			elsewhere = append(elsewhere, name)
		}
	}
	delete(helm, "fileParameters")
	if helm != nil {
		helm["valueFiles"] = elsewhere
	}
	j.spec = map[string]any{"helm": helm}
	err := j.checkRefs()
	if err == nil {
		var options render.Chart
		if options, err = j.chart(); err == nil {
			j.result.Problems[0].Values, err = render.Values(nil, options)
		}
	}
	if err != nil {
		j.fail(err)
	}
	return j.done()
}
