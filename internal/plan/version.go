package plan

import (
	"cmp"
	"fmt"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
)

// VersionNotSeen is Plan.VersionFrom if nothing says which version of Argo CD it is.
const VersionNotSeen = "not seen in the tree, so the newest that is known"

// VersionGiven is Plan.VersionFrom if the Config has a version.
const VersionGiven = "given"

// trust is how much is known about a version of Argo CD.
type trust int

const (
	fromNothing  trust = iota
	fromBase           // the address of a base
	fromValues         // values of its chart
	fromOperator       // a wish for the operator
	fromImage          // an image
	fromSettings       // the settings that the user has named
)

// seenVersion is the version of Argo CD that a tree deploys.
type seenVersion struct {
	text, from string
	by         trust
	app        *Application
}

// seeVersion notes a version, unless a better one is known.
func (l *loader) seeVersion(app *Application, by trust, text, from string) {
	if text != "" && by > l.version.by && (app == nil || app.namespace() == l.cfg.Namespace && l.server(app) == argo.InClusterServer) {
		l.version = seenVersion{text, from, by, app}
	}
}

// learnVersion reads the version of Argo CD from an object, if it has one.
func (l *loader) learnVersion(app *Application, d located) {
	o := d.Object
	from := fmt.Sprintf("%s %s (%s)", manifest.String(o, "kind"), manifest.String(o, "metadata", "name"), d.Position)
	if argo.IsApplication(o) {
		l.seeVersion(l.newApplication(app.in(d.Document), d.origin), fromValues, settings.VersionOfApplication(o), from)
		return
	}
	if namespace := manifest.String(o, "metadata", "namespace"); namespace != "" && namespace != app.namespace() {
		return
	}
	by := fromImage
	if manifest.String(o, "kind") == "ArgoCD" {
		by = fromOperator
	}
	l.seeVersion(app, by, settings.VersionOf(o), from)
}

// contentVersion reads the version of Argo CD from the values of unavailable sources.
func (l *loader) contentVersion(app *Application, content rendered) {
	from := fmt.Sprintf("the sources of %s (%s)", app.Name, app.Position)
	l.seeVersion(app, fromValues, settings.VersionOfValues(content.values), from)
	l.seeVersion(app, fromBase, content.version, from)
}

// nearest returns the supported version that is nearest to the seen one; 0 if none was seen.
func (v seenVersion) nearest() versions.Version {
	n, _, _ := versions.Nearest(v.text)
	return n
}

// decideVersion decides the version of the plan, and why. given is the version in the caller's Config.
func (l *loader) decideVersion(given versions.Version) {
	p := l.plan
	switch {
	case given != 0:
		p.Version, p.VersionFrom = given, VersionGiven
	case l.version.text != "":
		p.Version, p.VersionFrom = l.version.nearest(), l.version.from
	default:
		p.Version, p.VersionFrom = versions.Newest, VersionNotSeen
	}
	if _, exact, ok := versions.Nearest(l.version.text); given == 0 && ok && !exact {
		app := cmp.Or(l.version.app, p.Root)
		l.find(RuleVersionNearest, app, "Argosy knows Argo CD %s to %s, not %s (%s); the plan is for %s", versions.Oldest, versions.Newest,
			l.version.text, l.version.from, p.Version)
	}
}
