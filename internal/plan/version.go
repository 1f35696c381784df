package plan

import (
	"cmp"
	"fmt"

	"github.com/argosy-cd/argosy/internal/appset/generator"
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
	if text != "" && by > l.version.by && (app == nil || app.namespace() == l.cfg.Namespace && l.server(app) == generator.InClusterServer) {
		l.version = seenVersion{text, from, by, app}
	}
}

// learnVersion takes from an object what it says about the version of Argo CD.
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

// contentVersion takes from sources that are not available what they say about the version of Argo CD.
func (l *loader) contentVersion(app *Application, content rendered) {
	from := fmt.Sprintf("the sources of %s (%s)", app.Name, app.Position)
	l.seeVersion(app, fromValues, settings.VersionOfValues(content.values), from)
	l.seeVersion(app, fromBase, content.version, from)
}

// nearest returns the known version that is nearest to the one that was seen; 0 if none was.
func (v seenVersion) nearest() versions.Version {
	n, _, _ := versions.Nearest(v.text)
	return n
}

// decideVersion says which version the plan is for, and why. The Config is that of the caller, before anything was seen.
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
		l.find(RuleVersionNearest, app, "Argo CD %s (%s) is not a version that is known here, %s to %s; the plan is that of %s",
			l.version.text, l.version.from, versions.Oldest, versions.Newest, p.Version)
	}
}
