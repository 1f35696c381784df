package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"sync"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/settings"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/tree"
)

// located is a document, the repository that it is in, and the set that has generated it.
type located struct {
	manifest.Document
	repository string
	origin     string
	set        *expanded // if it is a set
	pinned     bool      // its parent gives it a commit
}

func unlocated(docs []manifest.Document) []located {
	out := make([]located, len(docs))
	for i, d := range docs {
		out[i] = located{Document: d}
	}
	return out
}

// rendered is the rendered content of an Application's sources.
type rendered struct {
	sources  []Source
	docs     []located
	findings []found
	broken   string
	values   map[string]any // of Argo CD's own chart, if that is missing
	version  string         // of Argo CD, if a base of its own repository is missing

	namespace string // Argo CD's
}

type found struct {
	rule    Rule
	at      manifest.Position // in a file, if that is known
	message string
	field   string          // of the source
	topic   generator.Topic // of a warning about a set
}

func (r *rendered) find(rule Rule, p source.Problem) {
	r.findings = append(r.findings, found{rule, p.At, p.Text, p.Field, p.Topic})
}

// prepare begins to render the sources of all Applications among documents, several at a time. content finds them ready.
func (l *loader) prepare(app *Application, docs []located, spec map[string]any) {
	if !l.local(spec) {
		return
	}
	for _, d := range docs {
		if argo.IsApplication(d.Object) {
			l.begin(app.in(d.Document))
		}
		if d.set != nil {
			for _, child := range d.set.apps {
				l.begin(child)
			}
		}
	}
}

// begin renders the sources of an Application in the background.
func (l *loader) begin(d manifest.Document) {
	app, spec := l.newApplication(d, ""), manifest.Map(d.Object, "spec")
	id := reflect.ValueOf(spec).Pointer()
	if l.known[app.Ref] != nil || spec == nil || l.ready[id] != nil || len(l.ready) > maxApplications {
		return
	}
	if l.ready == nil {
		l.ready = map[uintptr]func() rendered{}
	}
	once := sync.OnceValue(func() rendered { return l.sources(app, spec) })
	l.ready[id] = once
	l.ahead.Go(func() { once() })
}

// content returns the rendered content of an Application's sources, which may have been rendered ahead.
func (l *loader) content(app *Application, spec map[string]any) rendered {
	id := reflect.ValueOf(spec).Pointer()
	if ready := l.ready[id]; ready != nil {
		delete(l.ready, id)
		return ready()
	}
	return l.sources(app, spec)
}

// sources renders the sources of an Application. It changes nothing of the loader.
func (l *loader) sources(app *Application, spec map[string]any) rendered {
	return l.cfg.Cache.cached(l.key(app, spec), func() rendered { return l.renderSources(app, spec) })
}

func (l *loader) renderSources(app *Application, spec map[string]any) rendered {
	out := rendered{namespace: l.cfg.Namespace}
	list := argo.Deployed(manifest.Object{"spec": spec})
	if len(list) == 0 {
		out.broken = "it has no source"
		out.find(RuleApplicationInvalid, source.Problem{Text: "it has no source"})
		return out
	}
	refs := l.cfg.Loader.Refs(l.ctx, list)
	for _, s := range list {
		o := newSource(s)
		if manifest.String(s, "ref") != "" && o.Path == "" && o.Chart == "" {
			o.Kind = source.Values
			out.sources = append(out.sources, o)
			continue
		}
		result := l.source(app, spec, s, refs)
		o.Kind, o.Verdict, o.Inputs, o.mentions = result.Kind, result.Verdict, result.Inputs, result.Mentions
		o.Sets = result.Sets
		if o.Kind == source.Kustomize {
			o.Unlisted, o.Component = l.beside(s, result)
		}
		for _, p := range result.Problems {
			out.problem(&o, p)
		}
		for i, d := range result.Documents {
			out.docs = append(out.docs, located{Document: d, repository: o.Repository, pinned: i < len(result.Pinned) && result.Pinned[i]})
		}
		out.sources = append(out.sources, o)
	}
	// Argo CD deploys nothing if one source fails.
	if out.broken != "" {
		out.docs = nil
	}
	return out
}

