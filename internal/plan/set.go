package plan

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
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
	warnings []generator.Warning
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
			l.note(Finding{Rule: rule, Subject: item.Name, Position: item.Position, Origin: app.Origin, Message: message, Err: e})
		}
		if rule == RuleSetUnknown {
			l.unreplaced(item, app.Origin)
		}
		return
	}
	for _, w := range set.warnings {
		l.note(Finding{
			Rule: lenientRule(w.Topic), Subject: item.Name, Position: item.Position, Origin: app.Origin, Message: w.Text, Topic: w.Topic,
		})
	}
	// Clusters that are not in the tree may be selected.
	if len(set.apps) == 0 && (!l.adoptedClusters || !asksClusters(manifest.Map(item.Object, "spec")["generators"])) {
		l.note(Finding{
			Rule: RuleSetEmpty, Subject: item.Name, Position: item.Position, Origin: app.Origin,
			Message: "its generators give no Applications",
		})
	}
	for i, d := range set.apps {
		child := l.application(d, fmt.Sprintf("Application %d of the set %s", i+1, item.Name), ancestors)
		child.pinnedBy(app, false) // the controller writes the template's revision, a branch
		item.Children = append(item.Children, child)
	}
}

// lenientRule is the rule of something that Argo CD accepts.
func lenientRule(topic generator.Topic) Rule {
	switch topic {
	case generator.PlaceholderLeft:
		return RulePlaceholderLeft
	case generator.PatternDeeper:
		return RuleGlobDeeper
	case generator.KeyAbsent:
		return RuleMergeKey
	}
	return RuleLenient
}

// unreplaced finds placeholders of Go templates in a set without goTemplate whose parameters are not known: none has a dot before its name.
func (l *loader) unreplaced(item *Item, origin string) {
	spec := manifest.Map(item.Object, "spec")
	if generator.GoTemplate(spec) {
		return
	}
	for _, field := range dotted("spec.template", spec["template"]) {
		l.note(Finding{
			Rule: RulePlaceholderLeft, Subject: item.Name, Position: item.Position, Origin: origin,
			Message: field + ": its placeholder is one of Go templates, and " + template.Left,
		})
	}
}

var dottedPattern = regexp.MustCompile(`\{\{-?\s*\.`)

// dotted are the paths of the texts in a value that have a placeholder with a dot.
func dotted(path string, v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		if dottedPattern.MatchString(v) {
			out = append(out, path)
		}
	case map[string]any:
		for _, k := range manifest.Keys(v) {
			out = append(out, dotted(path+"."+k, v[k])...)
		}
	case []any:
		for i, e := range v {
			out = append(out, dotted(fmt.Sprintf("%s[%d]", path, i), e)...)
		}
	}
	return out
}

// asksClusters reports whether a generator of a set, nested ones included, lists clusters.
func asksClusters(generators any) bool {
	return slices.ContainsFunc(generator.Nodes(generators), func(g *generator.Node) bool { return g.Kind == generator.KindClusters })
}
