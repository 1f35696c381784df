package plan

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// expanded are the Applications of a set that the controller makes.
type expanded struct {
	apps     []manifest.Document
	warnings []string
	err      error
}

// render renders a set.
func (l *loader) render(d manifest.Document) *expanded {
	namespace := cmp.Or(manifest.String(d.Object, "metadata", "namespace"), l.cfg.Namespace)
	x := appset.Expansion{Engine: l.engine, Namespace: namespace, Controller: true}
	res, err := x.Expand(l.ctx, []manifest.Document{d})
	if err != nil {
		return &expanded{err: err}
	}
	out := &expanded{warnings: res.Warnings}
	for _, o := range res.Objects {
		out.apps = append(out.apps, manifest.Document{Object: o, Position: d.Position})
	}
	return out
}

// set plans the Applications of a set.
func (l *loader) set(app *Application, item *Item, set *expanded, ancestors []argo.Ref) {
	item.Children = []*Application{}
	item.Rollout = isRollout(item.Object)
	if set.err != nil {
		rule := RuleSetBroken
		if generator.OnlyUnknown(set.err) {
			rule = RuleSetUnknown
		}
		item.Broken = rule.Kind == Broken
		for _, e := range problem.All(set.err) {
			item.Unknown = cmp.Or(item.Unknown, e.Error())
			message := e.Error()
			var unknown generator.Unknown
			if rule == RuleSetUnknown && errors.As(e, &unknown) { // the same for many sets
				where := strings.TrimSuffix(message, ": "+unknown.Reason)
				message = where[strings.LastIndexByte(where, '.')+1:] + ": " + unknown.Reason
			}
			l.note(Finding{Rule: rule, Subject: item.Name, Position: item.Position, Origin: app.Origin, Message: message})
		}
		return
	}
	for _, w := range set.warnings {
		l.note(Finding{Rule: lenientRule(w), Subject: item.Name, Position: item.Position, Origin: app.Origin, Message: w})
	}
	if len(set.apps) == 0 {
		l.note(Finding{
			Rule: RuleSetEmpty, Subject: item.Name, Position: item.Position, Origin: app.Origin,
			Message: "its generators give no Applications",
		})
	}
	for i, d := range set.apps {
		child := l.application(d, fmt.Sprintf("Application %d of the set %s", i+1, item.Name), ancestors)
		child.pinnedBy(app, false) // the controller writes what the template says
		item.Children = append(item.Children, child)
	}
}

// lenientRule is the rule of something that Argo CD accepts.
func lenientRule(text string) Rule {
	if strings.HasSuffix(text, template.Left) {
		return RulePlaceholderLeft
	}
	return RuleLenient
}
