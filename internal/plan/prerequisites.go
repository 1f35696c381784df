package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo/order"
)

// judge says who brings a thing, and fills what needs it.
func (p *prerequisites) judge(d *demand) {
	providers := p.providers[d.Thing]
	if len(providers) == 0 && (p.cfg.ExistsAll || p.elsewhere(d)) {
		return
	}
	for _, item := range d.items {
		item.Requires = append(item.Requires, d.Thing)
	}
	for _, user := range d.users {
		if user.item == nil {
			user.app.Requires = append(user.app.Requires, d.Thing)
		}
	}
	if len(providers) == 0 {
		p.missing(d)
		return
	}
	p.late(d, providers)
}

// elsewhere reports whether something that is not known may bring a thing that nobody known brings, and says so.
func (p *prerequisites) elsewhere(d *demand) bool {
	if p.made[d.Thing] {
		return true
	}
	reason := ""
	unknown := slices.Concat(p.unknown[d.Cluster], p.unknown[""])
	if d.What == ThingProject {
		unknown = p.hiding
	}
	switch {
	case len(unknown) > 0:
		reason = "the sources of " + some(unknown) + ", which are not known completely, may"
	case d.What == ThingKind && p.makers[d.Cluster] != "":
		reason = p.makers[d.Cluster] + " may"
	case !p.resolved(d.Cluster) && p.onAnother(d):
		reason = "an Application for another cluster does, which may be the same one"
	default:
		return false
	}
	p.say(RulePrerequisiteUnknown, d, "nobody in this plan is known to %s, which %s; %s", d.act(), d.needed(), reason)
	return true
}

// onAnother reports whether a thing is provided in a cluster that may be the same under another name.
func (p *prerequisites) onAnother(d *demand) bool {
	for t := range p.providers {
		if t.What == d.What && t.Name == d.Name && !p.resolved(t.Cluster) {
			return true
		}
	}
	return false
}

// act is what somebody must do to provide a thing.
func (d *demand) act() string {
	in := ""
	if d.Cluster != generator.InClusterServer {
		in = " in the cluster " + d.Cluster
	}
	switch d.What {
	case ThingKind:
		return "deploy the CRD of " + d.Name + in
	case ThingNamespace:
		return "create the namespace " + d.Name + in
	}
	return "deploy the AppProject " + d.Name
}

// needed says who needs a thing.
func (d *demand) needed() string {
	names := d.names(d.users)
	if len(d.users) == 1 {
		return names + " needs"
	}
	return names + " need"
}

func (d *demand) names(users []place) string {
	var names []string
	for _, user := range users {
		names = append(names, user.app.Name)
	}
	return some(names)
}

// some lists the first of some names.
func some(names []string) string {
	const most = 3
	names = slices.Compact(slices.Clone(names))
	if rest := len(names) - most; rest > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), rest)
	}
	return strings.Join(names, ", ")
}

// say notes a finding about a thing, at the first of those that need it.
func (p *prerequisites) say(rule Rule, d *demand, format string, args ...any) {
	p.sayAt(rule, d.users[0], format, args...)
}

func (p *prerequisites) sayAt(rule Rule, at place, format string, args ...any) {
	f := Finding{Rule: rule, Subject: at.app.Name, Position: at.app.Position, Origin: at.app.Origin, Message: fmt.Sprintf(format, args...)}
	if at.item != nil && at.item.Position.File != "" {
		f.Position = at.item.Position
	}
	p.note(f)
}

// missing says that nobody brings a thing.
func (p *prerequisites) missing(d *demand) {
	switch d.What {
	case ThingKind:
		checked := slices.ContainsFunc(d.users, func(u place) bool { return !d.unchecked[u.app] })
		fails := "a sync that comes to such an object fails"
		if checked {
			fails = "a sync with such an object fails before it applies anything"
		}
		p.say(RuleKindMissing, d, "nobody in this plan is known to %s, which %s; unless the cluster has it, %s: say --exists %s if it does", d.act(), d.needed(), fails, d.Name)
	case ThingNamespace:
		p.say(RuleNamespaceMissing, d, "nobody in this plan is known to %s, which %s; unless the cluster has it, a sync that comes to an object in it fails: set CreateNamespace=true, or say --exists Namespace/%s", d.act(), d.needed(), d.Name)
	case ThingProject:
		p.say(RuleProjectMissing, d, "nobody in this plan is known to %s, which %s; unless the cluster has it, Argo CD does not compare or sync them: say --exists AppProject/%s if it does", d.act(), d.needed(), d.Name)
	}
}

// When a thing comes, for somebody who needs it.
const (
	inTime = iota
	later
	never // before it comes, somebody needs it who brings it
)

