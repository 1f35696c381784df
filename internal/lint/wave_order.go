package lint

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
)

var ruleWaveDelay = Rule{
	Rule: plan.Rule{
		Name: "wave-delay", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "The pause between waves was made longer. It orders nothing: it begins when a wave was applied, and Argo CD goes on after " +
			"it whether or not the wave did its work. It makes every sync of every Application longer, and blocks a worker of the " +
			"controller meanwhile.",
		Cure: "Remove the setting, and let waves wait for health: give the kinds in question a health check.",
	},
	Family: Waves,
	Why:    "The controller sleeps after each wave but the last (delayBetweenSyncWaves in controller/sync.go, read in 3.2.11).",
	check: func(p *pass) {
		const longest = 5 // a few seconds more help slow controllers to react, as the docs say
		d := p.WaveDelay
		if d == nil {
			return // Argo CD's default
		}
		if n, err := strconv.Atoi(d.Value); err == nil && n > longest {
			p.find(d.App, nil, "the pause between waves is %d s; it does not make waves wait for health", n)
			p.found[len(p.found)-1].Position = d.Position
		}
	},
}

var ruleFollowsBranch = Rule{
	Rule: plan.Rule{
		Name: "updates-follow-branch", Kind: plan.Ordering, Severity: plan.Info,
		Means: "Waves order the first boot only. The Applications follow a branch of the repository that their parent is in, so a commit " +
			"reaches all of them at the same time, and each syncs itself, whatever its wave is.",
		Cure: "Pin them to the commit of the parent: render them by the plugin appset with the parameter pin.",
	},
	Family: Waves,
	Why: "Sync waves act inside the sync of the parent, which does not change if only the branch of a child moves (autoSync in " +
		"controller/appcontroller.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, parent := range p.applications() {
			var names []string
			waves := map[int]bool{}
			for _, item := range parent.Items {
				if a := item.Application; a != nil && !a.Itself && !a.Pinned && a.Automated && followsSame(parent, a) {
					names = append(names, a.Name)
					waves[item.Wave] = true
				}
			}
			if len(waves) > 1 {
				p.find(parent, []string{"spec", "source"}, "%s, in %d waves, follow a branch of the same repository: a commit reaches "+
					"all of them at once", words.Some(names), len(waves))
			}
		}
	},
}

// followsSame reports whether an Application follows a branch of a repository that its parent is in.
func followsSame(parent, child *plan.Application) bool {
	for _, s := range child.Sources {
		for _, q := range parent.Sources {
			if s.Chart == "" && !argo.IsCommit(s.Revision) && giturl.Canonical(s.Repository) == giturl.Canonical(q.Repository) {
				return true
			}
		}
	}
	return false
}

var ruleWaveInside = Rule{
	Rule: plan.Rule{
		Name: "wave-inside-contradicts", Kind: plan.Ordering, Severity: plan.Info,
		Means: "All objects of an Application are in one wave, but not in the wave of the Application itself. Their wave has no " +
			"effect: the order among Applications is that of the Applications' own waves.",
		Cure: "Remove the wave from the objects, or give it to the Application.",
	},
	Family: Waves,
	Why: "Sync waves order the objects of one sync, and each Application has its own syncs (pkg/sync/sync_tasks.go of gitops-engine, " +
		"read in 3.2.11).",
	check: func(p *pass) {
		for _, parent := range p.applications() {
			for _, item := range parent.Items {
				if a := item.Application; a != nil && !a.Itself && a.Verdict() == source.Known {
					p.inside(parent, item)
				}
			}
		}
	},
}

// inside compares the wave of an Application with that of its objects, if these have one wave.
func (p *pass) inside(parent *plan.Application, item *plan.Item) {
	own, wave, first := "", manifest.String(item.Object, "metadata", "annotations", argo.SyncWaveAnnotation), (*plan.Item)(nil)
	for _, i := range item.Application.Items {
		at := manifest.String(i.Object, "metadata", "annotations", argo.SyncWaveAnnotation)
		if at == "" || own != "" && own != at {
			return
		}
		if own = at; first == nil {
			first = i
		}
	}
	if first == nil || wave == "" || wave == own || order.Compare(plan.Sync, first.Wave, plan.Sync,
		item.Wave) == 0 || !inFile(first) {
		return
	}
	p.item(item.Application, first, fieldWave, "all of its objects are in wave %s, which has no effect; %s deploys it in wave %s", own,
		parent.Name, wave)
}

var ruleWaveGap = Rule{
	Rule: plan.Rule{
		Name: "wave-gap", Kind: plan.Ordering, Severity: plan.Info,
		Means: "A parent has no Applications in a wave between others. That is harmless: Argo CD goes from one wave to the next that " +
			"there is. It may be a wave whose Application is missing.",
		Cure: "Check that nothing is missing; otherwise leave it.",
	},
	Family: Waves,
	Why: "Argo CD asks for the least wave that is left, whatever its number (tasks.wave in pkg/sync/sync_tasks.go of gitops-engine, read " +
		"in 3.2.11).",
	check: func(p *pass) {
		for _, parent := range p.applications() {
			if missing, before := gap(parent); before != nil {
				p.find(parent, nil, "nothing is in wave %s, between wave %d and wave %d", missing, before[0], before[1])
			}
		}
	},
}

