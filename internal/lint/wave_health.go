package lint

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/settings"
)

// installCheck is the cure of a health check of Applications that is not good enough.
const installCheck = "Run \"argosy health script applications\" and put its output into argocd-cm, key " +
	"resource.customizations.health.argoproj.io_Application."

var ruleAlwaysHealthy = Rule{
	Rule: plan.Rule{
		Name: "health-check-always-healthy", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "The health check of Applications calls an Application Healthy that is not. No wave waits for an Application.",
		Cure:  installCheck,
	},
	Family: Waves,
	Why:    "The installed health check was run on an Application whose own health is Progressing, and on a Degraded one.",
	check: func(p *pass) {
		if status := p.trial().Ignores(); status != "" {
			p.script("the health check of Applications (%s) calls an Application Healthy that is %s", p.Settings.Origin, status)
		}
	},
}

// trial tries the health check of Applications, if the known settings have one. The rule settings-unknown reports unknown settings.
func (p *pass) trial() health.Trial {
	t := health.Trial{Limits: health.Limits{Version: p.Version}, Namespace: p.Namespace}
	if p.Settings != nil && !p.Settings.Partial && len(p.roots()) == 1 { // several can be in several clusters
		t.Checks = p.Settings.Health
	}
	return t
}

// script notes something about the health check of Applications: where the plan deploys it, or else at the root.
func (p *pass) script(format string, args ...any) {
	p.find(p.roots()[0], nil, format, args...)
	f := &p.found[len(p.found)-1]
	if p.Settings.Kind != settings.InConfigMap {
		return
	}
	for _, app := range p.Applications {
		for _, item := range app.Items {
			_, has := manifest.Map(item.Object, "data")[health.ApplicationKey]
			if has && item.Kind == "ConfigMap" && item.Name == p.Settings.Name && item.Position.File != "" {
				f.Subject, f.Position, f.Origin, f.Field = app.Name, item.Position, app.Origin, []string{"data", health.ApplicationKey}
				return
			}
		}
	}
}

// waited are the Applications that waves behind them wait for.
func (p *pass) waited() []*plan.Application {
	var out []*plan.Application
	for _, parent := range p.applications() {
		for _, item := range parent.Items {
			if a := item.Application; a != nil && !a.Itself && item.Waits && behind(parent, item) {
				out = append(out, a)
			}
		}
	}
	return out
}

var ruleHealthCopies = Rule{
	Rule: plan.Rule{
		Name: "health-check-copies-health", Kind: plan.Ordering, Severity: plan.Info,
		Means: "The health check of Applications looks at status.health alone. That is also Healthy for an Application whose manifests " +
			"cannot be rendered, and for one that has not seen its new spec yet. The next wave starts too early.",
		Cure: installCheck,
	},
	Family: Waves,
	Why: "The installed health check was run on an Application whose sync status is Unknown, with a ComparisonError, and on one whose " +
		"status.sync.comparedTo has another revision than its spec. Argo CD keeps Healthy for both (controller/appcontroller.go, read in " +
		"3.2.11).",
	check: func(p *pass) {
		waited := p.waited()
		if len(waited) == 0 || p.trial().Ignores() != "" || p.has(plan.RuleHealthCheckNested, "") || p.ignoresSync() != nil {
			return // these have the same cure, and are worse
		}
		var wrong []string
		for text, sample := range map[string]health.Sample{
			"whose manifests cannot be rendered": health.SampleBroken,
			"that has not seen its new spec":     health.SampleOutdated,
		} {
			if h, ok, err := p.trial().Run(sample); err == nil && ok && h.Status == health.Healthy {
				wrong = append(wrong, text)
			}
		}
		if len(wrong) > 0 {
			slices.Sort(wrong)
			p.script("the health check of Applications (%s) calls an Application Healthy %s; waves wait for it, such as those behind %s",
				p.Settings.Origin, strings.Join(wrong, ", and one "), waited[0].Name)
		}
	},
}

var ruleHealthWithoutStatus = Rule{
	Rule: plan.Rule{
		Name: "health-check-without-status", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "The health check of Applications does not know what to do with an Application that has no status yet, such as every new " +
			"one. If the check returns Healthy, the next wave starts at once. If the check fails, the parent reports a " +
			"ComparisonError until the status is there.",
		Cure: installCheck,
	},
	Family: Waves,
	Why: "The installed health check was run on an Application without status, and on one with an empty status. An error of a script is " +
		"an error of the comparison (setApplicationHealth in controller/health.go, read in 3.2.11).",
	check: func(p *pass) {
		if p.trial().Ignores() != "" {
			return
		}
		for _, sample := range []health.Sample{health.SampleNew, health.SampleEmpty} {
			switch h, ok, err := p.trial().Run(sample); {
			case err != nil:
				p.script("the health check of Applications (%s) fails on an Application that has no status yet: %v", p.Settings.Origin, err)
				return
			case ok && h.Status == health.Healthy:
				p.script("the health check of Applications (%s) calls an Application Healthy that has no status yet", p.Settings.Origin)
				return
			}
		}
	},
}

var ruleHealthIgnoresSync = Rule{
	Rule: plan.Rule{
		Name: "health-check-ignores-sync", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "The health check of Applications calls an Application Healthy in the middle of its sync. Since Argo CD 3.4, objects that " +
			"are not there yet do not count, so an Application with several waves is Healthy after each of them, and the next wave of " +
			"its parent starts too early.",
		Cure: installCheck,
	},
	Family: Waves, Since: 4,
	Why: "Missing objects are left out of the health of an Application unless all of them are missing (setApplicationHealth in " +
		"controller/health.go, read in 3.4.12; 3.2.11 counts them). The installed health check was run on an Application with a running " +
		"sync.",
	check: func(p *pass) {
		if app := p.ignoresSync(); app != nil {
			p.script("the health check of Applications (%s) ignores running syncs; %s can be Healthy before its last wave is deployed",
				p.Settings.Origin, app.Name)
		}
	},
}

// ignoresSync is an Application with several waves that waves of its parent do not wait for, because the health check ignores syncs.
func (p *pass) ignoresSync() *plan.Application {
	if p.SyncAware || !p.Version.Has(versions.MissingNotCounted) || p.trial().Ignores() != "" {
		return nil
	}
	for _, app := range p.waited() {
		if len(app.Waves()) > 1 && !app.DeploysOthers() {
			return app
		}
	}
	return nil
}
