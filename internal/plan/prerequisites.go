package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/words"
)

// judge finds the providers of a thing, and adds it to Requires of its users.
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

// doubt is why the plan cannot tell whether things of one kind are deployed to a cluster, and those things.
type doubt struct {
	what, cluster, reason string
	demands               []*demand
}

// elsewhere reports whether a controller, an unknown source or a cluster's other name may provide the thing, and records the doubt.
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
		reason = some(unknown) + " may deploy it, from sources that are not known completely"
	case d.What == ThingKind && p.makers[d.Cluster] != "":
		reason = p.makers[d.Cluster] + " may deploy it"
	case !p.resolved(d.Cluster) && p.onAnother(d):
		reason = "Applications for a cluster of another name, perhaps the same cluster, deploy it"
	default:
		return false
	}
	i := slices.IndexFunc(p.doubts, func(o *doubt) bool { return o.what == d.What && o.cluster == d.Cluster && o.reason == reason })
	if i < 0 {
		p.doubts, i = append(p.doubts, &doubt{d.What, d.Cluster, reason, nil}), len(p.doubts)
	}
	p.doubts[i].demands = append(p.doubts[i].demands, d)
	p.plan.Doubts = append(p.plan.Doubts, d.Thing)
	return true
}

// doubtful adds one finding for each doubt, with the things that unknown sources may deploy. The things with the most users come first.
func (p *prerequisites) doubtful() {
	for _, o := range p.doubts {
		slices.SortStableFunc(o.demands, func(a, b *demand) int { return cmp.Compare(len(b.users), len(a.users)) })
		var things []string
		for _, d := range o.demands {
			users := d.users[0].app.Name
			if n := len(d.users); n > 1 {
				users += fmt.Sprintf(" and %d more", n-1)
			}
			things = append(things, fmt.Sprintf("%s (for %s)", d.Name, users))
		}
		d := o.demands[0]
		name := d.title()
		if len(things) > 1 {
			name = map[string]string{ThingKind: "the CRDs of", ThingNamespace: "the namespaces", ThingProject: "the AppProjects"}[d.What]
		}
		p.say(RulePrerequisiteUnknown, d, "no known part of this plan %s %s %s%s; %s", d.verb(), name, some(things), d.in(),
			o.reason)
	}
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

// verb says how a provider makes the thing available: it deploys it, or creates it.
func (d *demand) verb() string {
	if d.What == ThingNamespace {
		return "creates"
	}
	return "deploys"
}

func (d *demand) title() string {
	return map[string]string{ThingKind: "the CRD of", ThingNamespace: "the namespace", ThingProject: "the AppProject"}[d.What]
}

// String names a thing with its cluster.
func (d *demand) String() string { return d.title() + " " + d.Name + d.in() }

// in names the cluster, if it is not Argo CD's own.
func (d *demand) in() string {
	if d.Cluster == argo.InClusterServer {
		return ""
	}
	return " in the cluster " + d.Cluster
}

// needed names the users of a thing, with the verb.
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
func some(names []string) string { return words.First(slices.Compact(slices.Clone(names)), 3) }

// say adds a finding about a thing, at its first user.
func (p *prerequisites) say(rule Rule, d *demand, format string, args ...any) {
	p.sayAt(rule, d.users[0], format, args...)
}

func (p *prerequisites) sayAt(rule Rule, at place, format string, args ...any) {
	p.note(at.finding(rule, fmt.Sprintf(format, args...)))
}

// finding is one about a place: at the item, or at the Application if that is in no file.
func (at place) finding(rule Rule, message string) Finding {
	f := Finding{Rule: rule, Subject: at.app.Name, Position: at.app.Position, Origin: at.app.Origin, Message: message}
	if at.item != nil && at.item.Position.File != "" {
		f.Position = at.item.Position
	}
	return f
}

// missing adds the finding that nothing in the plan provides a thing.
func (p *prerequisites) missing(d *demand) {
	broken := ""
	if len(p.broken) > 0 {
		broken = fmt.Sprintf(" (%s may, but Argo CD cannot render that)", some(p.broken))
	}
	lacks := fmt.Sprintf("nothing in this plan %s %s, which %s%s", d.verb(), d, d.needed(), broken)
	switch d.What {
	case ThingKind:
		checked := slices.ContainsFunc(d.users, func(u place) bool { return !d.unchecked[u.app] })
		fails := "a sync that comes to such an object fails"
		if checked {
			fails = "a sync with such an object fails before it applies anything"
		}
		p.lack(RuleKindMissing, d, lacks, "%s: set --exists %s if it does", fails, d.Name)
	case ThingNamespace:
		p.lack(RuleNamespaceMissing, d, lacks, "a sync that comes to an object in it fails: set CreateNamespace=true, or "+
			"--exists Namespace/%s", d.Name)
	case ThingProject:
		p.lack(RuleProjectMissing, d, lacks, "Argo CD neither compares nor syncs what uses it: set --exists AppProject/%s if it does",
			d.Name)
	}
}

// lack adds the finding that the plan lacks a thing, with the effect on a cluster that does not have it.
func (p *prerequisites) lack(rule Rule, d *demand, lacks, effect string, args ...any) {
	f := d.users[0].finding(rule, lacks+"; unless the cluster has it, "+fmt.Sprintf(effect, args...))
	f.Lacks = lacks
	p.note(f)
}

// When a thing is provided, compared with when its user needs it.
const (
	inTime = iota
	later
	never // only the sync that needs it deploys it: a deadlock
)

// meeting is where the paths to two places part: an Application, and its two items on them.
type meeting struct {
	app         *Application
	user, other *Item
}

// late adds a finding if a thing is provided too late for some of its users.
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
	if worst == never {
		p.sayAt(rule, late[0], "%s needs %s before its sync begins, but only that sync deploys it (%s): a deadlock%s", user, d,
			by(from), more)
		return
	}
	p.sayAt(rule, late[0], "%s needs %s, which comes later, in %s of %s (%s): %s%s", user, d,
		order.Position(first.other.Phase, first.other.Wave), first.app.Name, by(from), p.effect(d, late[0], first), more)
}

