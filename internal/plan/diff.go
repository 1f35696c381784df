package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/source"
)

// Change is one difference between two plans.
type Change struct {
	Kind ChangeKind
	// Subject is an Application, a set, or a wave of an Application.
	Subject  string
	Old, New string
	// Namespace and Project are the Application's, if the change is about one that is added, removed, left or changed; otherwise "".
	Namespace, Project string
}

// ChangeKind is the kind of a change.
type ChangeKind string

// Kinds of changes. A wave that stops waiting and a new finding are worth a second look.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Left    ChangeKind = "left" // an Application that is not deployed any more, and not pruned
	Moved   ChangeKind = "moved"
	Sourced ChangeKind = "source"
	Aimed   ChangeKind = "destination" // it deploys to another cluster or namespace
	Owned   ChangeKind = "project"     // it belongs to another project
	Waits   ChangeKind = "waits"       // a wave that waits now, and did not
	Stops   ChangeKind = "stops"       // a wave that waits no more
	Doubted ChangeKind = "doubted"     // it is no longer known whether a wave waits
	Found   ChangeKind = "finding"
	Gone    ChangeKind = "gone" // a finding that is no more
)

// Difference has the changes from one plan to another.
type Difference struct {
	// Changes are those of the boot: Applications first, then waves, then findings.
	Changes []Change
	// Manifests are the Applications and sets whose objects change, with those that are new or removed.
	Manifests []Manifests
	// NotCompared are Applications that are not known completely in one of the plans. They may change, and may be new or removed.
	NotCompared []argo.Ref
}

// Diff compares two plans. A plan without a root deploys nothing.
//
// An Application is removed only if everything that deployed it is known in the second plan, and new only if it is known in the first.
// Otherwise it is not compared.
func Diff(before, after *Plan) *Difference {
	was, is := describe(before), describe(after)
	removed := removal{was, is, after.Version}
	d := &Difference{}
	var hidden []string
	for _, ref := range refsOf(was, is) {
		old, now := was.apps[ref], is.apps[ref]
		switch {
		case old == nil && !was.knows(now, is, nil), now == nil && !is.knows(old, was, nil):
			d.NotCompared, hidden = append(d.NotCompared, ref), append(hidden, ref.Name)
			continue
		case old == nil:
			d.change(Added, now.app, "", now.place())
		case now == nil:
			d.change(removed.kind(removed.deletes(old)), old.app, old.place(), "")
		default:
			to := now.facts()
			for i, f := range old.facts() {
				if f.text != to[i].text {
					d.change(f.kind, now.app, f.text, to[i].text)
				}
			}
		}
		d.application(ref, old, now, removed)
	}
	d.roots(before, after)
	d.sets(removed)
	// A finding about an Application that is now unknown does not count as gone.
	findings := slices.DeleteFunc(diffFindings(before, after), func(c Change) bool {
		return c.Kind == Gone && slices.Contains(hidden, c.Subject)
	})
	d.Changes = slices.Concat(d.Changes, diffGates(before, after), findings)
	return d
}

// change adds a change of an Application.
func (d *Difference) change(kind ChangeKind, app *Application, from, to string) {
	d.Changes = append(d.Changes, Change{Kind: kind, Subject: app.Name, Old: from, New: to, Namespace: app.Namespace, Project: app.Project})
}

// parent is an Application that deploys another: directly, or by a set. The zero parent is a manual apply.
type parent struct {
	app argo.Ref
	set string
}

// described is an Application with everything that deploys it.
type described struct {
	app     *Application
	parents []parent
	places  []string
}

// fact is a property of an Application whose change is reported.
type fact struct {
	kind ChangeKind
	text string
}

// facts are always the same ones.
func (d *described) facts() []fact {
	return []fact{{Moved, d.place()}, {Sourced, d.app.sources()}, {Aimed, d.app.Destination.String()}, {Owned, d.app.Project}}
}

func (d *described) place() string { return strings.Join(d.places, ", ") }

// setOf is a set and its place.
type setOf struct {
	item  *Item
	place string
}

// description indexes the content of a plan.
type description struct {
	apps map[argo.Ref]*described
	sets map[parent]setOf
}

// byHand is the place of a root.
const byHand = "applied by hand"

func describe(p *Plan) description {
	d := description{apps: map[argo.Ref]*described{}, sets: map[parent]setOf{}}
	note := func(app *Application, by parent, place string) {
		if app.Itself {
			return
		}
		if d.apps[app.Ref] == nil {
			d.apps[app.Ref] = &described{app: app}
		}
		at := d.apps[app.Ref]
		at.parents, at.places = append(at.parents, by), append(at.places, place)
	}
	if p.Root != nil && !p.Root.Applied {
		note(p.Root, parent{}, byHand)
	}
	for _, app := range p.Applications {
		by := parent{app: app.Ref}
		if app.Applied {
			by.app = argo.Ref{}
		}
		for _, item := range app.Items {
			place := item.place(app)
			if item.Application != nil {
				note(item.Application, by, place)
			}
			if item.Children != nil {
				by := parent{by.app, item.Name}
				d.sets[by] = setOf{item, place}
				for _, child := range item.Children {
					note(child, by, fmt.Sprintf("%s, by the set %s", place, item.Name))
				}
			}
		}
	}
	return d
}

// place says where an Application deploys an item.
func (i *Item) place(app *Application) string {
	if app.Applied {
		return byHand
	}
	return order.Position(i.Phase, i.Wave) + " of " + app.Name
}

