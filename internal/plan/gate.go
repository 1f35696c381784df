package plan

import (
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// settings takes the health checks that a boot itself installs.
func (l *loader) settings(app *Application, o manifest.Object) {
	if l.cfg.Customizations != nil || l.found || manifest.String(o, "kind") != "ConfigMap" || manifest.String(o, "metadata", "name") != "argocd-cm" {
		return
	}
	if c, err := health.FromSettings("argocd-cm", manifest.Map(o, "data")); err == nil {
		l.checks, l.found = c, true
		if key, _ := c.Covers(manifest.Object{"apiVersion": argo.APIVersion, "kind": argo.KindApplication}); key != "" {
			l.find(app.Name, "it deploys the health check of Applications (argocd-cm), without which no wave waits for any; at the first boot, apply that before the root")
		}
	}
}

// gates says of each item whether the next wave waits for it.
func (l *loader) gates() {
	l.plan.SyncAware = l.notices("OutOfSync", "Running", "")
	l.plan.SeesBroken = l.notices("Unknown", "", "ComparisonError")
	for item, o := range l.objects {
		item.Waits, item.Why = l.gate(item, o)
	}
}

// advise says what the health check of Applications does not do.
func (l *loader) advise() {
	var deployed, nested []string
	for _, app := range l.plan.Applications {
		for _, item := range app.Items {
			last := app.Items[len(app.Items)-1]
			if item.Application == nil || item.Application.Itself || item.Wave == last.Wave && item.Phase == last.Phase {
				continue
			}
			if !item.Waits {
				deployed = append(deployed, item.Name)
			} else if slices.ContainsFunc(item.Application.Items, func(i *Item) bool { return i.Application != nil }) {
				nested = append(nested, item.Name)
			}
		}
	}
	const cure = "argosy health script application prints one that does"
	if len(deployed) > 0 {
		l.find(l.plan.Root.Name, "no settings that are known here have a health check for Applications, so no wave waits for one, such as %s; if those of Argo CD have, name them (--customizations); otherwise %s", deployed[0], cure)
	}
	if len(nested) > 0 && !l.plan.SyncAware {
		l.find(l.plan.Root.Name, "the health check of Applications does not wait for what those deploy that deploy others, such as %s: they are healthy as long as none of it is there; %s", nested[0], cure)
	}
}

// notices asks the health check whether it sees more in an Application than that it calls itself healthy.
func (l *loader) notices(sync, phase, condition string) bool {
	status := map[string]any{"health": map[string]any{"status": "Healthy"}, "sync": map[string]any{"status": sync, "comparedTo": map[string]any{}}}
	if phase != "" {
		status["operationState"] = map[string]any{"phase": phase}
	}
	if condition != "" {
		status["conditions"] = []any{map[string]any{"type": condition, "message": "x"}}
	}
	o := manifest.Object{"apiVersion": argo.APIVersion, "kind": argo.KindApplication, "metadata": map[string]any{"name": "x"}, "spec": map[string]any{}, "status": status}
	h, ok, err := health.Evaluate(o, l.checks, health.Limits{})
	return err == nil && ok && h.Status != "Healthy"
}

func (l *loader) gate(item *Item, o manifest.Object) (bool, string) {
	if argo.IsApplicationSet(o) {
		return false, "an ApplicationSet is healthy as soon as its Applications exist"
	}
	key, err := l.checks.Covers(o)
	switch {
	case err != nil:
		return false, err.Error()
	case key != "":
		return true, "health check " + key
	case argo.IsApplication(o):
		return false, "Argo CD's settings have no health check for Applications"
	case health.BuiltIn(o):
		return true, "built-in health check"
	case health.Bundled(o):
		return true, "health check of Argo CD's own"
	}
	return false, fmt.Sprintf("Argo CD has no health check for %s", item.Kind)
}