// problem notes a problem of a source.
func (r *rendered) problem(s *Source, p source.Problem) {
	p.At.Repository = s.Git()
	switch p.Class {
	case source.Failure:
		r.broken, s.Unknown = cmp.Or(r.broken, p.Text), cmp.Or(s.Unknown, p.Text)
		r.find(RuleSourceBroken, p)
	case source.Missing:
		s.Unknown = cmp.Or(s.Unknown, p.Text)
		s.hides = s.hides || !r.leaf(p)
		if p.Chart == argoChart {
			r.values = p.Values
		}
		r.version = cmp.Or(r.version, settings.VersionOfBase(p.Text))
		rule := RuleSourceUnknown
		if s.Verdict == source.Partly {
			rule = RuleSourcePartly
		}
		r.find(rule, p)
	case source.Ignored:
		r.find(RuleFieldIgnored, p)
	case source.Lenient:
		r.find(lenientRule(p.Topic), p)
	case source.Deprecated:
		s.Deprecated = append(s.Deprecated, p.Text)
	}
}

// argoChart is Argo CD's own chart.
const argoChart = "argo-cd"

// leaf reports whether the missing part cannot have Applications: a chart that is known to have none, or a chart for another namespace than
// Argo CD's.
func (r *rendered) leaf(p source.Problem) bool {
	known := []string{argoChart, "argo-rollouts", "argo-workflows", "argo-events", "argocd-image-updater"}
	if text, err := json.Marshal(p.Values); err != nil || source.Mentions(text) {
		return false // extraObjects can be Applications
	}
	return slices.Contains(known, p.Chart) || p.Chart != "" && p.Namespace != "" && p.Namespace != r.namespace
}

// source renders one source: by our own plugins, or as Argo CD does.
func (l *loader) source(app *Application, spec, s map[string]any, refs map[string]source.Repository) *source.Result {
	plugin := manifest.Map(s, "plugin")
	name := manifest.String(plugin, "name")
	appSet, s3 := argo.IsPlugin(name, argo.PluginAppSet), argo.IsPlugin(name, argo.PluginS3)
	about := source.Application{
		Name: app.Instance(l.cfg.Namespace), Namespace: manifest.String(spec, "destination", "namespace"), Project: app.Project,
		Several: argo.HasList(spec),
	}
	given, err := l.parameters(s)
	switch {
	case err != nil:
		return failed(source.AppSet, err)
	case appSet && given.Spec != "":
		docs, err := manifest.Decode("parameter spec of "+app.Name, []byte(given.Spec))
		if err != nil {
			return failed(source.AppSet, err)
		}
		return l.expand(app, docs, s)
	case s3 && argo.PluginParameter(plugin, "source") != "":
		return l.s3(about, "parameter source of "+app.Name, []byte(argo.PluginParameter(plugin, "source")), manifest.String(s, "path"),
			tree.Of(nil))
	case appSet:
		return l.folder(app, about, s, given.Recurse)
	case s3 || plugin == nil && l.discovers(s):
		if r := l.trigger(about, s, s3); r != nil {
			return r
		}
		if s3 {
			return failed(source.S3, fmt.Errorf("%s: there is no such file", path.Join(manifest.String(s, "path"), triggerfile.Name)))
		}
	}
	loader := l.cfg.Loader
	if kind, ok := l.cfg.Plugins[name]; ok && plugin != nil {
		// Argo CD's settings of Kustomize are not the plugin's.
		loader.BuildOptions, loader.KustomizeVersions, loader.Tool = nil, nil, kind
	}
	result := loader.Load(l.ctx, about, s, refs)
	inRepository(result, s)
	if l.cfg.Sets == SetsByPlugin && slices.ContainsFunc(result.Documents, func(d manifest.Document) bool {
		return argo.IsApplicationSet(d.Object)
	}) {
		return l.expandResult(app, result, s)
	}
	return result
}

// failed is a source that Argo CD cannot render, either.
func failed(kind source.Kind, err error) *source.Result {
	r := &source.Result{Kind: kind, Verdict: source.Broken}
	for _, e := range problem.All(err) {
		r.Problems = append(r.Problems, source.NewProblem(source.Failure, e))
	}
	return r
}

