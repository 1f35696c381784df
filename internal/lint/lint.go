// Package lint finds problems of a boot before it starts: it runs rules over a plan, and puts every finding at a line and a column
// of the user's files.
//
// The findings of the planner and those of the rules here are of one kind and in one table. A rule reports only known facts: where the
// settings of Argo CD, a chart or a cluster is missing, the report says once for each rule that it was not checked. A finding can be
// silenced in place, with a reason.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// Family is a group of rules with one page in the docs.
type Family string

// Families of rules, in the order of the docs.
const (
	Waves         Family = "waves"
	Prerequisites Family = "prerequisites"
	Wedges        Family = "wedges"
	Loss          Family = "loss"
	Names         Family = "names"
	Templates     Family = "templates"
	Fields        Family = "fields"
	Unchecked     Family = "unchecked"
)

// About describes the subject of a family's rules.
func (f Family) About() string {
	return map[Family]string{
		Waves:         "Waves that do not wait, or wait for less than they seem to.",
		Prerequisites: "Objects that need something that comes later, or never.",
		Wedges:        "Boots that stop, and do not go on by themselves.",
		Loss:          "Objects that are deleted, or left behind, by mistake.",
		Names:         "Names and owners of Applications and objects.",
		Templates:     "Templates and generators of ApplicationSets.",
		Fields:        "Fields and files that are wrong, or that Argo CD ignores.",
		Unchecked:     "Checks that were not possible, because something is not available here.",
	}[f]
}

// Families returns all families.
func Families() []Family {
	return []Family{Waves, Prerequisites, Wedges, Loss, Names, Templates, Fields, Unchecked}
}

// Rule is a rule of the planner or of this package.
type Rule struct {
	plan.Rule
	Family Family
	// Why names the behaviour of Argo CD behind the rule, "" if Means says enough.
	Why string
	// Since is the first version of Argo CD in which it is so, Until the first in which it is not any more. Zero is no limit.
	Since, Until versions.Version
	// Shown is how it was seen on real Argo CD.
	Shown Shown
	// Off says that its findings are left out unless the configuration gives the rule a severity.
	Off bool
	// field is where the cause of a finding is written, for findings that do not say so themselves.
	field []string
	// instead reports whether a finding of the planner follows from this one if it is about the same object, and is left out. Nil is none.
	instead func(plan.Finding) bool
	// check adds the findings; nil for rules of the planner, and for rules that compare with the plan of another revision.
	check   func(*pass)
	compare func(p *pass, before *plan.Plan)
	// fix cures a finding; nil if the user must choose how.
	fix fixer
}

// Title is the first sentence of Means.
func (r Rule) Title() string {
	title, _, _ := strings.Cut(r.Means, ". ")
	return strings.TrimSuffix(title, ".") + "."
}

// OfPlanner reports whether the planner finds it, so that the plan shows it, too.
func (r Rule) OfPlanner() bool {
	return r.check == nil && r.compare == nil && r.Name != ruleNoReason.Name
}

// Rules returns all rules, by family, and in a family the worst first.
func Rules() []Rule { return slices.Clone(rules()) }

var rules = sync.OnceValue(func() []Rule {
	var all []Rule
	for _, r := range plan.Rules() {
		all = append(all, describe(r))
	}
	all = append(all, own()...)
	for i := range all {
		all[i].Shown, all[i].fix = shown(all[i].Name), fixes[all[i].Name]
	}
	families := Families()
	slices.SortStableFunc(all, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(slices.Index(families, a.Family), slices.Index(families, b.Family)),
			cmp.Compare(rank(b.Severity), rank(a.Severity)))
	})
	return all
})

// Find returns the rule of a name. The error of a name that is none proposes similar ones.
func Find(name string) (Rule, error) {
	all := rules()
	if i := slices.IndexFunc(all, func(r Rule) bool { return r.Name == name }); i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, r := range all {
		names = append(names, r.Name)
	}
	return Rule{}, fmt.Errorf("there is no rule %q%s", name, words.DidYouMean(words.Similar(name, names)...))
}

// Severities returns the severities, the worst last.
func Severities() []plan.Severity { return []plan.Severity{plan.Info, plan.Warning, plan.Error} }

func rank(s plan.Severity) int { return slices.Index(Severities(), s) }

// AtLeast reports whether a severity is as bad as another, or worse.
func AtLeast(s, least plan.Severity) bool { return rank(s) >= rank(least) }
