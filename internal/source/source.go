// Package source is the one way from the source of an Application to its manifests, by the rules of Argo CD 3.2: which tool a directory
// needs, what the tool is told, and which files it reads.
//
// Only what is reached is read. The answer has a verdict. What is not available here, such as a chart in a repository that cannot be
// reached, makes a source partly known or unknown, and is named; an error that Argo CD has, too, makes it broken. Nothing is run, and
// nothing is fetched but by the Remote of the request. Fields of a source that are not honoured are named.
package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Kind is what makes the manifests of a source.
type Kind string

// Kinds of sources.
const (
	Directory Kind = "directory"
	Kustomize Kind = "kustomize"
	Helm      Kind = "helm"
	Plugin    Kind = "plugin"
	AppSet    Kind = "appset" // our plugin
	S3        Kind = "s3"     // our plugin
	Values    Kind = "values" // for other sources: it deploys nothing itself
)

// Verdict says how much of a source is known.
type Verdict int

// Verdicts, from the best to the worst.
const (
	Known   Verdict = iota // everything that Argo CD would deploy
	Partly                 // what is missing is named, the rest is there
	Unknown                // nothing of it is available here
	Broken                 // Argo CD fails, too
)

func (v Verdict) String() string {
	return []string{"known", "partly known", "unknown", "broken"}[v]
}

// Application is what the tools are told about the Application of a source.
type Application struct {
	// Name is that of the Application, with its namespace and an underscore in front if that is not Argo CD's.
	Name string
	// Namespace is that of its destination.
	Namespace string
	Project   string
	// Several says that the Application has a list of sources, even if there is only one in it.
	Several bool
}

// release is the name of a Helm release.
func (a Application) release() string {
	if _, name, ok := strings.Cut(a.Name, "_"); ok {
		return name
	}
	return a.Name
}

// Environment is what is known besides the source. The zero Environment fetches nothing and knows no settings.
type Environment struct {
	// Remote fetches charts, bases and files. Nil fetches nothing.
	Remote render.Remote `json:"-"`
	// Foreign renders sources that are not the user's own, elsewhere, such as in a process with limits: those that were fetched, and those
	// for which something is fetched. Nil renders all sources here.
	Foreign func(ctx context.Context, r Request) *Result `json:"-"`
	// BuildOptions are kustomize.buildOptions of Argo CD's settings. Nil is not known: charts are rendered then.
	BuildOptions *string
	// KustomizeVersions are the versions of Kustomize that Argo CD's settings register. Nil is not known: a source may name any.
	KustomizeVersions []string
	// ValueFileSchemes are the schemes of URLs that value files may have. Nil are Argo CD's defaults, https and http.
	ValueFileSchemes []string
	// KubeVersion and APIVersions are those of the cluster.
	KubeVersion string
	APIVersions []string
	// Unbounded also evaluates Jsonnet, whose time and memory nothing bounds. It is for commands that people run.
	Unbounded bool
}

// Repository is one at a revision.
type Repository struct {
	View *tree.View `json:"-"`
	// Commit is what the revision stands for; "" if that is not known, as for a work tree.
	Commit string
	// Instead says that this is not the revision that was asked for, and why; "" is that it is.
	Instead string
	// Err is why Argo CD renders no source of an Application that has this one as a ref. Nil is no reason.
	Err error `json:"-"`
	// Ref is set for a source that others refer to.
	Ref Ref
}

// Ref is how a source that others refer to is named.
type Ref struct {
	URL, Revision string
	// Chart says that it is a chart.
	Chart bool
	// Missing is why it is not available, nil if it is.
	Missing error `json:"-"`
}

// Request asks for the manifests of a source. It can be encoded as JSON, except for what is a function, a repository's content, or an
// error.
type Request struct {
	Application
	Environment
	// Spec is the source, as the Application has it.
	Spec map[string]any `json:"-"`
	// Repository is that of the source, or the files of its chart.
	Repository
	// Refs are the sources of the Application that have a ref, by "$" and its name. One without a View is not available.
	Refs map[string]Repository `json:"-"`
	// Kind forces a tool; "" is as Argo CD finds out.
	Kind Kind
	// Recurse looks into the subdirectories of a plain directory.
	Recurse bool
	// Strict is for what is ours: it refuses incomplete objects and equal keys, and passes over nothing.
	Strict bool
	// Plugin is for our own plugins: Argo CD has checked the links of the repository before, and the path of the source may be a link.
	Plugin bool
	// URL returns what a file is called in messages; nil is its name.
	URL func(name string) string `json:"-"`
}

// Input is a file that a source is made of.
type Input struct {
	// Ref is "" for the repository of the source, and "$name" for that of another.
	Ref, Path string
}

// Result is what a source becomes.
type Result struct {
	Kind      Kind
	Documents []manifest.Document
	Verdict   Verdict
	Problems  []Problem
	// Inputs are the files that were read, in order.
	Inputs []Input
	// Mentions says of a source that is not known completely that what is there names Applications or sets.
	Mentions bool
	// Pinned says of each document of our plugin appset whether it is an Application that gets a commit in the place of its branch. Nil is
	// none.
	Pinned []bool
	// Sets are the ApplicationSets that our plugin appset has rendered.
	Sets []manifest.Document
}

// Err is why a source is not known, nil if it is.
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

// job is a request at work.
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
			j.note(Missing, "the plugin %q renders it, which is not known here; say what it does with --plugin", name)
		} else {
			j.note(Missing, "a plugin that Argo CD finds by its discovery renders it, which is not known here")
		}
		return nil
	default:
		return j.directory()
	}
}

// NoDirectory ends the problem of a source whose path is not there.
const NoDirectory = "there is no such directory"

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
		return fmt.Errorf("%s: %s", j.dir, NoDirectory)
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
