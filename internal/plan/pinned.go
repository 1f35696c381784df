package plan

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/appset"
	plugin "github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// pins reports whether a source of the plugin appset gives an object a commit in the place of its branch: an Application that follows the
// source's own revision, or one that its set has read.
func pins(s map[string]any, o manifest.Object, reads []appset.Read) bool {
	return argo.IsApplication(o) && plugin.Pins(s) && plugin.Follows(o, append(slices.Clip(reads), plugin.Own(s)))
}

// pinnedBy records whether one more parent gives the Application a commit. A parent that gives it a branch undoes the pins of the others.
// The plugin does not pin the parent itself, and a manual apply comes before any parent's sync.
func (a *Application) pinnedBy(parent *Application, pinned bool) {
	if a.Itself || parent.Applied {
		return
	}
	a.loose = a.loose || !pinned
	a.Pinned = !a.loose
}

// parameters are those that a source gives the plugin appset, with the error of the plugin about wrong ones. Where the controller has the
// sets, nothing asks the plugin.
func (l *loader) parameters(s map[string]any) (plugin.Given, error) {
	given, err := plugin.SourceParameters(s)
	if l.cfg.Sets == SetsByController {
		err = nil
	}
	return given, err
}

// unordered adds findings about updates that are not ordered although a parent pins its Applications: those of a child at another revision
// of the parent's repository, and those of the Applications of a pinned child that does not pin them in turn.
func (l *loader) unordered() {
	for _, app := range l.plan.Applications {
		app.KeepsPin = app.Pinned
	}
	for _, app := range l.plan.Applications {
		for _, s := range app.Sources {
			if !plugin.Pins(s.Spec) {
				continue
			}
			if paths := manifest.String(app.Object, "metadata", "annotations", argo.PathsAnnotation); paths != "" {
				l.find(RulePinnedPaths, app, "%s is %q: a commit that changes nothing there does not reach the Applications that it pins",
					argo.PathsAnnotation, paths)
			}
			own := plugin.Own(s.Spec)
			for _, child := range app.children() {
				child.KeepsPin = child.KeepsPin && plugin.KeepsPins(s.Spec)
				for _, c := range child.Sources {
					if !child.Pinned && !child.Itself && c.follows(own.URL) && argo.Revision(c.Revision) != argo.Revision(own.Revision) {
						l.find(RuleUpdatesUnordered, child,
							"it follows %s of the repository of %s, which pins its Applications at %s: it syncs by itself, whatever its "+
								"wave is", argo.Revision(c.Revision), app.Name, argo.Revision(own.Revision))
					}
				}
			}
		}
		if app.Pinned {
			l.unpinned(app)
		}
	}
}

// unpinned finds Applications of a pinned one that follow a branch of its repository.
func (l *loader) unpinned(app *Application) {
	loose := 0
	for _, child := range app.children() {
		for _, s := range app.Sources {
			for _, c := range child.Sources {
				if !child.Pinned && !child.Itself && !plugin.Pins(s.Spec) && c.follows(s.Repository) {
					loose++
				}
			}
		}
	}
	if loose > 0 {
		l.find(RuleUpdatesUnordered, app,
			"it is pinned, but its own Applications follow a branch of the same repository (%d): they sync by themselves, before it is "+
				"their turn", loose)
	}
}

// children returns the Applications that it deploys, and those of its sets.
func (a *Application) children() []*Application {
	var out []*Application
	for _, item := range a.Items {
		if item.Application != nil {
			out = append(out, item.Application)
		}
		out = append(out, item.Children...)
	}
	return out
}

// follows reports whether a source follows a branch of a repository.
func (s Source) follows(url string) bool {
	return s.Chart == "" && !argo.IsCommit(s.Revision) && giturl.Canonical(s.Repository) == giturl.Canonical(url)
}
