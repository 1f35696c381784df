package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/tree"
)

// content is what the sources of an Application have.
type content struct {
	*loader
	app  *Application
	spec map[string]any
	refs map[string]Tree // of sources with a ref
}

// broken is an error that Argo CD has, too.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

// Absent marks an error as one about something that is not at hand here, but may well be for Argo CD.
func Absent(err error) error {
	if err == nil {
		return nil
	}
	return absent{err}
}

type absent struct{ error }

func (a absent) Unwrap() error { return a.error }

// certain makes an error one that Argo CD has, too, if it is not about something absent.
func certain(err error) error {
	if err == nil || errors.As(err, &absent{}) {
		return err
	}
	return broken{err}
}

// located is a document and the repository that it is in.
type located struct {
	manifest.Document
	repository string
}

// remote reports whether the Application deploys to another cluster than Argo CD's.
func (c *content) remote() bool {
	server, name := strings.TrimSuffix(manifest.String(c.spec, "destination", "server"), "/"), manifest.String(c.spec, "destination", "name")
	return server != "" && server != generator.InClusterServer || name != "" && name != "in-cluster"
}

// load returns the documents of all sources. What is not known is noted at its source.
func (c *content) load() []located {
	var sources []map[string]any
	for _, s := range argo.Sources(manifest.Object{"spec": c.spec}) {
		if len(s) > 0 {
			sources = append(sources, s)
		}
	}
	if len(sources) == 0 {
		c.find(c.app.Name, "%s: it has no source", c.app.position)
	}
	c.refs = map[string]Tree{}
	for _, s := range sources {
		if ref := manifest.String(s, "ref"); ref != "" {
			if t, err := c.open(s); err == nil {
				c.refs["$"+ref] = t
			}
		}
	}
	var docs []located
	for _, s := range sources {
		source := Source{Repository: manifest.String(s, "repoURL"), Revision: manifest.String(s, "targetRevision"), Path: manifest.String(s, "path"), Chart: manifest.String(s, "chart"), Spec: s}
		if manifest.String(s, "ref") != "" && source.Path == "" && source.Chart == "" {
			source.Kind = "values"
			c.app.Sources = append(c.app.Sources, source)
			continue
		}
		more, err := c.source(&source, s)
		if b := (broken{}); errors.As(err, &b) {
			c.app.Broken, err = cmp.Or(c.app.Broken, problem.All(b.error)[0].Error()), b.error
		}
		for i, e := range problem.All(err) {
			if i == 0 {
				source.Unknown = e.Error()
			}
			c.find(c.app.Name, "%v", e)
		}
		for _, d := range more {
			docs = append(docs, located{d, source.Repository})
		}
		c.app.Sources = append(c.app.Sources, source)
	}
	return docs
}

func (c *content) open(s map[string]any) (Tree, error) {
	t, err := c.cfg.Open(c.ctx, manifest.String(s, "repoURL"), cmp.Or(manifest.String(s, "targetRevision"), "HEAD"))
	return t, Absent(err)
}

// source returns the documents of one source.
func (c *content) source(source *Source, s map[string]any) ([]manifest.Document, error) {
	plugin := manifest.Map(s, "plugin")
	name := manifest.String(plugin, "name")
	switch {
	case source.Chart != "":
		source.Kind = "helm"
		return nil, fmt.Errorf("the chart %s is in a repository of charts, not at hand", source.Chart)
	case name == "appset" && parameter(plugin, "spec") != "":
		source.Kind = "appset"
		docs, err := manifest.Decode("parameter spec of "+c.app.Name, []byte(parameter(plugin, "spec")))
		if err != nil {
			return nil, certain(err)
		}
		return c.expand(docs, plugin)
	case name == "s3" && parameter(plugin, "source") != "":
		source.Kind = "s3"
		return c.s3("parameter source of "+c.app.Name, []byte(parameter(plugin, "source")), source.Path, nothing{})
	case plugin != nil && name != "appset" && name != "s3":
		source.Kind = "plugin"
		return nil, fmt.Errorf("it is made by the plugin %q, which is not known here", name)
	}
	t, err := c.open(s)
	if err != nil {
		return nil, err
	}
	docs, err := c.directory(source, s, t)
	if err != nil || name != "appset" && (c.cfg.Sets != SetsByPlugin || !slices.ContainsFunc(docs, func(d manifest.Document) bool { return argo.IsApplicationSet(d.Object) })) {
		return docs, err
	}
	source.Kind = "appset"
	return c.expand(docs, plugin)
}

