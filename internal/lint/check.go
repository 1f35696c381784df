package lint

import (
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

// NotChecked says that a rule could not be checked completely.
type NotChecked struct {
	Rule Rule
	// Reason is the first one, More how many there are besides.
	Reason string
	More   int
}

// pass is one rule on its way through a plan.
type pass struct {
	*plan.Plan
	rule  Rule
	found []plan.Finding
	// missed are the reasons why the rule could not be checked, each once, in order; none is that it could.
	missed  []string
	unknown map[string]bool // by the reason
}

// miss notes why the rule could not be checked.
func (p *pass) miss(format string, args ...any) {
	reason := fmt.Sprintf(format, args...)
	if p.unknown[reason] {
		return
	}
	if p.unknown == nil {
		p.unknown = map[string]bool{}
	}
	p.unknown[reason], p.missed = true, append(p.missed, reason)
}

// Check runs all rules over a plan. Findings about unknown parts become entries of the second list, one for each rule.
func Check(p *plan.Plan) ([]plan.Finding, []NotChecked) {
	var out []plan.Finding
	missing := map[string]int{} // by the rule, from 1
	var unchecked []NotChecked
	miss := func(rule Rule, reason string) {
		if i := missing[rule.Name]; i > 0 {
			unchecked[i-1].More++
			return
		}
		unchecked = append(unchecked, NotChecked{Rule: rule, Reason: reason})
		missing[rule.Name] = len(unchecked)
	}
	if p.Root == nil { // an empty plan
		return nil, nil
	}
	for _, f := range p.Findings {
		rule := describe(f.Rule)
		if f.Rule.Kind == plan.Unknown {
			miss(rule, f.Subject+": "+f.Message)
			continue
		}
		if f.Topic == generator.FieldUnknown {
			continue // field-unknown finds it, too
		}
		if f.Field == nil {
			f.Field = fieldOf(f.Message)
		}
		if f.Field == nil {
			f.Field = rule.field
		}
		out = append(out, f)
	}
	for _, rule := range own() {
		if rule.check == nil || !p.Version.Between(rule.Since, rule.Until) {
			continue
		}
		c := &pass{Plan: p, rule: rule}
		rule.check(c)
		out = append(without(out, rule.instead, c.found), c.found...)
		for _, reason := range c.missed {
			miss(rule, reason)
		}
	}
	return out, unchecked
}

// changes runs the rules that compare a plan with that of another revision.
func changes(p, before *plan.Plan) []plan.Finding {
	var out []plan.Finding
	for _, rule := range own() {
		if rule.compare != nil && p.Root != nil && before.Root != nil && p.Version.Between(rule.Since, rule.Until) {
			c := &pass{Plan: p, rule: rule}
			rule.compare(c, before)
			out = append(out, c.found...)
		}
	}
	return out
}

// without leaves out findings that follow from others at the same place.
func without(list []plan.Finding, follows func(plan.Finding) bool, others []plan.Finding) []plan.Finding {
	if follows == nil || len(others) == 0 {
		return list
	}
	return slices.DeleteFunc(list, func(f plan.Finding) bool {
		return follows(f) && slices.ContainsFunc(others, func(g plan.Finding) bool { return f.Position == g.Position })
	})
}

// find notes something about a field of an Application.
func (p *pass) find(app *plan.Application, field []string, format string, args ...any) {
	p.found = append(p.found, plan.Finding{
		Rule: p.rule.Rule, Subject: app.Name, Position: app.Position, Origin: app.Origin, Field: field,
		Message: fmt.Sprintf(format, args...),
	})
}

// meant adds to the last finding which name was probably meant.
func (p *pass) meant(name string) { p.found[len(p.found)-1].Meant = name }

// item notes something about a field of an object that an Application deploys, at the Application if the object is in no file.
func (p *pass) item(app *plan.Application, item *plan.Item, field []string, format string, args ...any) {
	p.find(app, nil, format, args...)
	if f := &p.found[len(p.found)-1]; item.Position.File != "" {
		f.Position, f.Field = item.Position, field
	}
}

// has reports whether the planner has found something about an Application or a set, "" for any.
func (p *pass) has(rule plan.Rule, subject string) bool {
	return slices.ContainsFunc(p.Findings, func(f plan.Finding) bool {
		return f.Rule.Name == rule.Name && (subject == "" || f.Subject == subject)
	})
}

// applications returns the Applications of the plan, without the one that stands for a manual apply.
func (p *pass) applications() []*plan.Application {
	var out []*plan.Application
	for _, app := range p.Applications {
		if !app.Applied && app.Object != nil {
			out = append(out, app)
		}
	}
	return out
}

// set is an ApplicationSet of a plan.
type set struct {
	manifest.Document
	name string
	spec map[string]any
	// item is where its parent deploys it. Nil is a set that the plugin appset renders.
	item   *plan.Item
	parent *plan.Application
}

// sets returns the ApplicationSets of a plan.
func (p *pass) sets() []set {
	var out []set
	for _, app := range p.Applications {
		for _, item := range app.Items {
			if item.Children != nil {
				out = append(out, set{
					manifest.Document{Object: item.Object, Position: item.Position}, item.Name, manifest.Map(item.Object,
						"spec"), item, app,
				})
			}
		}
		for _, s := range app.Sources {
			for _, d := range s.Sets {
				one := set{d, app.Name, d.Object, nil, app}
				if argo.IsApplicationSet(d.Object) {
					one.name, one.spec = manifest.String(d.Object, "metadata", "name"), manifest.Map(d.Object, "spec")
				}
				out = append(out, one)
			}
		}
	}
	return out
}

// generated are the Applications that sets make, by the controller or by the plugin appset.
func (p *pass) generated() map[*plan.Application]bool {
	out := map[*plan.Application]bool{}
	for _, parent := range p.Applications {
		for _, item := range parent.Items {
			// The plugin's have no file of their own.
			if item.Application != nil && item.Position == parent.Position && !parent.Applied {
				out[item.Application] = true
			}
			for _, child := range item.Children {
				out[child] = true
			}
		}
	}
	return out
}

// patched are the Applications of sets that have a patch.
func (p *pass) patched() map[*plan.Application]bool {
	out := map[*plan.Application]bool{}
	for _, s := range p.sets() {
		if s.spec["templatePatch"] != nil && s.item != nil {
			for _, child := range s.item.Children {
				out[child] = true
			}
		}
	}
	return out
}

// about notes something about a field of an object, whichever Application deploys it.
func (p *pass) about(item *plan.Item, field []string, format string, args ...any) {
	p.found = append(p.found, plan.Finding{
		Rule: p.rule.Rule, Subject: item.Name, Position: item.Position, Field: field, Message: fmt.Sprintf(format, args...),
	})
}

// goTemplate reports whether a set has Go templates.
func (s set) goTemplate() bool {
	return generator.GoTemplate(s.spec)
}

// set notes something about a field in the spec of a set.
func (p *pass) set(s set, field []string, format string, args ...any) {
	if argo.IsApplicationSet(s.Object) {
		field = append([]string{"spec"}, field...)
	}
	p.found = append(p.found, plan.Finding{
		Rule: p.rule.Rule, Subject: s.name, Position: s.Position, Field: field, Message: fmt.Sprintf(format, args...),
	})
}

// behind reports whether an Application deploys something after an item: in a later wave or phase.
func behind(app *plan.Application, item *plan.Item) bool {
	for _, other := range app.Items {
		if order.Compare(other.Phase, other.Wave, item.Phase, item.Wave) > 0 {
			return true
		}
	}
	return false
}
