package appset

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// RollingSteps returns the steps of a spec with RollingSync, nil if it has none. Argo CD then deploys all Applications at once.
func RollingSteps(spec map[string]any) []any {
	steps, _ := manifest.Map(spec, "strategy", "rollingSync")["steps"].([]any)
	if argo.StrategyOf(spec) != argo.RollingSync || len(steps) == 0 {
		return nil
	}
	return steps
}

// Selected returns for each step of a RollingSync the Applications that it selects, also those that an earlier step selects.
func Selected(spec map[string]any, apps []manifest.Object) [][]int {
	steps := RollingSteps(spec)
	out := make([][]int, len(steps))
	if len(apps) == 0 || manifest.Size(steps) > maxSelections/len(apps) {
		return out
	}
	for i, v := range steps {
		step, _ := v.(map[string]any)
		for n, app := range apps {
			if selects(step, app) {
				out[i] = append(out[i], n)
			}
		}
	}
	return out
}

// ValidMaxUpdate reports whether Argo CD can read maxUpdate of a step.
func ValidMaxUpdate(v any) bool {
	_, valid := maxUpdate(v, 1)
	return valid
}

// rollout is a set with RollingSync.
type rollout struct {
	set    Set
	apps   []manifest.Object
	anchor int   // the lowest wave of the Applications
	rank   []int // for each Application how many waves are between it and the anchor; notSelected for one that no step selects
	waves  int   // how many the steps take

	warnings []string
}

const notSelected = -1

// maxSelections bounds the bytes of steps times Applications, so the time that it takes to compare labels with steps.
const maxSelections = 1 << 30

const maxStepWarnings = 20

// roll gives the Applications of sets with RollingSync the waves of their steps. A set starts at the lowest wave of its Applications; later
// waves of the answer move back to make room for the steps, so that they still wait for the whole set.
func (x Expansion) roll(out *Expanded, rollouts []*rollout) error {
	if len(rollouts) == 0 {
		return nil
	}
	extra := map[int]int{}
	for _, r := range rollouts {
		if err := r.assign(); err != nil {
			out.Objects = nil
			return r.set.errorf("%w", err)
		}
		if r.waves > 1 && !x.Pinned {
			r.warn("spec.strategy: the steps order creation and changes of Applications; new commits in their repositories follow the " +
				"steps " +
				"only with the parameter pin")
		}
		out.Warnings = append(out.Warnings, generator.In(r.set.String(), r.set.Position, generator.Warnings("", r.warnings...))...)
		extra[r.anchor] = max(extra[r.anchor], r.waves-1)
	}
	moved := movedBy(extra)
	rolled, last := map[argo.Ref]bool{}, math.MinInt
	for _, r := range rollouts {
		for i, app := range r.apps {
			rolled[x.ref(app)] = true
			if r.rank[i] != notSelected {
				setWave(app, moved(r.anchor)+r.rank[i])
				last = max(last, waveOf(app))
			}
		}
	}
	for i, o := range out.Objects {
		if argo.IsApplication(o) && rolled[x.ref(o)] {
			continue
		}
		wave := waveOf(o)
		if to := moved(wave); to != wave {
			out.Objects[i] = inWave(o, to)
			wave = to
		}
		last = max(last, wave)
	}
	// No step syncs these Applications, so no wave may come after them.
	for _, r := range rollouts {
		for i, app := range r.apps {
			if r.rank[i] == notSelected {
				setWave(app, max(last, r.anchor))
			}
		}
	}
	return stepsAgainstNeeds(out)
}

// movedBy returns the new number of a wave after extra waves were inserted behind some.
func movedBy(extra map[int]int) func(wave int) int {
	anchors := slices.Sorted(maps.Keys(extra))
	sums := make([]int, len(anchors)+1)
	for i, anchor := range anchors {
		sums[i+1] = sums[i] + extra[anchor]
	}
	return func(wave int) int {
		before, _ := slices.BinarySearch(anchors, wave)
		return wave + sums[before]
	}
}