// missing is a source that is not available here.
func missing(kind source.Kind, err error) *source.Result {
	r := &source.Result{Kind: kind, Verdict: source.Unknown}
	for _, e := range problem.All(err) {
		r.Problems = append(r.Problems, source.NewProblem(source.Missing, e))
	}
	return r
}

// folder renders a directory as the plugin appset does.
func (l *loader) folder(app *Application, about source.Application, s map[string]any, recurse bool) *source.Result {
	plain := map[string]any{}
	for k, v := range s {
		if k != "plugin" {
			plain[k] = v
		}
	}
	if recurse {
		plain["directory"] = map[string]any{"recurse": true}
		if kind := l.detect(s); kind != source.Directory {
			delete(plain, "directory")
		}
	}
	result := l.cfg.Loader.Load(l.ctx, about, plain, nil)
	inRepository(result, s)
	return l.expandResult(app, result, s)
}

// detect returns the kind of a source's directory.
func (l *loader) detect(s map[string]any) source.Kind {
	repo, err := l.cfg.Loader.Open(l.ctx, manifest.String(s, "repoURL"), cmp.Or(manifest.String(s, "targetRevision"), "HEAD"))
	if err != nil {
		return source.Directory
	}
	return source.Detect(repo.View.Names(path.Clean(cmp.Or(manifest.String(s, "path"), "."))))
}

// discovers reports whether Argo CD asks plugins about a source that names none.
func (l *loader) discovers(s map[string]any) bool {
	return s["helm"] == nil && s["kustomize"] == nil && s["directory"] == nil && manifest.String(s, "chart") == ""
}

// expandResult renders the sets of a directory, as the plugin appset does: only if everything in it is known.
func (l *loader) expandResult(app *Application, result *source.Result, s map[string]any) *source.Result {
	if result.Verdict != source.Known {
		result.Kind = source.AppSet
		return result
	}
	out := l.expand(app, result.Documents, s)
	out.Inputs, out.Problems = result.Inputs, append(result.Problems, out.Problems...)
	return out
}

// expand replaces sets by their Applications as the plugin appset does.
func (l *loader) expand(app *Application, docs []manifest.Document, s map[string]any) *source.Result {
	if l.cfg.Sets == SetsByController {
		return &source.Result{Kind: source.AppSet, Documents: named(app.Name, docs)}
	}
	given, _ := l.parameters(s) // wrong ones have been refused
	x := appset.Expansion{Engine: l.strict, Namespace: app.Namespace, Keep: true, Deployed: true, Pinned: given.Pins()}
	if given.AllowEmpty {
		x.Engine = l.engine
	}
	res, err := x.Expand(l.ctx, docs)
	switch {
	case generator.OnlyUnknown(err):
		return missing(source.AppSet, err)
	case err != nil:
		return failed(source.AppSet, err)
	}
	out := &source.Result{Kind: source.AppSet, Sets: slices.DeleteFunc(slices.Clone(docs), func(d manifest.Document) bool {
		return !argo.IsApplicationSet(d.Object) && !argo.IsBareSpec(d.Object)
	})}
	for _, w := range res.Warnings {
		out.Problems = append(out.Problems, source.Problem{Class: source.Lenient, Text: w.Text, At: w.Set, Topic: w.Topic})
	}
	for i, o := range res.Objects {
		out.Documents = append(out.Documents, manifest.Document{Object: o, Position: app.Position})
		out.Pinned = append(out.Pinned, pins(s, o, res.Reads[i]))
	}
	return out
}

// named are the sets themselves, as the controller would have them.
func named(app string, docs []manifest.Document) []manifest.Document {
	var out []manifest.Document
	for i, d := range docs {
		if argo.IsBareSpec(d.Object) {
			name := app
			if i > 0 {
				name = fmt.Sprintf("%s-%d", name, i)
			}
			d.Object = manifest.Object{
				"apiVersion": argo.APIVersion, "kind": argo.KindApplicationSet,
				"metadata": map[string]any{"name": name}, "spec": d.Object,
			}
		}
		out = append(out, d)
	}
	return out
}

// Absent marks an error of Git as one about something that is not available here.
func Absent(err error) error {
	if err == nil {
		return nil
	}
	return generator.Unknown{Reason: err.Error()}
}

// absent reports whether an error is about something that is not available here.
func absent(err error) bool {
	return errors.As(err, new(generator.Unknown)) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
