package lint

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/strict"
	"github.com/argosy-cd/argosy/internal/words"
)

var ruleNoStep = Rule{
	Rule: plan.Rule{
		Name: "app-in-no-step", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "No step of the RollingSync selects the Application. The controller turns its automated sync off, and nobody syncs " +
			"it.",
		Cure: "Give the Application a label that a step selects, or add a step that selects the rest (operator NotIn).",
	},
	Family: Fields,
	Why: "With RollingSync the controller syncs the Applications of the steps, and no others (buildAppDependencyList and " +
		"syncValidApplications in applicationset/controllers/applicationset_controller.go, read in 3.2.11).",
	check: func(p *pass) {
		p.rollouts(func(s set, apps []manifest.Object, steps [][]int) {
			var left []string
			for i, app := range apps {
				if !slices.ContainsFunc(steps, func(step []int) bool { return slices.Contains(step, i) }) {
					left = append(left, manifest.String(app, "metadata", "name"))
				}
			}
			if len(left) > 0 {
				p.set(s, fieldSteps(), "no step selects %s, and the controller turns automated sync off there", words.Some(left))
			}
		})
	},
}

var ruleStepEmpty = Rule{
	Rule: plan.Rule{
		Name: "step-without-applications", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "A step of the RollingSync has no Applications of its own: its labels match none, or those that they match are in an " +
			"earlier step, which counts. The step does nothing.",
		Cure: "Correct the labels of the step or of the template, or remove the step.",
	},
	Family: Fields,
	Why: "An Application belongs to the first step that selects it (buildAppDependencyList in applicationset/controllers/" +
		"applicationset_controller.go, read in 3.2.11).",
	check: func(p *pass) {
		p.rollouts(func(s set, _ []manifest.Object, steps [][]int) {
			taken := map[int]bool{}
			for i, step := range steps {
				own := 0
				for _, app := range step {
					if !taken[app] {
						own++
					}
					taken[app] = true
				}
				switch {
				case len(step) == 0:
					p.set(s, fieldSteps(strict.Index(i)), "the step selects no Application")
				case own == 0:
					p.set(s, fieldSteps(strict.Index(i)), "earlier steps have all Applications that the step selects")
				}
			}
		})
	},
}

var ruleNoStrategy = Rule{
	Rule: plan.Rule{
		Name: "strategy-without-effect", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "The set has a strategy that the controller does not know, or RollingSync without steps. It deploys all Applications at " +
			"once.",
		Cure: "Write type: RollingSync with at least one step, or remove the strategy.",
	},
	Family: Fields,
	Why: "Only RollingSync with steps is followed (progressiveSyncsRollingSyncStrategyEnabled in applicationset/controllers/" +
		"applicationset_controller.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			switch kind := argo.StrategyOf(s.spec); {
			case s.item == nil: // the plugin warns itself
			case kind == argo.RollingSync && appset.RollingSteps(s.spec) == nil:
				p.set(s, []string{"strategy", "rollingSync"}, "RollingSync has no steps, so all Applications are deployed at once")
			case kind != argo.RollingSync && manifest.Map(s.spec, "strategy", "rollingSync") != nil, !kind.Known():
				p.set(s, []string{"strategy", "type"}, "the type %q has no steps, so all Applications are deployed at once", kind)
			}
		}
	},
}

var ruleMaxUpdate = Rule{
	Rule: plan.Rule{
		Name: "max-update-wrong", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "maxUpdate is neither a number nor a percentage. The controller updates one Application at a time.",
		Cure:  "Write a number without quotes, or a percentage such as 25%.",
	},
	Family: Fields,
	Why: "A text without % is an error that the controller logs only (updateApplicationSetApplicationStatusProgress in " +
		"applicationset/controllers/applicationset_controller.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, s := range p.sets() {
			for i, v := range appset.RollingSteps(s.spec) {
				step, _ := v.(map[string]any)
				if !appset.ValidMaxUpdate(step["maxUpdate"]) && s.item != nil {
					p.set(s, fieldSteps(strict.Index(i), "maxUpdate"), "%v is neither a number nor a percentage", step["maxUpdate"])
				}
			}
		}
	},
}

func fieldSteps(more ...string) []string {
	return append([]string{"strategy", "rollingSync", "steps"}, more...)
}

// rollouts calls a function for each set with RollingSync whose Applications are known, with the Applications that each step selects. The
// plugin appset warns about its own.
func (p *pass) rollouts(visit func(s set, apps []manifest.Object, steps [][]int)) {
	for _, s := range p.sets() {
		if s.item == nil || !s.item.Rollout || s.item.Unknown != "" || len(s.item.Children) == 0 ||
			p.ProgressiveSyncs != nil && !*p.ProgressiveSyncs {
			continue
		}
		var apps []manifest.Object
		for _, child := range s.item.Children {
			apps = append(apps, child.Object)
		}
		visit(s, apps, appset.Selected(s.spec, apps))
	}
}
