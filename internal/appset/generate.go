package appset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// Config configures the rendering of sets.
type Config struct {
	// Namespace is the namespace of sets that name none. "" leaves the field out.
	Namespace string
	// Clusters are Argo CD's clusters. Nil is none.
	Clusters generator.Clusters
	// Git answers Git generators. Nil refuses them.
	Git generator.Repositories
	// APIs answers generators that ask hosts of repositories, plugins or the cluster. Nil makes their sets unknown.
	APIs generator.APIs
	// AllowEmpty allows a set to have no Applications.
	AllowEmpty bool
	// MaxSets bounds the parameter sets of one generator. Zero is generator.DefaultMaxSets.
	MaxSets int
	// Version is the version of Argo CD to render for. Zero is the newest.
	Version versions.Version
}

// ErrEmpty is the error for a set without Applications.
var ErrEmpty = errors.New("no Applications: the generators gave no parameters; an empty answer would delete the Applications that are " +
	"there; if that is intended, allow it (--allow-empty, or the plugin's parameter allow-empty)")

// Result is the result of a run.
type Result struct {
	// Applications has a list for each set, in the order of its generators and their parameter sets.
	Applications [][]manifest.Object
	// Reads has for each set what its Git generators have read. Nil is not known.
	Reads [][]Read
	// Warnings are lines about things that are ignored or look wrong.
	Warnings []generator.Warning
}

// Generate renders sets. If anything is wrong, there is an error with a line for each problem and no Applications.
func Generate(ctx context.Context, cfg Config, sets ...Set) (*Result, error) {
	res := &Result{}
	guard := newGuard()
	size := 0
	var errs []error
	for _, set := range sets {
		if set.Namespace == "" {
			set.Namespace = cfg.Namespace
		}
		g := &generation{ctx: ctx, cfg: cfg, set: set, guard: guard, size: &size}
		g.run()
		errs = append(errs, g.errs...)
		res.Applications = append(res.Applications, g.apps)
		res.Reads = append(res.Reads, g.reads)
		res.Warnings = append(res.Warnings, generator.In(set.String(), set.Position, g.warnings)...)
	}
	if len(errs) > 0 {
		return &Result{Warnings: res.Warnings}, errors.Join(errs...)
	}
	return res, nil
}

// generation is the rendering of one set.
type generation struct {
	ctx      context.Context
	cfg      Config
	set      Set
	guard    *guard
	size     *int // of the Applications of all sets, in bytes
	engine   *template.Engine
	base     *template.Tree // of spec.template
	patch    *template.Tree // of spec.templatePatch
	apps     []manifest.Object
	reads    []Read
	errs     []error
	warnings []generator.Warning
}

func (g *generation) fail(errs ...error) {
	for _, err := range problem.All(errors.Join(errs...)) {
		if g.full() {
			return
		}
		if g.errs = append(g.errs, g.set.errorf("%w", err)); len(g.errs) == maxErrors {
			g.errs = append(g.errs, g.set.errorf("there are more than %d problems", maxErrors))
		}
	}
}

// full reports whether to stop: there are maxErrors errors, or a limit is reached that each further Application would exceed, too.
func (g *generation) full() bool {
	return len(g.errs) >= maxErrors || len(g.errs) > 0 && (g.engine != nil && g.engine.Spent() || *g.size > maxAnswer)
}

