package lint

import (
	"regexp"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/plan"
)

// Paths of fields that rules of the planner are about.
var (
	fieldWave    = []string{"metadata", "annotations", argo.SyncWaveAnnotation}
	fieldNeeds   = []string{"metadata", "annotations", argo.DependsAnnotation}
	fieldPaths   = []string{"metadata", "annotations", argo.PathsAnnotation}
	fieldProject = []string{"spec", "project"}
	fieldSync    = []string{"spec", "syncPolicy"}
)

// inMessage matches the path of a field in the message of a finding.
var inMessage = regexp.MustCompile(`(?:^|[ .])((?:spec|metadata)(?:\.[A-Za-z]+|\[\d+\])*): `)

// ofSource matches the path of a field of a source at the beginning of the message of a finding.
var ofSource = regexp.MustCompile(`^((?:helm|kustomize|directory|plugin)(?:\.[A-Za-z]+|\[\d+\])+): `)

// fieldOf is the path of the field that a message names, nil if it names none.
func fieldOf(message string) []string {
	if m := ofSource.FindStringSubmatch(message); m != nil {
		return strings.Split("spec.source."+strings.ReplaceAll(m[1], "[", ".["), ".")
	}
	m := inMessage.FindStringSubmatch(message)
	if m == nil {
		return nil
	}
	return strings.Split(strings.ReplaceAll(m[1], "[", ".["), ".")
}

// placed is the family of a rule of the planner, and the field that it is about.
type placed struct {
	family Family
	field  []string
}

// describe adds the family and the field of a planner's rule. By default they follow from the rule's kind.
func describe(r plan.Rule) Rule {
	p, ok := map[string]placed{
		plan.RuleNameTwice.Name:        {Names, []string{"metadata", "name"}},
		plan.RuleSeveralParents.Name:   {Names, []string{"metadata", "name"}},
		plan.RuleAlternatives.Name:     {Names, []string{"metadata", "name"}},
		plan.RuleOtherNamespace.Name:   {Names, []string{"metadata", "namespace"}},
		plan.RuleSetBroken.Name:        {Templates, nil},
		plan.RulePlaceholderLeft.Name:  {Templates, nil},
		plan.RuleGlobDeeper.Name:       {Templates, nil},
		plan.RuleMergeKey.Name:         {Templates, nil},
		plan.RuleSetEmpty.Name:         {Templates, []string{"spec", "generators"}},
		plan.RuleKindLater.Name:        {Prerequisites, nil},
		plan.RuleKindMissing.Name:      {Prerequisites, nil},
		plan.RuleNamespaceLater.Name:   {Prerequisites, nil},
		plan.RuleNamespaceMissing.Name: {Prerequisites, nil},
		plan.RuleProjectLater.Name:     {Prerequisites, fieldProject},
		plan.RuleProjectMissing.Name:   {Prerequisites, fieldProject},
		plan.RuleProjectForbids.Name:   {Prerequisites, fieldProject},
		plan.RuleVolumeWaits.Name:      {Prerequisites, fieldWave},
		plan.RuleWaveNotANumber.Name:   {Waves, fieldWave},
		plan.RuleNeedsLater.Name:       {Waves, fieldNeeds},
		plan.RuleNeedsCycle.Name:       {Waves, fieldNeeds},
		plan.RuleNeedsMissing.Name:     {Waves, fieldNeeds},
		plan.RulePinnedPaths.Name:      {Waves, fieldPaths},
		plan.RuleSyncByHand.Name:       {Wedges, fieldSync},
		plan.RuleRolloutIgnored.Name:   {Waves, []string{"spec", "strategy"}},
	}[r.Name]
	if !ok {
		p.family = map[plan.Kind]Family{
			plan.Broken: Fields, plan.Unknown: Unchecked, plan.Ordering: Waves, plan.Advice: Fields,
		}[r.Kind]
	}
	return Rule{Rule: r, Family: p.family, field: p.field}
}
