package plan

import (
	"cmp"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/settings"
)

// isRollout reports whether a set asks for RollingSync, with steps.
func isRollout(set manifest.Object) bool {
	return appset.RollingSteps(manifest.Map(set, "spec")) != nil
}

// options reads the options of Argo CD's controllers from a deployed object: RollingSync, and the timeouts of syncs and waves.
func (l *loader) options(app *Application, d located) {
	namespace := cmp.Or(manifest.String(d.Object, "metadata", "namespace"), app.namespace())
	if argo.IsApplication(d.Object) {
		app = l.newApplication(app.in(d.Document), d.origin)
		namespace = app.namespace()
	}
	if l.server(app) == argo.InClusterServer && namespace == l.cfg.Namespace {
		l.progressive.Learn(d.Object)
		l.syncTimeout.learn(app, d.Position, func(o *settings.Option) { o.Learn(d.Object) })
		l.waveDelay.learn(app, d.Position, func(o *settings.Option) { o.Learn(d.Object) })
	}
}

// option is an option of Argo CD and where it is set.
type option struct {
	settings.Option
	said *Said
}

// learn notes the first place that sets the option.
func (o *option) learn(app *Application, at manifest.Position, read func(*settings.Option)) {
	read(&o.Option)
	if value, ok := o.Known(); ok && o.said == nil {
		o.said = &Said{value, app, at}
	}
}

// progressiveSyncs reports whether RollingSync counts: by the Config, the settings, or deployed objects; nil if unknown.
func (l *loader) progressiveSyncs() *bool {
	switch {
	case l.cfg.ProgressiveSyncs != nil:
		return l.cfg.ProgressiveSyncs
	case l.cfg.Settings != nil && l.cfg.Settings.ProgressiveSyncs != nil:
		return l.cfg.Settings.ProgressiveSyncs
	}
	return l.progressive.Known()
}

// setPolicy is the policy that the applicationset-controller forces on sets: by the settings, or by deployed objects.
func (l *loader) setPolicy() argo.ApplicationsSync {
	if l.cfg.Settings != nil && l.cfg.Settings.SetPolicy != "" {
		return l.cfg.Settings.SetPolicy
	}
	return l.progressive.Policy()
}

const setHealthy = "an ApplicationSet is healthy as soon as its Applications exist"

// setGate reports whether the next wave waits for an ApplicationSet: because its Applications cannot be rendered, for its rollout, or
// because a health check of the settings reads its Applications.
func (l *loader) setGate(item *Item) (hold, string) {
	if item.Broken {
		return holds, "its Applications cannot be generated (ErrorOccurred), so it is Degraded, which fails the wave"
	}
	if key, err := l.checks().Covers(item.Object); key != "" && err == nil && l.seesSets() {
		return holds, "health check " + key
	}
	switch on := l.plan.ProgressiveSyncs; {
	case !item.Rollout:
		return passes, setHealthy
	case on == nil:
		return mayHold, "it is not known whether the applicationset-controller has --enable-progressive-syncs, without which it ignores " +
			"RollingSync, and " + setHealthy
	case !*on:
		return passes, "the applicationset-controller ignores RollingSync without --enable-progressive-syncs, and " + setHealthy
	}
	return holds, "it is Progressing until the last step of its RollingSync is healthy, except for a moment after it was created"
}

// rollouts says which sets have a RollingSync that does not hold back the waves behind them.
func (l *loader) rollouts() {
	for _, app := range l.plan.Applications {
		for _, item := range app.Items {
			last := app.Items[len(app.Items)-1]
			behind := !app.Applied && (item.Wave != last.Wave || item.Phase != last.Phase)
			if !item.Rollout || item.Waits || !behind && l.plan.ProgressiveSyncs == nil {
				continue
			}
			f := Finding{Rule: RuleRolloutUnknown, Subject: item.Name, Position: item.Position, Origin: app.Origin}
			f.Message = "it has RollingSync; whether the waves behind it wait for its rollout depends on --enable-progressive-syncs of " +
				"the applicationset-controller, which is not known: set --progressive-syncs on or off"
			if l.plan.ProgressiveSyncs != nil {
				f.Rule = RuleRolloutIgnored
				f.Message = "it has RollingSync, which the applicationset-controller ignores without --enable-progressive-syncs: all its " +
					"Applications sync at once"
				if behind {
					f.Message += ", and the waves behind it do not wait for them"
				}
			}
			l.note(f)
		}
	}
}