// meeting is where the ways to two places part: in an Application, by two of its items.
type meeting struct {
	app         *Application
	user, other *Item
}

// late says that a thing comes too late for some.
func (p *prerequisites) late(d *demand, providers []place) {
	var late []place
	var first meeting
	var from place
	worst := inTime
	for _, user := range d.users {
		best, at, by := -1, meeting{}, place{}
		for _, provider := range providers {
			when, m := p.when(d, user, provider)
			if best < 0 || when < best {
				best, at, by = when, m, provider
			}
			if when == inTime {
				break
			}
		}
		if best == inTime {
			continue
		}
		if late = append(late, user); len(late) == 1 {
			worst, first, from = best, at, by
		}
	}
	if len(late) == 0 {
		return
	}
	rule := map[string]Rule{ThingKind: RuleKindLater, ThingNamespace: RuleNamespaceLater, ThingProject: RuleProjectLater}[d.What]
	user := late[0].app.Name
	more := ""
	if len(late) > 1 {
		more = fmt.Sprintf(" (%s need it, too)", d.names(late[1:]))
		if len(late) == 2 {
			more = fmt.Sprintf(" (%s needs it, too)", d.names(late[1:]))
		}
	}
	what := strings.TrimPrefix(strings.TrimPrefix(d.act(), "deploy "), "create ")
	if worst == never {
		p.sayAt(rule, late[0], "%s needs %s, which only comes with its own sync (%s), and Argo CD wants it before that: a deadlock%s", user, what, by(from), more)
		return
	}
	p.sayAt(rule, late[0], "%s needs %s, which comes later, in %s of %s (%s): %s%s", user, what, order.Position(first.other.Phase, first.other.Wave), first.app.Name, by(from), p.effect(d, late[0], first), more)
}

// by names what brings a thing.
func by(from place) string {
	if from.item == nil {
		return "CreateNamespace of " + from.app.Name
	}
	return from.item.Kind + " " + from.item.Name + " of " + from.app.Name
}

// effect says what happens if a thing comes later.
func (p *prerequisites) effect(d *demand, user place, m meeting) string {
	there, here := order.Position(m.other.Phase, m.other.Wave), order.Position(m.user.Phase, m.user.Wave)
	switch {
	case m.user == user.item: // the same sync comes to it first
		return fmt.Sprintf("the sync of %s fails in %s, and never comes to %s", m.app.Name, here, there)
	case d.What == ThingProject && m.user.Waits:
		return fmt.Sprintf("Argo CD refuses %s, %s waits for it, and never comes: a deadlock", user.app.Name, there)
	case d.What == ThingProject:
		return fmt.Sprintf("Argo CD refuses %s until then", user.app.Name)
	case m.user.Waits && p.plan.SyncAware:
		return fmt.Sprintf("the sync of %s fails, %s waits for it, and never comes: a deadlock", user.app.Name, there)
	case m.user.Waits:
		return fmt.Sprintf("the sync of %s fails, and whether %s comes depends on what the health check of Applications makes of that", user.app.Name, there)
	}
	return fmt.Sprintf("the sync of %s fails until then; Argo CD tries it %s", user.app.Name, tries(user.app))
}

func tries(app *Application) string {
	switch n := app.Retry.Limit; {
	case !app.Automated || n == 0:
		return "once"
	case n < 0:
		return "again for ever"
	default:
		return fmt.Sprintf("again %d times", n)
	}
}

// way is how somebody comes to a place: from the root, each Application with the item that it goes on with.
func (p *prerequisites) way(to place) []place {
	out := []place{to}
	for at := p.deployers[to.app]; at.app != nil && len(out) <= maxDepth+1; at = p.deployers[at.app] {
		out = append(out, at)
	}
	slices.Reverse(out)
	return out
}

// when says when a thing comes to those who need it, and where the ways to the two part. Same waves are in time: a retry does it.
func (p *prerequisites) when(d *demand, user, from place) (int, meeting) {
	a, b := p.way(user), p.way(from)
	for i := 0; i < len(a) && i < len(b) && a[i].app == b[i].app; i++ {
		at, other := a[i].item, b[i].item
		last := i == len(a)-1
		switch {
		case at == nil && last: // the Application itself, which needs it before it deploys it
			return never, meeting{}
		case at == other && at != nil && !last && i < len(b)-1:
			continue
		case a[i].app.Applied || other == nil || at == other:
			return inTime, meeting{}
		case d.What == ThingKind && last && i < len(b)-1 && !d.unchecked[user.app]:
			return never, meeting{} // a sync wants all kinds before it begins
		case order.Compare(other.Phase, other.Wave, at.Phase, at.Wave) > 0:
			return later, meeting{a[i].app, at, other}
		}
		return inTime, meeting{}
	}
	return inTime, meeting{}
}
