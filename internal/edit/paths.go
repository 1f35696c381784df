package edit

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
)

// Paths writes the directories that Applications are rendered from into their files.
type Paths struct {
	Plan *plan.Plan
	// Local are the repositories on disk.
	Local []gitsource.Local
	// Open opens a repository of the plan.
	Open func(ctx context.Context, url, revision string) (source.Repository, error)
	// Unknown returns why an Application is not known completely.
	Unknown func(app *plan.Application) string
}

// Write writes the annotations, and prints which. It says on talk which Applications it skips, and why.
func (p Paths) Write(ctx context.Context, out, talk io.Writer) error {
	editor := newEditor(p.Local)
	w := newPathWriter(editor, p)
	for _, app := range p.Plan.Applications {
		if !app.Applied {
			w.application(ctx, app)
		}
	}
	w.templates()
	w.list = distinct(w.list)
	if err := editor.write(w.list); err != nil {
		return err
	}
	for _, why := range w.reasons {
		fmt.Fprintln(talk, words.Harmless(fmt.Sprintf("skipped %s: %s", strings.Join(w.skipped[why], ", "), why)))
	}
	for _, a := range w.list {
		if err := words.Line(out, "%s: %s is made of %s", input.Near(a.file), words.Printable(a.name),
			words.Printable(a.value)); err != nil {
			return err
		}
	}
	return nil
}

// pathWriter collects the annotations to write.
type pathWriter struct {
	editor  *editor
	open    func(ctx context.Context, url, revision string) (source.Repository, error)
	plan    *plan.Plan
	unknown func(app *plan.Application) string
	// deployments are where Applications are deployed, sets what generates the others.
	deployments map[argo.Ref][]deployment
	sets        map[*plan.Application]deployment
	// generating are the sets whose templates lack paths, generated the Applications for which they do.
	generating []deployment
	generated  map[*plan.Item][]generated
	unfit      map[*plan.Application]bool // must not have the annotation

	list    []annotation
	skipped map[string][]string // Applications by the reason
	reasons []string            // in order
}

// deployment is an Application or a set as an Application deploys it.
type deployment struct {
	parent *plan.Application
	item   *plan.Item
}

// generated is an Application of a set, and its paths.
type generated struct {
	app   *plan.Application
	paths []string
}

func newPathWriter(editor *editor, p Paths) *pathWriter {
	w := &pathWriter{
		editor: editor, open: p.Open, plan: p.Plan, unknown: p.Unknown, skipped: map[string][]string{},
		deployments: map[argo.Ref][]deployment{}, sets: map[*plan.Application]deployment{}, generated: map[*plan.Item][]generated{},
		unfit: map[*plan.Application]bool{},
	}
	for _, parent := range p.Plan.Applications {
		for _, item := range parent.Items {
			if child := item.Application; child != nil {
				w.deployments[child.Ref] = append(w.deployments[child.Ref], deployment{parent, item})
			}
			for _, child := range item.Children {
				w.sets[child] = deployment{parent, item}
			}
		}
	}
	return w
}

func (w *pathWriter) skip(app *plan.Application, format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if w.skipped[why] == nil {
		w.reasons = append(w.reasons, why)
	}
	w.skipped[why] = append(w.skipped[why], app.Name)
}

// application adds the annotation of an Application, for each file that it is in.
func (w *pathWriter) application(ctx context.Context, app *plan.Application) {
	why := w.cannot(app)
	var paths []string
	if why == nil {
		paths, why = w.paths(ctx, app)
	}
	if why != nil {
		w.unfit[app] = true
		w.skip(app, "%v", why)
		return
	}
	value := strings.Join(paths, ";")
	if set, ok := w.sets[app]; ok {
		if !coversPaths(app, value, pathsOf(app.Object)) {
			if w.generated[set.item] == nil {
				w.generating = append(w.generating, set)
			}
			w.generated[set.item] = append(w.generated[set.item], generated{app, paths})
		}
		return
	}
	places, err := w.places(app, value)
	if err != nil {
		w.skip(app, "%v", err)
		return
	}
	for _, p := range places {
		if !samePaths(app, value, pathsOf(p.object)) {
			w.list = append(w.list, annotation{p, app.Name, argo.PathsAnnotation, value})
		}
	}
}

