package plan

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
)

// newApplication reads the fields of an Application.
func (l *loader) newApplication(d manifest.Document, origin string) *Application {
	o := d.Object
	app := &Application{
		Ref:      argo.Ref{Namespace: manifest.String(o, "metadata", "namespace"), Name: manifest.String(o, "metadata", "name")},
		Project:  manifest.String(o, "spec", "project"),
		Position: d.Position, Origin: origin, Object: o,
	}
	app.Namespace = cmp.Or(app.Namespace, l.cfg.Namespace)
	app.Destination = newDestination(manifest.Map(o, "spec"))
	app.Needs = argo.Dependencies(o)
	_, app.Automated = argo.Automated(o)
	app.Retry = newRetry(manifest.Map(o, "spec", "syncPolicy", "retry"))
	return app
}

// application plans one Application. ancestors are the Applications above it; origin names the set that has generated it.
func (l *loader) application(d manifest.Document, origin string, ancestors []argo.Ref) *Application {
	app := l.newApplication(d, origin)
	spec := manifest.Map(d.Object, "spec")
	if i := slices.Index(ancestors, app.Ref); i >= 0 {
		app.Itself = true
		if !samePlaces(l.specs[app.Ref], spec) {
			l.findAt(RuleNameTwice, app, d.Position,
				"it has the name of its parent, but another source: a sync of the parent overwrites the parent's own spec; rename one")
		} else if i < len(ancestors)-1 { // a root that contains itself is a custom
			l.find(RuleCycle, app, "it deploys its own parent: %s", chain(append(slices.Clip(ancestors[i:]), app.Ref)))
		}
		return app
	}
	if len(ancestors) > 0 {
		by := ancestors[len(ancestors)-1]
		if by.Name != ApplyName && !slices.Contains(l.parents[app.Ref], by) {
			l.parents[app.Ref] = append(l.parents[app.Ref], by)
		}
	}
	if known := l.known[app.Ref]; known != nil {
		if !reflect.DeepEqual(l.specs[app.Ref], spec) {
			rule, planned := RuleNameTwice, ""
			if len(l.parents[app.Ref]) == 0 && l.plan.Root != nil && l.plan.Root.Applied { // roots may be alternatives
				rule, planned = RuleAlternatives, ", and only that one is planned"
			}
			l.findAt(rule, app, d.Position, "same name, different spec; first defined at %s%s", known.Position, planned)
		}
		return known
	}
	l.known[app.Ref], l.specs[app.Ref] = app, spec
	l.plan.Applications = append(l.plan.Applications, app)
	// The API server would refuse it.
	wrong := argo.Application().Check(argo.KindApplication, map[string]any{"spec": d.Object["spec"]})
	for _, err := range wrong {
		app.Broken = cmp.Or(app.Broken, err.Error())
		l.findAt(RuleApplicationInvalid, app, d.Position, "%v", err)
	}
	for _, field := range unsourced(spec) {
		app.Broken = cmp.Or(app.Broken, field+" must be set")
		wrong = append(wrong, errors.New(app.Broken))
		l.findAt(RuleApplicationInvalid, app, d.Position, "%s: it must be set; the API server refuses the Application", field)
	}
	if app.Namespace != l.cfg.Namespace {
		l.find(RuleOtherNamespace, app,
			"it is in namespace %s; Argo CD, which is in %s, watches other namespaces only if application.namespaces lists them",
			app.Namespace, l.cfg.Namespace)
	}
	switch {
	case l.ctx.Err() != nil, len(wrong) > 0:
		return app
	case len(l.plan.Applications) > maxApplications:
		if !l.stopped {
			l.find(RuleTooLarge, app, "there are more than %d Applications; the plan ends here", maxApplications)
		}
		l.stopped, app.Hides = true, true
		return app
	case len(ancestors) > maxDepth:
		l.find(RuleTooLarge, app, "Applications are nested more than %d deep; the plan ends here", maxDepth)
		app.Hides = true
		return app
	}
	if branch := manifest.String(spec, "sourceHydrator", "syncSource", "targetBranch"); branch != "" {
		l.find(RuleHydrated, app, "the dry source is shown; Argo CD deploys what the hydrator has pushed to %s", branch)
	}
	l.deploy(app, spec, append(slices.Clip(ancestors), app.Ref))
	return app
}

// unsourced are the fields of sources that must be set and are not.
func unsourced(spec map[string]any) []string {
	var out []string
	one := func(field string, v any) {
		if s, ok := v.(map[string]any); ok && manifest.String(s, "repoURL") == "" {
			out = append(out, field+".repoURL")
		}
	}
	one("spec.source", spec["source"])
	list, _ := spec["sources"].([]any)
	for i, v := range list {
		one(fmt.Sprintf("spec.sources[%d]", i), v)
	}
	return out
}

// samePlaces reports whether two specs of Applications deploy from the same places, of whichever revision.
func samePlaces(a, b map[string]any) bool {
	places := func(spec map[string]any) (out [][4]string) {
		for _, s := range argo.Sources(manifest.Object{"spec": spec}) {
			out = append(out, [4]string{
				giturl.Canonical(manifest.String(s, "repoURL")), path.Clean(manifest.String(s, "path")), manifest.String(s, "chart"),
				manifest.String(s, "plugin", "name"),
			})
		}
		return out
	}
	return slices.Equal(places(a), places(b))
}

func chain(refs []argo.Ref) string {
	var names []string
	for _, r := range refs {
		names = append(names, r.Name)
	}
	return strings.Join(names, " → ")
}

// deploy adds the items of an Application.
func (l *loader) deploy(app *Application, spec map[string]any, ancestors []argo.Ref) {
	content := l.content(app, spec)
	app.Sources = content.sources
	l.problems(app, content.findings)
	app.Broken = cmp.Or(app.Broken, content.broken)
	if content.values != nil {
		app.ArgoCD = true
		l.progressive.LearnValues(content.values)
		l.syncTimeout.learn(app, app.Position, func(o *settings.Option) { o.LearnValues(content.values) })
		l.waveDelay.learn(app, app.Position, func(o *settings.Option) { o.LearnValues(content.values) })
		if s, ok, err := settings.FromValues(content.values); ok && (l.cfg.Settings == nil || l.adopted) {
			l.settings(app, app.Position, s, err)
		}
	}
	l.contentVersion(app, content)
	l.items(app, spec, content.docs, ancestors)
	app.Hides = l.hides(app, spec, len(ancestors) == 1)
}

// DeploysOthers reports whether it deploys Applications.
func (a *Application) DeploysOthers() bool {
	return slices.ContainsFunc(a.Items, func(i *Item) bool { return i.Application != nil || i.Children != nil })
}