// by names the provider of a thing.
func by(from place) string {
	if from.item == nil {
		return "CreateNamespace of " + from.app.Name
	}
	return from.item.Kind + " " + from.item.Name + " of " + from.app.Name
}

// effect says what happens if a thing is provided too late.
func (p *prerequisites) effect(d *demand, user place, m meeting) string {
	there, here := order.Position(m.other.Phase, m.other.Wave), order.Position(m.user.Phase, m.user.Wave)
	switch {
	case m.user == user.item: // the same sync comes to it first
		return fmt.Sprintf("the sync of %s fails in %s, and never comes to %s", m.app.Name, here, there)
	case d.What == ThingProject && m.user.Waits:
		return fmt.Sprintf("Argo CD refuses %s until then, and %s starts only when %[1]s is healthy: a deadlock", user.app.Name, there)
	case d.What == ThingProject:
		return fmt.Sprintf("Argo CD refuses %s until then", user.app.Name)
	case m.user.Waits && p.plan.SyncAware:
		return fmt.Sprintf("the sync of %s fails until then, and %s starts only when %[1]s is healthy: a deadlock", user.app.Name, there)
	case m.user.Waits:
		return fmt.Sprintf("the sync of %s fails, and whether %s comes depends on the health check of Applications",
			user.app.Name, there)
	}
	return fmt.Sprintf("the sync of %s fails until then; Argo CD %s", user.app.Name, tries(user.app))
}

func tries(app *Application) string {
	switch n := app.Retry.Limit; {
	case !app.Automated || n == 0:
		return "does not retry it"
	case n < 0:
		return "retries it for ever"
	default:
		return fmt.Sprintf("retries it %d times", n)
	}
}

// way is the path from the root to a place: each Application on it, with the item that leads to the next one.
func (p *prerequisites) way(to place) []place {
	out := []place{to}
	for at := p.deployers[to.app]; at.app != nil && len(out) <= maxDepth+1; at = p.deployers[at.app] {
		out = append(out, at)
	}
	slices.Reverse(out)
	return out
}

// when compares when a thing is provided and needed, and returns where the two paths part. In the same wave it is in time: a retry helps.
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