func pathsOf(o manifest.Object) string {
	return manifest.String(o, "metadata", "annotations", argo.PathsAnnotation)
}

// cannot says why an Application must not have the annotation, nil if it may.
func (w *pathWriter) cannot(app *plan.Application) error {
	for _, s := range app.Sources {
		if s.Kind != source.AppSet && s.Kind != source.S3 && s.Kind != source.Plugin {
			continue
		}
		// A plugin reads more than its directory, and its repository may be a trigger with empty commits.
		cure := ""
		if pathsOf(app.Object) != "" {
			cure = "; remove the annotation that it has"
		}
		return fmt.Errorf("rendered by a plugin (%s), also from content outside of Git; with the annotation, Argo CD would ignore the "+
			"empty commits of a trigger repository%s", s.Kind, cure)
	}
	switch {
	case len(app.Sources) == 0:
		return fmt.Errorf("not rendered: %s", w.unknown(app))
	case app.Verdict() != source.Known:
		return fmt.Errorf("%s, there may be more files: %s", app.Verdict(), w.unknown(app))
	}
	return nil
}

// places returns the files that an Application is in. The error says why there is none.
func (w *pathWriter) places(app *plan.Application, value string) ([]place, error) {
	var out []place
	var why error
	for _, d := range w.deployments[app.Ref] {
		p, err := w.editor.find(d.parent, d.item)
		if err != nil {
			why = err
			continue
		}
		out = append(out, p)
	}
	if app == w.plan.Root {
		p, err := w.editor.applied(app.Position, app.Object)
		if err == nil {
			out = append(out, p)
		} else {
			why = err
		}
	}
	if len(out) == 0 && why != nil {
		return nil, fmt.Errorf("%w; its annotation would be %s: %s", why, argo.PathsAnnotation, value)
	}
	return out, nil
}

// maxTemplatePaths is how many paths a template can have for all Applications of a set.
const maxTemplatePaths = 5

// templates adds the annotations for the templates of sets.
func (w *pathWriter) templates() {
	for _, set := range w.generating {
		file := set.item.Position.String()
		if p, err := w.editor.find(set.parent, set.item); err == nil {
			file = p.at.String()
		}
		about := fmt.Sprintf("generated by the ApplicationSet %s (%s)", set.item.Name, file)
		children := w.generated[set.item]
		value, common := templatePaths(children)
		var others []string
		for _, child := range set.item.Children {
			if w.unfit[child] {
				others = append(others, child.Name)
			}
		}
		for _, c := range children {
			switch {
			case len(others) > 0:
				w.skip(c.app, "%s; an annotation in its template would also be on %s, skipped for another reason", about,
					strings.Join(others, ", "))
			case common:
				w.skip(c.app, "%s; write %s: %s into the annotations of its template", about, argo.PathsAnnotation, value)
			default:
				w.skip(c.app, "%s; let its template write %s: %s, with parameters", about, argo.PathsAnnotation, strings.Join(c.paths, ";"))
			}
		}
	}
}

// templatePaths returns one annotation for all Applications of a set: the one that all of them have, the same with relative paths, or the
// paths of all of them if those are few.
func templatePaths(children []generated) (string, bool) {
	var exact, relative []string
	all := map[string]bool{}
	for _, c := range children {
		exact, relative = append(exact, strings.Join(c.paths, ";")), append(relative, strings.Join(relativePaths(c.app, c.paths), ";"))
		for _, p := range c.paths {
			all[p] = true
		}
	}
	for _, values := range [][]string{exact, relative} {
		if len(slices.Compact(values)) == 1 {
			return values[0], true
		}
	}
	return strings.Join(manifest.Keys(all), ";"), len(all) <= maxTemplatePaths
}