func (g *generation) run() {
	unknown := g.set.warnings()
	slices.Sort(unknown)
	g.warnings = generator.Warnings(generator.FieldUnknown, unknown...)
	if err := g.compile(); err != nil {
		g.fail(err)
		return
	}
	generators, _ := g.set.Spec["generators"].([]any)
	if len(generators) == 0 {
		g.fail(errors.New("spec.generators must not be empty"))
		return
	}
	cfg := generator.Config{Engine: g.engine, Clusters: g.cfg.Clusters, MaxSets: g.cfg.MaxSets, Version: g.cfg.Version}
	cfg.APIs, cfg.Set = g.cfg.APIs, generator.SetName{Namespace: g.set.Namespace, Name: g.set.Name}
	if g.cfg.Git != nil {
		git := &reader{Repositories: g.cfg.Git}
		defer func() { g.reads = git.reads }()
		cfg.Git = git
	}
	for i, spec := range generators {
		results, warnings, err := generator.Run(g.ctx, cfg, fmt.Sprintf("spec.generators[%d]", i), spec)
		g.warnings = append(g.warnings, warnings...)
		if err != nil {
			g.fail(err)
			continue
		}
		for _, r := range results {
			g.render(r)
		}
	}
	for _, w := range g.engine.Warnings() {
		topic := generator.Topic("")
		if w.Left {
			topic = generator.PlaceholderLeft
		}
		g.warnings = append(g.warnings, generator.Warning{Topic: topic, Text: w.Text})
	}
	if len(g.errs) == 0 && len(g.apps) == 0 && !g.cfg.AllowEmpty {
		g.fail(ErrEmpty)
	}
}