// nothing is a repository of which nothing is needed.
type nothing struct{}

func (nothing) Select(context.Context, tree.Selection) ([]tree.File, error) { return nil, nil }

// parameter returns a parameter of a plugin.
func parameter(plugin map[string]any, name string) string {
	list, _ := plugin["parameters"].([]any)
	for _, p := range list {
		if m, _ := p.(map[string]any); manifest.String(m, "name") == name {
			return manifest.String(m, "string")
		}
	}
	return ""
}

// expand does what the plugin appset does.
func (c *content) expand(docs []manifest.Document, plugin map[string]any) ([]manifest.Document, error) {
	if c.cfg.Sets == SetsByController {
		return c.sets(docs), nil
	}
	engine := c.cfg.Engine
	if c.cfg.Strict != nil && parameter(plugin, "allow-empty") != "true" {
		engine = c.cfg.Strict
	}
	res, err := appset.Expansion{Engine: engine, Namespace: c.app.Namespace, Keep: true, Deployed: true}.Expand(c.ctx, docs)
	if err != nil {
		return nil, certain(err)
	}
	out := make([]manifest.Document, len(res.Objects))
	for i, o := range res.Objects {
		out[i] = manifest.Document{Object: o, Position: c.app.position}
	}
	return out, nil
}

// sets are the sets themselves, as the controller would have them.
func (c *content) sets(docs []manifest.Document) []manifest.Document {
	var out []manifest.Document
	for i, d := range docs {
		if argo.IsBareSpec(d.Object) {
			name := c.app.Name
			if i > 0 {
				name = fmt.Sprintf("%s-%d", name, i)
			}
			d.Object = manifest.Object{"apiVersion": argo.APIVersion, "kind": argo.KindApplicationSet, "metadata": map[string]any{"name": name}, "spec": d.Object}
		}
		out = append(out, d)
	}
	return out
}

// directory returns the documents of a directory, as Argo CD finds out what it is.
func (c *content) directory(source *Source, s map[string]any, t Tree) ([]manifest.Document, error) {
	dir := path.Clean(cmp.Or(source.Path, "."))
	top := tree.Selection{Dir: dir}
	top.Keep = func(name string) bool { return !strings.Contains(top.Relative(name), "/") }
	names, err := t.Select(c.ctx, top)
	if err == nil && len(names) == 0 {
		var below []tree.File
		if below, err = t.Select(c.ctx, tree.Selection{Dir: dir}); err == nil && len(below) == 0 && dir != "." {
			err = certain(fmt.Errorf("%s: there is no such directory", dir))
		}
	}
	if err != nil {
		return nil, err
	}
	var here []string
	for _, f := range names {
		here = append(here, top.Relative(f.Name))
	}
	trigger, hasTrigger := tree.Find(names, path.Join(dir, triggerfile.Name))
	switch kind := render.Detect(here); {
	case hasTrigger:
		source.Kind = "s3"
		return c.s3(path.Join(dir, triggerfile.Name), trigger, dir, t)
	case kind == render.Helm || s["helm"] != nil && s["directory"] == nil && kind != render.Kustomize:
		source.Kind = "helm"
		return c.helm(dir, s, t)
	case kind == render.Kustomize:
		source.Kind = "kustomize"
		if len(manifest.Map(s, "kustomize")) > 0 {
			c.find(c.app.Name, "what the Application itself says to Kustomize (spec.source.kustomize) is not planned")
		}
		files, err := t.Select(c.ctx, tree.Selection{Keep: tree.Safe, Links: true, MaxBytes: 4 << 20})
		if err != nil {
			return nil, err
		}
		return render.Directory(files, render.Options{Type: render.Kustomize, Dir: dir, LocalCharts: true})
	}
	source.Kind = "directory"
	return c.plain(dir, manifest.Map(s, "directory"), t)
}