// knows reports whether a plan would contain an Application of another plan if the same parents still deployed it. It is false if a parent,
// or an Application above it, is not known completely.
func (d description) knows(app *described, other description, seen []argo.Ref) bool {
	for _, by := range app.parents {
		if set, ok := d.sets[by]; ok && set.item.Unknown != "" {
			return false
		}
		if by.app == (argo.Ref{}) || slices.Contains(seen, by.app) {
			continue
		}
		if here := d.apps[by.app]; here != nil {
			if here.app.mayDeployMore() {
				return false
			}
			continue
		}
		if there := other.apps[by.app]; there != nil && !d.knows(there, other, append(seen, by.app)) {
			return false
		}
	}
	return true
}

// mayDeployMore reports whether an Application may deploy Applications that are not in the plan. A broken one keeps its Applications.
func (a *Application) mayDeployMore() bool {
	return a.Broken != "" || a.Hides || slices.ContainsFunc(a.Sources, func(s Source) bool { return s.hides })
}

// sources names the sources, without credentials: another password is not another source.
func (a *Application) sources() string {
	var parts []string
	for _, s := range a.Sources {
		text := strings.TrimSuffix(giturl.Redact(s.Repository), "/") + " " + cmp.Or(s.Chart, s.Path)
		if s.Revision != "" {
			text += "@" + s.Revision
		}
		if s.Kind == source.AppSet || s.Kind == source.Plugin {
			text += " by a plugin"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " + ")
}

func refsOf(plans ...description) []argo.Ref {
	all := map[argo.Ref]bool{}
	for _, d := range plans {
		for ref := range d.apps {
			all[ref] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), compareRefs)
}

func compareRefs(a, b argo.Ref) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
}

// gate is whether the wave after one waits for its Applications, and why not.
type gate struct {
	waits, doubt bool
	why          string
}

// gatesOf returns the gates of waves that have Applications and a wave after them.
func gatesOf(p *Plan) map[string]gate {
	out := map[string]gate{}
	for _, app := range p.Applications {
		waves := app.Waves()
		for i, wave := range waves {
			g, applications := gate{waits: true}, false
			for _, item := range wave.Items {
				if item.Application == nil && item.Children == nil {
					continue
				}
				applications = true
				// An item that certainly does not wait decides.
				if !item.Waits && (g.waits || g.doubt || !item.InDoubt) {
					g = gate{false, item.InDoubt, fmt.Sprintf("%s: %s", item.Name, item.Why)}
				}
			}
			if applications && i < len(waves)-1 && !app.Applied {
				out[fmt.Sprintf("wave %d of %s", wave.Wave, app.Name)] = g
			}
		}
	}
	return out
}

// kind is how a gate changes that waited.
func (g gate) kind() ChangeKind {
	if g.doubt {
		return Doubted
	}
	return Stops
}

func diffGates(before, after *Plan) []Change {
	was, is := gatesOf(before), gatesOf(after)
	var out []Change
	for _, name := range slices.Sorted(maps.Keys(is)) {
		old, in := was[name]
		switch now := is[name]; {
		case in && old.waits && !now.waits:
			out = append(out, Change{Kind: now.kind(), Subject: name, New: now.why})
		case in && !old.waits && now.waits:
			out = append(out, Change{Kind: Waits, Subject: name, Old: old.why})
		case !in && !now.waits && (len(was) == 0 || slices.ContainsFunc(slices.Collect(maps.Values(was)), func(g gate) bool {
			return g.waits
		})):
			out = append(out, Change{Kind: now.kind(), Subject: name, New: now.why})
		}
	}
	return out
}

// diffFindings are the findings that one of two plans has.
func diffFindings(before, after *Plan) []Change {
	is, was := Unpaired(atRoot(after), atRoot(before))
	var out []Change
	for _, f := range is {
		out = append(out, Change{Kind: Found, Subject: f.Subject, New: f.Message})
	}
	for _, f := range was {
		out = append(out, Change{Kind: Gone, Subject: f.Subject, Old: f.Message})
	}
	return out
}

// Unpaired returns the findings that only one of two lists has. Among findings that differ only in their message, equal messages are paired
// first.
func Unpaired(is, was []Finding) (onlyIs, onlyWas []Finding) {
	paired := make([]bool, len(was))
	onlyIs = slices.Clone(is)
	for _, key := range []func(Finding) findingKey{
		Finding.key,
		func(f Finding) findingKey { return findingKey{f.Rule.Name, f.Subject, f.Position.Name(), ""} },
		// It may have got another file.
		func(f Finding) findingKey { return findingKey{f.Rule.Name, f.Subject, "", ""} },
	} {
		left := map[findingKey][]int{}
		for i, f := range was {
			if !paired[i] {
				left[key(f)] = append(left[key(f)], i)
			}
		}
		onlyIs = slices.DeleteFunc(onlyIs, func(f Finding) bool {
			pair := left[key(f)]
			if len(pair) == 0 {
				return false
			}
			left[key(f)], paired[pair[0]] = pair[1:], true
			return true
		})
	}
	for i, f := range was {
		if !paired[i] {
			onlyWas = append(onlyWas, f)
		}
	}
	return onlyIs, onlyWas
}

// atRoot returns the findings of a plan. Findings about all of it get the same subject and no file, so that they are equal with one root
// and with several.
func atRoot(p *Plan) []Finding {
	out := slices.Clone(p.Findings)
	for i, f := range out {
		if slices.Contains([]string{RuleSettingsUnknown.Name, RuleNoHealthCheck.Name, RuleHealthCheckNested.Name}, f.Rule.Name) {
			out[i].Subject, out[i].Position.File, out[i].Position.Made = "every wave", "", ""
		}
	}
	return out
}