func (g *generation) compile() error {
	var err error
	g.engine, err = template.New(template.Config{
		Go: generator.GoTemplate(g.set.Spec), Options: g.set.goTemplateOptions(), Order: argo.FieldOrder(),
	})
	if err != nil {
		return fmt.Errorf("spec.%w", err)
	}
	var errs []error
	if g.base, err = g.engine.Compile("spec.template", application(manifest.Map(g.set.Spec, "template"))); err != nil {
		errs = append(errs, err)
	}
	if text, ok := g.set.Spec["templatePatch"].(string); ok {
		if g.patch, err = g.engine.Compile("spec.templatePatch", text); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// application returns an Application of the parts that a template has: metadata of five fields, and a spec.
func application(tmpl map[string]any) map[string]any {
	meta, spec := map[string]any{}, map[string]any{}
	for k, v := range manifest.Map(tmpl, "metadata") {
		if isTemplateMetadata(k) && v != nil {
			meta[k] = v
		}
	}
	for k, v := range manifest.Map(tmpl, "spec") {
		if v != nil {
			spec[k] = v
		}
	}
	return map[string]any{"apiVersion": argo.APIVersion, "kind": argo.KindApplication, "metadata": meta, "spec": spec}
}

func isTemplateMetadata(field string) bool {
	switch field {
	case "name", "namespace", "labels", "annotations", "finalizers":
		return true
	}
	return false
}

// tree returns the template for a generator's result: that of the set, or the generator's own completed by it.
func (g *generation) tree(r generator.Result) (*template.Tree, map[string]any, error) {
	base := manifest.Map(g.set.Spec, "template")
	if r.Template == nil {
		return g.base, application(base), nil
	}
	path := r.Path + ".template"
	if errs := argo.Application().Check(path, r.Template); len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	own, _ := r.Template.(map[string]any)
	merged := application(complete(argo.Application(), own, base))
	tree, err := g.engine.Compile(path, merged)
	return tree, merged, err
}

// complete returns own with what it leaves empty taken from base: false, zero, "" and empty lists count as empty, as
// they do in Argo CD.
func complete(t argo.Type, own, base map[string]any) map[string]any {
	out := make(map[string]any, len(own)+len(base))
	for k, v := range own {
		out[k] = v
	}
	for k, v := range base {
		ft := t.Field(k)
		have := out[k]
		om, ok1 := have.(map[string]any)
		bm, ok2 := v.(map[string]any)
		switch {
		case ft.Raw() && have != nil:
		case ok1 && ok2:
			out[k] = complete(ft, om, bm)
		case isEmpty(have):
			out[k] = v
		}
	}
	return out
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func (g *generation) render(r generator.Result) {
	tree, plain, err := g.tree(r)
	if err != nil {
		g.fail(err)
		return
	}
	for _, s := range r.Sets {
		if g.full() {
			return
		}
		if g.ctx.Err() != nil {
			g.fail(g.ctx.Err())
			return
		}
		app, err := g.one(tree, plain, s.Params)
		if err == nil {
			err = errors.Join(g.guard.check(app, owner{g.set, r.Path + ", " + s.Origin.String()})...)
		}
		if err != nil {
			g.fail(problem.Wrap(err, func(e error) error {
				return fmt.Errorf("%s, %s: %w%s", r.Path, s.Origin, e, missing(e, s.Params))
			}))
			continue
		}
		g.apps = append(g.apps, app)
	}
}

// missing suggests a parameter for one that does not exist: a similar name, or, without one, all of them if they are few.
func missing(err error, params generator.Params) string {
	var e *template.Error
	if !errors.As(err, &e) || e.Parameter == "" {
		return ""
	}
	keys := manifest.Keys(params)
	if near := words.Nearest(e.Parameter, keys, min(3, 1+len(e.Parameter)/2)); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	switch n := len(keys); {
	case n > fewNames:
		return ""
	case n == 1:
		return "; the only parameter is " + keys[0]
	}
	return "; the parameters are " + strings.Join(keys, ", ")
}

// charge counts an Application of n bytes.
func (g *generation) charge(n int) error {
	if n > maxApplication {
		return fmt.Errorf("the Application is over the limit of %d bytes, which no API server accepts", maxApplication)
	}
	if *g.size += n; *g.size > maxAnswer {
		return fmt.Errorf("all Applications together are over the limit of %d bytes", maxAnswer)
	}
	return nil
}

// one renders one Application.
func (g *generation) one(tree *template.Tree, plain map[string]any, params generator.Params) (manifest.Object, error) {
	if g.engine.Mutates() {
		params = generator.CopyParams(params)
	}
	var app manifest.Object
	before, size := g.engine.Output(), tree.Size()
	if len(params) == 0 {
		// Argo CD takes the template as it is, placeholders and all, and adds no finalizer.
		app = manifest.Copy(plain).(map[string]any)
	} else {
		v, err := tree.Render(g.ctx, params)
		if err != nil {
			return nil, err
		}
		app = v.(map[string]any)
		meta := metadata(app)
		if finalizers, _ := meta["finalizers"].([]any); len(finalizers) == 0 && !g.set.preservesResources() {
			meta["finalizers"] = []any{argo.ResourcesFinalizer}
		}
	}
	if g.patch != nil {
		text, err := g.patch.RenderString(g.ctx, params)
		if err != nil {
			return nil, err
		}
		if app, err = applyPatch(app, text); err != nil {
			return nil, problem.Wrap(err, func(e error) error { return fmt.Errorf("spec.templatePatch: %w", e) })
		}
		size, before = manifest.Size(app), g.engine.Output()
	}
	if err := g.charge(size + g.engine.Output() - before); err != nil {
		return nil, err
	}
	g.typed(app)
	// The namespace of a set is a security boundary, so neither template nor patch decides about it.
	if g.set.Namespace != "" {
		metadata(app)["namespace"] = g.set.Namespace
	} else {
		delete(metadata(app), "namespace")
	}
	return app, nil
}

// typed drops written fields that Argo CD's Go types drop when they encode them.
func (g *generation) typed(app manifest.Object) {
	if !g.cfg.Version.Has(versions.AutomatedFalseKept) {
		automated := manifest.Map(app, "spec", "syncPolicy", "automated")
		for _, field := range []string{"prune", "selfHeal", "allowEmpty"} {
			if automated[field] == false {
				delete(automated, field)
			}
		}
	}
	if g.cfg.Version.Has(versions.EmptyJsonnetOmitted) {
		for _, source := range argo.Sources(app) {
			directory := manifest.Map(source, "directory")
			if jsonnet, ok := directory["jsonnet"].(map[string]any); ok && len(jsonnet) == 0 {
				delete(directory, "jsonnet")
			}
		}
	}
}

// metadata returns the metadata of an Application, which it creates where it is missing.
func metadata(app manifest.Object) map[string]any {
	m, ok := app["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		app["metadata"] = m
	}
	return m
}
