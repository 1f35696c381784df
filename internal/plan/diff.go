package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is one difference between two plans.
type Change struct {
	// Kind is one of added, removed, moved, source, waits, stops, finding.
	Kind string
	// Subject is an Application, or a wave of one.
	Subject  string
	Old, New string
}

// Kinds of changes. A wave that stops waiting and a new finding are worth a second look.
const (
	Added   = "added"
	Removed = "removed"
	Moved   = "moved"
	Sourced = "source"
	Waits   = "waits" // a wave that waits now, and did not
	Stops   = "stops" // a wave that waits no more
	Found   = "finding"
)

// Diff returns what changes from one plan to another: Applications first, then waves, then findings.
func Diff(before, after *Plan) []Change {
	var out []Change
	was, is := describe(before), describe(after)
	for _, ref := range refsOf(was, is) {
		old, in := was[ref]
		now, still := is[ref]
		switch {
		case !in:
			out = append(out, Change{Added, ref.Name, "", now.place})
		case !still:
			out = append(out, Change{Removed, ref.Name, old.place, ""})
		default:
			if old.place != now.place {
				out = append(out, Change{Moved, ref.Name, old.place, now.place})
			}
			if old.source != now.source {
				out = append(out, Change{Sourced, ref.Name, old.source, now.source})
			}
		}
	}
	out = append(out, diffGates(before, after)...)
	known := map[Finding]bool{}
	for _, f := range before.Findings {
		known[f] = true
	}
	for _, f := range after.Findings {
		if !known[f] {
			out = append(out, Change{Found, f.Subject, "", f.Message})
		}
	}
	return out
}

// described is what counts of an Application.
type described struct{ place, source string }

func describe(p *Plan) map[Ref]described {
	out := map[Ref]described{p.Root.Ref: {"the root", p.Root.sources()}}
	places := map[Ref][]string{}
	note := func(app *Application, place string) {
		if !app.Itself {
			places[app.Ref] = append(places[app.Ref], place)
			out[app.Ref] = described{strings.Join(places[app.Ref], ", "), app.sources()}
		}
	}
	for _, app := range p.Applications {
		for _, item := range app.Items {
			place := fmt.Sprintf("wave %d of %s", item.Wave, app.Name)
			if item.Phase != Sync {
				place = item.Phase + " " + place
			}
			if item.Application != nil {
				note(item.Application, place)
			}
			for _, child := range item.Children {
				note(child, fmt.Sprintf("%s, by the set %s", place, item.Name))
			}
		}
	}
	return out
}

func (a *Application) sources() string {
	var parts []string
	for _, s := range a.Sources {
		text := s.Repository + " " + cmp.Or(s.Chart, s.Path)
		if s.Revision != "" {
			text += "@" + s.Revision
		}
		if s.Kind == "appset" || s.Kind == "plugin" {
			text += " by a plugin"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " + ")
}

func refsOf(plans ...map[Ref]described) []Ref {
	all := map[Ref]bool{}
	for _, m := range plans {
		for ref := range m {
			all[ref] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b Ref) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace)) })
}

// gate is whether the wave after one waits for its Applications, and why not.
type gate struct {
	waits bool
	why   string
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
				if !item.Waits {
					g = gate{false, fmt.Sprintf("%s: %s", item.Name, item.Why)}
				}
			}
			if applications && i < len(waves)-1 {
				out[fmt.Sprintf("wave %d of %s", wave.Wave, app.Name)] = g
			}
		}
	}
	return out
}

func diffGates(before, after *Plan) []Change {
	was, is := gatesOf(before), gatesOf(after)
	var out []Change
	for _, name := range slices.Sorted(maps.Keys(is)) {
		old, in := was[name]
		switch now := is[name]; {
		case in && old.waits && !now.waits:
			out = append(out, Change{Stops, name, "", now.why})
		case in && !old.waits && now.waits:
			out = append(out, Change{Waits, name, old.why, ""})
		case !in && !now.waits && (len(was) == 0 || slices.ContainsFunc(slices.Collect(maps.Values(was)), func(g gate) bool { return g.waits })):
			out = append(out, Change{Stops, name, "", now.why})
		}
	}
	return out
}