// stepsAgainstNeeds reports Applications that need one of a later step.
func stepsAgainstNeeds(out *Expanded) error {
	waves := map[string]int{}
	for _, o := range out.Objects {
		if argo.IsApplication(o) {
			waves[manifest.String(o, "metadata", "name")] = waveOf(o)
		}
	}
	var errs []error
	for _, o := range out.Objects {
		name := manifest.String(o, "metadata", "name")
		for _, need := range argo.Dependencies(o) {
			if argo.IsApplication(o) && waves[need] >= waves[name] {
				errs = append(errs, fmt.Errorf("%s %q: %s: it needs %q, which the steps of a RollingSync deploy later, or at the same time",
					argo.KindApplication, name, argo.DependsAnnotation, need))
			}
		}
	}
	if len(errs) > 0 {
		out.Objects = nil
	}
	return errors.Join(errs...)
}

func waveOf(o manifest.Object) int {
	_, wave, _ := order.Place(o)
	return wave
}

// setWave gives an Application a wave.
func setWave(app manifest.Object, wave int) {
	meta := metadata(app)
	annotations, ok := meta["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		meta["annotations"] = annotations
	}
	annotations[argo.SyncWaveAnnotation] = strconv.Itoa(wave)
}

// inWave returns a copy of an object in a wave. The original may be shared and is not changed.
func inWave(o manifest.Object, wave int) manifest.Object {
	out, meta := maps.Clone(o), maps.Clone(manifest.Map(o, "metadata"))
	if meta == nil {
		meta = map[string]any{}
	}
	if annotations, ok := meta["annotations"].(map[string]any); ok {
		meta["annotations"] = maps.Clone(annotations)
	}
	out["metadata"] = meta
	setWave(out, wave)
	return out
}

// assign finds the step of each Application. It also sets automated sync: the controller turns it off and syncs selected Applications
// itself, so here selected Applications sync automatically and the others do not.
func (r *rollout) assign() error {
	steps := RollingSteps(r.set.Spec)
	if size := manifest.Size(steps); size > maxSelections/len(r.apps) {
		return fmt.Errorf("spec.strategy.rollingSync.steps: the steps (%d bytes) are too large to match against %d Applications; use "+
			"fewer or shorter matchExpressions", size, len(r.apps))
	}
	r.rank = slices.Repeat([]int{notSelected}, len(r.apps))
	r.anchor = math.MaxInt
	for _, app := range r.apps {
		r.anchor = min(r.anchor, waveOf(app))
	}
	taken := make([]bool, len(r.apps))
	selected := make([][]int, len(steps))
	for i, v := range steps {
		step, _ := v.(map[string]any)
		selected[i] = r.selected(fmt.Sprintf("spec.strategy.rollingSync.steps[%d]", i), step, taken)
	}
	var left []string
	for i, app := range r.apps {
		if !taken[i] {
			left = append(left, manifest.String(app, "metadata", "name"))
			setAutomated(app, false)
		}
	}
	for i, v := range steps {
		of := len(selected[i])
		if i == 0 {
			of += len(left) // the controller counts these as the first step's (updateApplicationSetApplicationStatusProgress)
		}
		step, _ := v.(map[string]any)
		most, valid := maxUpdate(step["maxUpdate"], of)
		if !valid {
			r.warn("spec.strategy.rollingSync.steps[%d].maxUpdate: neither a number nor a percentage; as in Argo CD, one Application is "+
				"updated at a time", i)
		}
		r.place(selected[i], most)
	}
	if len(left) > 0 {
		r.warn("spec.strategy: no step selects %s; as in Argo CD, automated sync is off, and somebody must sync by hand",
			words.First(left, maxNames))
	}
	return nil
}

