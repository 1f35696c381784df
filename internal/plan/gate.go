package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/settings"
)

// learn reads the settings and clusters of Argo CD from a deployed object.
func (l *loader) learn(app *Application, d located) {
	o := d.Object
	l.cluster(app, d)
	l.learnVersion(app, d)
	l.options(app, d)
	if l.cfg.Settings != nil && !l.adopted {
		return
	}
	s, ok, err := settings.FromObject(o)
	if !ok && argo.IsApplication(o) {
		s, ok, err = settings.FromApplication(o)
		app = l.newApplication(d.Document, d.origin)
	}
	if ok {
		l.settings(app, d.Position, s, err)
	}
}

// cluster takes the cluster of a Secret in Argo CD's namespace, if the clusters are not known otherwise.
func (l *loader) cluster(app *Application, d located) {
	c, ok, err := generator.ClusterFromSecret(d.Object)
	namespace := cmp.Or(manifest.String(d.Object, "metadata", "namespace"), app.namespace())
	switch {
	case !ok || namespace != l.cfg.Namespace || l.cfg.Clusters != nil && !l.adoptedClusters:
	case err != nil:
		l.findAt(RuleClustersFromTree, app, d.Position, "%v, so this cluster is not known", err)
	default:
		l.clusters = append(l.clusters, c)
		l.find(RuleClustersFromTree, app,
			"the clusters are those whose Secrets this tree deploys, such as %s; if Argo CD knows others, list all of them with --clusters",
			c.Name)
	}
}

// settings keeps the first settings that are found; argocd-cm itself wins over values of a chart.
func (l *loader) settings(app *Application, at manifest.Position, s *settings.Settings, err error) {
	for _, e := range problem.All(err) {
		l.findAt(RuleSettingsBroken, app, at, "%v", e)
	}
	if s == nil || l.found != nil && (s.Kind != settings.InConfigMap || l.found.Kind == settings.InConfigMap) {
		return
	}
	l.found = s
	if key, _ := s.Health.OfApplications(); key != "" {
		l.find(RuleHealthCheckDeployed, app,
			"it deploys the health check of Applications (%s), without which no wave waits for Applications; apply it before the "+
				"root at the first boot", s.Origin)
	}
}

// checks are the health checks that are known.
func (l *loader) checks() health.Customizations {
	if l.plan.Settings == nil {
		return nil
	}
	return l.plan.Settings.Health
}

// gates sets for each item whether the next wave waits for it.
func (l *loader) gates() {
	trial := l.trial()
	l.plan.SyncAware, l.plan.SeesBroken, l.plan.KnowsItself = trial.SyncAware(), trial.SeesBroken(), trial.KnowsItself()
	l.seesSets = sync.OnceValue(trial.SeesSets)
	for _, app := range l.plan.Applications {
		for _, item := range app.Items {
			var h hold
			h, item.Why = l.gate(item)
			item.Waits, item.InDoubt = h == holds, h == mayHold
			item.Counts = health.BuiltIn(item.Object) || l.plan.Settings.Customize(item.Object)
			item.Awaits = item.Waits && item.Children != nil && !item.Broken
			if app.Applied {
				item.Waits, item.InDoubt, item.Why = false, false, "it is applied by hand"
			}
		}
	}
}

// missingCounts reports whether an Application that was never synced is not Healthy.
func (l *loader) missingCounts(app *Application) bool {
	return l.plan.Version.Has(versions.MissingNotCounted) || len(app.Items) == 0 || slices.ContainsFunc(app.Items, func(i *Item) bool {
		return i.Counts && !i.Hook && i.Application == nil
	})
}

// advise adds findings about gaps of the health check of Applications.
func (l *loader) advise() {
	var deployed, nested []string
	for _, app := range l.plan.Applications {
		var byHand, passed []string
		for _, item := range app.Items {
			last := app.Items[len(app.Items)-1]
			if item.Application == nil || item.Application.Itself || app.Applied || item.Wave == last.Wave && item.Phase == last.Phase {
				continue
			}
			switch {
			case !item.Waits || item.Application.Automated:
			case l.missingCounts(item.Application):
				byHand = append(byHand, item.Name)
			default:
				passed = append(passed, item.Name)
			}
			if !item.Waits {
				deployed = append(deployed, item.Name)
			} else if slices.ContainsFunc(item.Application.Items, func(i *Item) bool { return i.Application != nil }) {
				nested = append(nested, item.Name)
			}
		}
		if len(byHand) > 0 {
			l.find(RuleSyncByHand, app, "%s will not be synced automatically, so the waves behind wait until somebody syncs by hand",
				strings.Join(byHand, ", "))
		}
		if len(passed) > 0 {
			l.find(RuleSyncByHand, app, "%s will not be synced automatically; Argo CD reports Healthy all the same, so the waves behind "+
				"begin at once", strings.Join(passed, ", "))
		}
	}
	const cure = "\"argosy health script applications\" prints a better one"
	switch {
	case len(deployed) > 0 && (l.plan.Settings == nil || l.plan.Settings.Partial):
		l.find(RuleSettingsUnknown, l.plan.Root,
			"Argo CD's settings were not found, so it is not known whether a wave waits for an Application, such as %s; name them with "+
				"--customizations", deployed[0])
	case len(deployed) > 0:
		l.find(RuleNoHealthCheck, l.plan.Root,
			"Argo CD's settings (%s) have no health check for Applications, so no wave waits for an Application such as %s; "+
				"\"argosy health script applications\" prints one", l.plan.Settings.Origin, deployed[0])
	}
	if len(nested) > 0 && !l.plan.SyncAware {
		l.find(RuleHealthCheckNested, l.plan.Root,
			"the health check of Applications ignores nested Applications, such as those of %s, as long as none of them exist; %s",
			nested[0], cure)
	}
}

// trial tries the health checks that are known.
func (l *loader) trial() health.Trial {
	return health.Trial{Checks: l.checks(), Limits: health.Limits{Version: l.plan.Version}, Namespace: l.cfg.Namespace}
}

// hold says whether the next wave waits for an item.
type hold int

const (
	passes  hold = iota // it does not
	holds               // it does
	mayHold             // that is not known
)

const settingsUnknown = "Argo CD's settings are not known"

// gate reports whether the next wave waits for an item, and why.
func (l *loader) gate(item *Item) (hold, string) {
	o := item.Object
	if argo.IsApplicationSet(o) {
		return l.setGate(item)
	}
	key, err := l.checks().Covers(o)
	switch {
	case err != nil:
		return passes, err.Error()
	case key != "":
		return holds, "health check " + key
	case argo.IsApplication(o) && (l.plan.Settings == nil || l.plan.Settings.Partial):
		return mayHold, settingsUnknown
	case argo.IsApplication(o):
		return passes, "Argo CD's settings have no health check for Applications"
	case health.BuiltIn(o):
		return holds, "built-in health check"
	case health.Bundled(o, l.plan.Version):
		return holds, "health check of Argo CD's own"
	}
	return passes, fmt.Sprintf("Argo CD has no health check for %s", item.Kind)
}