// gap returns the first waves that are missing between those of the Applications of a parent, and those around them; nil if all steps
// between waves are the same.
func gap(parent *plan.Application) (string, []int) {
	var waves []int
	for _, item := range parent.Items {
		if (item.Application != nil || item.Children != nil) && !slices.Contains(waves, item.Wave) {
			waves = append(waves, item.Wave)
		}
	}
	slices.Sort(waves)
	if len(waves) < 3 {
		return "", nil
	}
	step := waves[1] - waves[0]
	for i := 1; i < len(waves); i++ {
		step = min(step, waves[i]-waves[i-1])
	}
	for i := 1; i < len(waves); i++ {
		if from, to := waves[i-1], waves[i]; to-from > step {
			if to-from == 2*step {
				return strconv.Itoa(from + step), []int{from, to}
			}
			return fmt.Sprintf("%d to %d", from+step, to-step), []int{from, to}
		}
	}
	return "", nil
}

var ruleKindGate = Rule{
	Rule: plan.Rule{
		Name: "kind-does-not-gate", Kind: plan.Ordering, Severity: plan.Info,
		Means: "Argo CD has no health check for a custom kind, so later waves start as soon as the object is applied, before its " +
			"controller has finished. The kind reports its state in status.conditions, so a check is possible.",
		Cure: "Add a health check for the kind to argocd-cm: resource.customizations.health.GROUP_KIND.",
	},
	Family: Waves,
	Why: "An object without a health check is done when it is applied (pkg/sync/sync_context.go of gitops-engine, read in 3.2.11). The " +
		"CRD of the kind is in the plan, and its schema has status.conditions.",
	check: func(p *pass) {
		reports := p.reportingKinds()
		for _, app := range p.applications() {
			silent := p.silent(app, reports)
			for _, kind := range manifest.Keys(silent) {
				item := silent[kind]
				p.item(app, item, fieldWave, "Argo CD has no health check for %s, so the waves behind %s do not wait until %s is ready",
					kind, item.At(), item.Name)
			}
		}
	},
}

// silent are the first objects of custom kinds, by kind, that report conditions which no wave behind them waits for.
func (p *pass) silent(app *plan.Application, reports map[string]bool) map[string]*plan.Item {
	last := math.MinInt
	for _, item := range app.Items {
		if item.Phase == plan.Sync && !item.Hook {
			last = max(last, item.Wave)
		}
	}
	out := map[string]*plan.Item{}
	for _, item := range app.Items {
		kind := item.Group + "/" + item.Kind
		if order.BuiltIn(item.Group) || item.Group == argo.Group || item.Hook || item.Waits || out[kind] != nil || item.Wave >= last {
			continue
		}
		has, known := reports[kind]
		switch {
		case p.Settings == nil || p.Settings.Partial:
			p.miss("Argo CD's settings were not found; they may have a health check of %s", kind)
		case !known:
			p.miss("%s: Argo CD has no health check for %s, and its CRD is not in the plan, so it is not known whether there is "+
				"something to wait for", app.Name, kind)
		case has:
			out[kind] = item
		}
	}
	return out
}

// reportingKinds reports, for the kinds whose CRDs the plan has, whether they have status.conditions.
func (p *pass) reportingKinds() map[string]bool {
	out := map[string]bool{}
	for _, app := range p.Applications {
		for _, item := range app.Items {
			kind := order.DefinedKind(item.Object)
			if kind == "" {
				continue
			}
			out[kind] = false
			versions, _ := manifest.Map(item.Object, "spec")["versions"].([]any)
			for _, v := range versions {
				m, _ := v.(map[string]any)
				if manifest.Map(m, "schema", "openAPIV3Schema", "properties", "status", "properties")["conditions"] != nil {
					out[kind] = true
				}
			}
		}
	}
	return out
}

var ruleHookDeadline = Rule{
	Rule: plan.Rule{
		Name: "hook-without-deadline", Kind: plan.Ordering, Severity: plan.Info,
		Means: "A hook is a Job without activeDeadlineSeconds. If its Pod cannot start, for example because of its image, the Job " +
			"and the sync never end, and the commit with the fix is not deployed.",
		Cure: "Set spec.activeDeadlineSeconds on the Job, or a sync timeout (controller.sync.timeout.seconds in argocd-cmd-params-cm).",
	},
	Family: Waves,
	Why: "A sync waits for its hooks (pkg/sync/sync_context.go of gitops-engine, read in 3.2.11). backoffLimit counts Pods that failed, " +
		"and one that waits for its image has not.",
	check: func(p *pass) {
		if p.SyncTimeout != nil && p.SyncTimeout.Value != "0" {
			return
		}
		for _, app := range p.applications() {
			for _, item := range app.Items {
				if !item.Hook || item.Group != "batch" || item.Kind != "Job" || item.Phase == plan.SyncFail || !inFile(item) ||
					manifest.Map(item.Object, "spec")["activeDeadlineSeconds"] != nil ||
					manifest.Map(item.Object, "spec", "template", "spec")["activeDeadlineSeconds"] != nil {
					continue
				}
				p.item(app, item, []string{"spec"}, "%s hook Job %s has no deadline; if its Pod cannot start, the sync waits for ever",
					item.Phase, strings.TrimSuffix(item.Name, "*"))
			}
		}
	},
}

// inFile reports whether an object is written in a file, and not rendered by a chart, which may be a third party's.
func inFile(item *plan.Item) bool {
	return item.Position.File != "" && item.Position.Made != manifest.Rendered
}
