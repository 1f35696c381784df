// Package source is the one way from the source of an Application to its manifests, by the rules of Argo CD 3.2: which tool a directory
// needs, with which options the tool runs, and which files it reads.
//
// Only needed files are read. The answer has a verdict. Unavailable parts, such as a chart in an unreachable repository, make a source
// partly known or unknown, and are named; an error that Argo CD has, too, makes it broken. Nothing is run, and nothing is fetched but by
// the Remote of the request. Fields of a source that are not honoured are named.
package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Kind is the tool that renders a source.
type Kind string

// Kinds of sources.
const (
	Directory Kind = "directory"
	Kustomize Kind = "kustomize"
	Helm      Kind = "helm"
	Plugin    Kind = "plugin"
	AppSet    Kind = "appset" // our plugin
	S3        Kind = "s3"     // our plugin
	Values    Kind = "values" // value files for other sources: it deploys nothing itself
)

// Verdict says how much of a source is known.
type Verdict int

// Verdicts, from the best to the worst.
const (
	Known   Verdict = iota // everything that Argo CD would deploy
	Partly                 // missing parts are named, the rest is there
	Unknown                // no part is available here
	Broken                 // Argo CD fails, too
)

func (v Verdict) String() string {
	return []string{"known", "partly known", "unknown", "broken"}[v]
}

// Application has the fields of a source's Application that tools get.
type Application struct {
	// Name is the name of the Application, as argo.Ref.Instance writes it.
	Name string
	// Namespace is the namespace of its destination.
	Namespace string
	Project   string
	// Several says that the Application has a list of sources, even if there is only one in it.
	Several bool
}

// release is the name of a Helm release.
func (a Application) release() string { return argo.Instance(a.Name, "").Name }

// Environment has the settings and the cluster's facts. The zero Environment fetches nothing and knows no settings.
type Environment struct {
	// Remote fetches charts, bases and files. Nil fetches nothing.
	Remote render.Remote `json:"-"`
	// Foreign renders sources that are not the user's own, elsewhere, such as in a process with limits: those that were fetched, and those
	// for which something is fetched. Nil renders all sources here.
	Foreign func(ctx context.Context, r Request) *Result `json:"-"`
	// BuildOptions are kustomize.buildOptions of Argo CD's settings. Nil is unknown: charts are rendered then.
	BuildOptions *string
	// KustomizeVersions are the versions of Kustomize that Argo CD's settings register. Nil is unknown: a source may name any.
	KustomizeVersions []string
	// ValueFileSchemes are the schemes of URLs that value files may have. Nil are Argo CD's defaults, https and http.
	ValueFileSchemes []string
	// KubeVersion and APIVersions are the cluster's.
	KubeVersion string
	APIVersions []string
	// Unbounded also evaluates Jsonnet, without limits of time and memory. It is for commands that people run.
	Unbounded bool
}

// Repository is a repository at a revision.
type Repository struct {
	View *tree.View `json:"-"`
	// Commit is the commit of the revision; "" if it is unknown, as for a work tree.
	Commit string
	// Instead says why this is not the requested revision; "" if it is.
	Instead string
	// Err is why Argo CD renders no source of an Application with this ref. Nil if it does.
	Err error `json:"-"`
	// Ref is set for a source with a ref.
	Ref Ref
}

// Ref identifies a source with a ref.
type Ref struct {
	URL, Revision string
	// Chart says that the source is a chart.
	Chart bool
	// Missing is why it is not available, nil if it is.
	Missing error `json:"-"`
}

// Request is a request for the manifests of a source. It can be encoded as JSON, without functions, contents of repositories and errors.
type Request struct {
	Application
	Environment
	// Spec is the source, as the Application has it.
	Spec map[string]any `json:"-"`
	// Repository is the repository of the source, or the files of its chart.
	Repository
	// Refs are the sources of the Application that have a ref, by "$" and its name. One without a View is not available.
	Refs map[string]Repository `json:"-"`
	// Kind forces a tool; "" detects it as Argo CD does.
	Kind Kind
	// Recurse looks into the subdirectories of a plain directory.
	Recurse bool
	// Strict refuses incomplete objects, duplicate keys and charts without their dependencies. The plugin s3 uses it.
	Strict bool
	// Plugin is for our own plugins: Argo CD has checked the links of the repository before, and the path of the source may be a link.
	Plugin bool
	// URL returns the name of a file in messages; nil uses its path.
	URL func(name string) string `json:"-"`
}

// Input is a file that was read to render a source.
type Input struct {
	// Ref is "" for the repository of the source, and "$name" for another source's.
	Ref, Path string
}