// plain reads manifests.
func (c *content) plain(dir string, options map[string]any, t Tree) ([]manifest.Document, error) {
	recurse, _ := options["recurse"].(bool)
	include, err := triggerfile.Pattern(manifest.String(options, "include"))
	if err != nil {
		return nil, fmt.Errorf("directory.include: %w", err)
	}
	exclude, err := triggerfile.Pattern(manifest.String(options, "exclude"))
	if err != nil {
		return nil, fmt.Errorf("directory.exclude: %w", err)
	}
	wanted := tree.Selection{Dir: dir}
	jsonnet := ""
	wanted.Keep = func(name string) bool {
		rest := wanted.Relative(name)
		if !recurse && strings.Contains(rest, "/") || include != nil && !include(rest) || exclude != nil && exclude(rest) {
			return false
		}
		if strings.HasSuffix(rest, ".jsonnet") {
			jsonnet = name
		}
		return tree.IsManifest(rest)
	}
	files, err := t.Select(c.ctx, wanted)
	if err != nil {
		return nil, err
	}
	if jsonnet != "" {
		c.find(c.app.Name, "%s: Jsonnet is not supported here", jsonnet)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: there are no manifests in this directory", dir)
	}
	// One file after the other: a broken one is a finding, not the end.
	var docs []manifest.Document
	for _, f := range files {
		if render.Unrelated(f) {
			continue
		}
		more, err := render.Directory([]tree.File{f}, render.Options{Type: render.Manifests})
		for _, e := range problem.All(err) {
			c.find(c.app.Name, "%v; until that is mended, Argo CD deploys nothing of %s", e, c.app.Name)
			c.app.Broken = cmp.Or(c.app.Broken, e.Error())
		}
		docs = append(docs, more...)
	}
	return docs, nil
}

// helm renders a chart with the values that Argo CD gives it.
func (c *content) helm(dir string, s map[string]any, t Tree) ([]manifest.Document, error) {
	wanted := tree.Selection{Dir: dir, Links: true}
	files, err := t.Select(c.ctx, wanted)
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i].Name = wanted.Relative(files[i].Name)
	}
	h := manifest.Map(s, "helm")
	chart := render.Chart{ReleaseName: cmp.Or(manifest.String(h, "releaseName"), c.app.Name), Namespace: cmp.Or(manifest.String(h, "namespace"), manifest.String(c.spec, "destination", "namespace"))}
	chart.SkipCRDs, _ = h["skipCrds"].(bool)
	ignore, _ := h["ignoreMissingValueFiles"].(bool)
	list, _ := h["valueFiles"].([]any)
	for _, v := range list {
		name, _ := v.(string)
		file, err := c.valueFile(dir, name, t)
		if err != nil && ignore {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("helm.valueFiles: %w", err)
		}
		chart.ValueFiles = append(chart.ValueFiles, file)
	}
	if chart.Values = manifest.Map(h, "valuesObject"); chart.Values == nil && manifest.String(h, "values") != "" {
		v, err := manifest.Value([]byte(manifest.String(h, "values")))
		if err != nil {
			return nil, fmt.Errorf("helm.values: %w", err)
		}
		chart.Values, _ = v.(map[string]any)
	}
	parameters, _ := h["parameters"].([]any)
	for _, p := range parameters {
		m, _ := p.(map[string]any)
		force, _ := m["forceString"].(bool)
		chart.Set = append(chart.Set, render.Set{Name: manifest.String(m, "name"), Value: manifest.String(m, "value"), String: force})
	}
	return render.Directory(files, render.Options{Type: render.Helm, URL: func(name string) string { return path.Join(dir, name) }, Chart: chart})
}

// valueFile reads a value file: beside the chart, from the root of the repository, or of another source.
func (c *content) valueFile(dir, name string, t Tree) (tree.File, error) {
	full := path.Join(dir, name)
	switch ref, rest, _ := strings.Cut(name, "/"); {
	case strings.Contains(name, "://"):
		return tree.File{}, fmt.Errorf("%s is remote", name)
	case strings.HasPrefix(ref, "$"):
		if t = c.refs[ref]; t == nil {
			return tree.File{}, fmt.Errorf("%s: the source %s is not at hand", name, ref)
		}
		full = path.Clean(rest)
	case strings.HasPrefix(name, "/"):
		full = path.Clean(name)[1:]
	}
	files, err := t.Select(c.ctx, tree.Selection{Names: []string{full}})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: there is no such file", name)
	}
	if err != nil {
		return tree.File{}, err
	}
	return tree.File{Name: name, Data: files[0].Data}, nil
}
