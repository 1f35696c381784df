package plan

import (
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// controllers says which objects hold up a wave until a controller has accepted them. Whether such a controller runs cannot be seen in a
// tree.
func (l *loader) controllers() {
	for _, app := range l.plan.Applications {
		for _, item := range app.Items {
			controller, ok := l.acceptedBy(item)
			if !ok {
				continue
			}
			if waiting := l.waitsFor(app, item); waiting != "" {
				l.find(RuleControllerUnknown, app, "%s %s waits until %s accepts it, which cannot be seen here; %s", item.Kind, item.Name,
					controller, waiting)
			}
		}
	}
}

// acceptedBy returns the controller that must accept an object before Argo CD's own check calls it healthy. It reports false for objects
// that Argo CD does not wait for, or that have another check.
func (l *loader) acceptedBy(item *Item) (string, bool) {
	o := item.Object
	if key, err := l.checks().Covers(o); key != "" || err != nil || !item.Waits || item.Group != "gateway.networking.k8s.io" ||
		!health.Bundled(o, l.plan.Version) {
		return "", false
	}
	switch item.Kind {
	case "GatewayClass":
		if name := manifest.String(o, "spec", "controllerName"); name != "" {
			return "the controller " + name, true
		}
		return "a controller", true
	case "BackendTLSPolicy":
		return "the controller of its Gateway", true
	}
	return "", false
}

// waitsFor names what waits until an item of an Application is healthy, "" if nothing does.
func (l *loader) waitsFor(app *Application, item *Item) string {
	last := app.Items[len(app.Items)-1]
	if item.Wave != last.Wave || item.Phase != last.Phase {
		return fmt.Sprintf("the waves of %s behind wave %d wait for it", app.Name, item.Wave)
	}
	return l.waitsForApplication(app, []*Application{app})
}

// waitsForApplication names what waits until an Application is healthy: waves of its parent, or of the parent's parent.
func (l *loader) waitsForApplication(app *Application, seen []*Application) string {
	for _, parent := range l.plan.Applications {
		for _, item := range parent.Items {
			if item.Application != app || !item.Waits || slices.Contains(seen, parent) {
				continue
			}
			last := parent.Items[len(parent.Items)-1]
			if item.Wave != last.Wave || item.Phase != last.Phase {
				return fmt.Sprintf("the waves of %s behind %s wait for it", parent.Name, app.Name)
			}
			if waiting := l.waitsForApplication(parent, append(seen, parent)); waiting != "" {
				return waiting
			}
		}
	}
	return ""
}