// Result is the result of rendering a source.
type Result struct {
	Kind      Kind
	Documents []manifest.Document
	Verdict   Verdict
	Problems  []Problem
	// Inputs are the files that were read, in order.
	Inputs []Input
	// Mentions is set if the known part of an incomplete source mentions Applications or sets, or could not be searched.
	Mentions bool
	// Pinned reports for each document of our plugin appset whether it is an Application with a commit in the place of its branch. Nil
	// means none.
	Pinned []bool
	// Sets are the ApplicationSets that our plugin appset has rendered.
	Sets []manifest.Document
}

// Err is why a source is not known completely, nil if it is.
func (r *Result) Err() error {
	if r.Verdict == Known {
		return nil
	}
	var errs []error
	for _, p := range r.Problems {
		if p.Class == Failure || r.Verdict != Broken && (p.Class == Missing || p.Class == Ignored) {
			errs = append(errs, errors.New(p.Text))
		}
	}
	return errors.Join(errs...)
}

// job is the state of a request.
type job struct {
	Request
	ctx    context.Context
	dir    string // of the source
	linked string // the path of the source, if it is a link
	spec   map[string]any
	env    func(string) string
	result *Result
	inputs map[Input]bool
	// fetched are the repositories that Argo CD has for value files, by their normalized URLs.
	fetched map[string]bool
}

// Render makes the manifests of a source.
func Render(ctx context.Context, r Request) *Result {
	if r.Foreign != nil {
		return renderOwn(ctx, r)
	}
	j := newJob(ctx, r)
	if err := j.render(); err != nil {
		j.fail(err)
	}
	return j.done()
}

func newJob(ctx context.Context, r Request) *job {
	if r.URL == nil {
		r.URL = func(name string) string { return name }
	}
	j := &job{Request: r, ctx: ctx, spec: r.Spec, result: &Result{}, inputs: map[Input]bool{}, fetched: map[string]bool{}}
	j.env = j.environment()
	return j
}

// done returns the result.
func (j *job) done() *Result {
	if err := j.ctx.Err(); err != nil {
		j.result.Documents, j.result.Verdict, j.result.Problems = nil, Unknown, []Problem{{Class: Missing, Text: err.Error()}}
		return j.result
	}
	j.judge()
	if v := j.result.Verdict; v == Unknown || v == Partly {
		j.result.Mentions = j.mentions()
	}
	for input := range j.inputs {
		j.result.Inputs = append(j.result.Inputs, input)
	}
	slices.SortFunc(j.result.Inputs, func(a, b Input) int { return cmp.Or(cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.Path, b.Path)) })
	return j.result
}

func (j *job) render() error {
	if err := errors.Join(j.checkRefs(), j.checkLinks("", j.View)); err != nil {
		return err
	}
	if err := j.locate(); err != nil {
		return err
	}
	j.normalize()
	if err := j.override(); err != nil {
		return err
	}
	kind, err := j.kind()
	j.result.Kind = kind
	if err != nil {
		return err
	}
	j.unhonoured(kind)
	switch kind {
	case Helm:
		return j.helm()
	case Kustomize:
		return j.kustomize()
	case Plugin:
		if name := manifest.String(j.spec, "plugin", "name"); name != "" {
			j.note(Missing, "the plugin %q renders it, and Argosy does not know this plugin; if it renders as Kustomize, Helm or a plain "+
				"directory does, set --plugin %s=kustomize|helm|directory", name, name)
		} else {
			j.note(Missing, "a plugin that Argo CD finds by its discovery renders it, and Argosy does not know which; "+
				"name it in source.plugin.name")
		}
		return nil
	default:
		return j.directory()
	}
}

// errNoDirectory says that the path of a source does not exist.
var errNoDirectory = errors.New("there is no such directory")

// locate finds the directory of the source.
func (j *job) locate() error {
	name := manifest.String(j.spec, "path")
	if path.IsAbs(name) {
		return fmt.Errorf("%s: app path is absolute", name)
	}
	j.dir = path.Clean(cmp.Or(name, "."))
	if j.dir == ".." || strings.HasPrefix(j.dir, "../") {
		return fmt.Errorf("%s: app path outside root", name)
	}
	real, kind, err := j.View.Resolve(j.ctx, j.dir)
	switch {
	case err != nil:
		return err
	case kind == tree.None:
		return fmt.Errorf("%s: %w", j.dir, errNoDirectory)
	case kind == tree.Regular:
		return fmt.Errorf("%s: app path is not a directory", j.dir)
	}
	above, _, err := j.View.Resolve(j.ctx, path.Dir(j.dir))
	if err != nil {
		return err
	}
	if j.View.IsLink(path.Join(above, path.Base(j.dir))) && !j.Plugin {
		j.linked = j.dir
	}
	j.dir = real
	return nil
}

// read reads a file of the source's repository.
func (j *job) read(name string) ([]byte, error) {
	data, err := j.View.Read(j.ctx, name)
	if err == nil {
		j.used("", name)
	}
	return data, err
}

func (j *job) used(ref, name string) { j.inputs[Input{ref, name}] = true }