// selected returns the Applications of a step that no earlier step has taken.
func (r *rollout) selected(path string, step map[string]any, taken []bool) (out []int) {
	var twice []string
	for i, app := range r.apps {
		switch {
		case !selects(step, app):
		case taken[i]:
			twice = append(twice, manifest.String(app, "metadata", "name"))
		default:
			taken[i] = true
			out = append(out, i)
		}
	}
	expressions, _ := step["matchExpressions"].([]any)
	for i, v := range expressions {
		e, _ := v.(map[string]any)
		if operator := manifest.String(e, "operator"); operator != "In" && operator != "NotIn" {
			r.warn("%s.matchExpressions[%d].operator: %q is neither In nor NotIn; as in Argo CD, it matches Applications without the "+
				"label %q",
				path, i, operator, manifest.String(e, "key"))
		}
	}
	if len(twice) > 0 {
		r.warn("%s: an earlier step already selects %s; the first step counts, and Argo CD itself never gets past such a step", path,
			words.First(twice, maxNames))
	}
	return out
}

// warn notes a problem. After some of them it notes only that there are more.
func (r *rollout) warn(format string, args ...any) {
	switch n := len(r.warnings); {
	case n < maxStepWarnings:
		r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
	case n == maxStepWarnings:
		r.warnings = append(r.warnings, "spec.strategy: there are more problems with the steps")
	}
}

// place gives the Applications of a step their ranks, at most so many of them the same. None at all means that they are synced by hand, and
// that the next step waits for that.
func (r *rollout) place(selected []int, most int) {
	slices.SortStableFunc(selected, func(a, b int) int { return cmp.Compare(waveOf(r.apps[a]), waveOf(r.apps[b])) })
	inWave := 0
	for n, i := range selected {
		if n == 0 || inWave == most || waveOf(r.apps[selected[n-1]]) != waveOf(r.apps[i]) {
			r.waves++
			inWave = 0
		}
		inWave++
		r.rank[i] = r.waves - 1
		setAutomated(r.apps[i], most > 0)
	}
}

// selects reports whether a step selects an Application (buildAppDependencyList in applicationset/controllers, v3.2.11).
func selects(step map[string]any, app manifest.Object) bool {
	expressions, _ := step["matchExpressions"].([]any)
	labels := manifest.Map(app, "metadata", "labels")
	for _, v := range expressions {
		e, _ := v.(map[string]any)
		operator := manifest.String(e, "operator")
		label, ok := labels[manifest.String(e, "key")].(string)
		if !ok {
			if operator == "In" {
				return false
			}
			continue
		}
		values, _ := e["values"].([]any)
		if in := slices.Contains(values, any(label)); operator != "In" && operator != "NotIn" || in != (operator == "In") {
			return false
		}
	}
	return true
}

// maxUpdate returns how many Applications of a step are updated at once, and whether it is written as Argo CD reads it: a number, or a
// percentage that is rounded down, but to 1 at least (updateApplicationSetApplicationStatusProgress in applicationset/controllers,
// v3.2.11). 0 is none.
func maxUpdate(v any, of int) (most int, valid bool) {
	switch v := v.(type) {
	case nil:
		return of, true
	case int64:
		return int(max(0, v)), true
	case string:
		if v == "0%" {
			return 0, true
		}
		digits, ok := strings.CutSuffix(v, "%")
		percent, err := strconv.Atoi(digits)
		if !ok || err != nil {
			return 1, false
		}
		return max(1, min(percent, 1e6)*of/100), true
	}
	return 1, false
}

// setAutomated turns automated sync on, if it is not, or off, if it is.
func setAutomated(app manifest.Object, on bool) {
	automated, is := argo.Automated(app)
	if is == on {
		return
	}
	if !on {
		automated["enabled"] = false
		return
	}
	spec := manifest.Map(app, "spec")
	policy, ok := spec["syncPolicy"].(map[string]any)
	if !ok {
		policy = map[string]any{}
		spec["syncPolicy"] = policy
	}
	policy["automated"] = map[string]any{"enabled": true}
}
