package course

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/plan"
)

// Comparison compares the plan with the boot.
type Comparison struct {
	// Planned and Real count Applications.
	Planned, Real int
	// Absent were planned and did not appear, Unplanned appeared and were not planned; titles.
	Absent, Unplanned []string
	// Order says, in a sentence each, which came in another order than their waves.
	Order []string
	// Times are the measured times, in the order in which the Applications were created.
	Times []Time
}

// Time has the times of an Application.
type Time struct {
	Title string
	Ref   argo.Ref
	// Created and Healthy are since the boot began. Took is from when everything of it was applied until it was healthy; negative is not
	// known.
	Created, Healthy, Took time.Duration
	// Deploys says that it deploys others, so that what it took is theirs.
	Deploys bool
}

// Same reports whether everything happened as planned.
func (c *Comparison) Same() bool { return len(c.Absent)+len(c.Unplanned)+len(c.Order) == 0 }

// Compare compares the course with a plan. Began is when the boot did.
func (c *Course) Compare(p *plan.Plan, began time.Time) *Comparison {
	out := &Comparison{}
	planned := map[argo.Ref]bool{}
	waits := map[argo.Ref]bool{}
	for _, app := range p.Applications {
		if app.Applied {
			continue
		}
		ref := refIn(p, app.Ref)
		if !planned[ref] {
			planned[ref] = true
			out.Planned++
		}
		for _, item := range app.Items {
			if item.Application != nil {
				waits[refIn(p, item.Application.Ref)] = item.Waits
			}
		}
	}
	seen := map[argo.Ref]bool{}
	for _, r := range c.Records() {
		if r.Key.Kind != argo.KindApplication || r.state.gone {
			continue
		}
		ref := argo.Ref{Namespace: r.Key.Namespace, Name: r.Key.Name}
		seen[ref] = true
		out.Real++
		if !planned[ref] {
			out.Unplanned = append(out.Unplanned, r.Title)
		}
		out.Times = append(out.Times, r.time(ref, began)...)
	}
	for _, app := range p.Applications {
		if ref := refIn(p, app.Ref); !app.Applied && !seen[ref] {
			seen[ref] = true
			out.Absent = append(out.Absent, title(p, ref))
		}
	}
	out.Order = c.disorder(waits)
	return out
}

func refIn(p *plan.Plan, r argo.Ref) argo.Ref {
	return argo.Ref{Namespace: cmp.Or(r.Namespace, p.Namespace), Name: r.Name}
}

func title(p *plan.Plan, r argo.Ref) string {
	if r.Namespace == p.Namespace {
		return r.Name
	}
	return r.String()
}

// time returns the times of a node, none if it existed before the boot.
func (r *Record) time(ref argo.Ref, began time.Time) []Time {
	if r.Before || r.Healthy.IsZero() {
		return nil
	}
	t := Time{
		Title: r.Title, Ref: ref, Created: max(r.Created.Sub(began), 0), Healthy: max(r.Healthy.Sub(began), 0), Took: -1,
		Deploys: r.Deploys,
	}
	if !r.Applied.IsZero() {
		t.Took = max(r.Healthy.Sub(r.Applied), 0)
	}
	return []Time{t}
}

// disorder finds Applications created before one of an earlier wave of their parent, or before that was healthy if the parent waits.
func (c *Course) disorder(waits map[argo.Ref]bool) []string {
	siblings := map[live.Key][]*Record{}
	for _, r := range c.Records() {
		if r.Parent != (live.Key{}) && r.Parent.Kind == argo.KindApplication && !r.state.gone {
			siblings[r.Parent] = append(siblings[r.Parent], r)
		}
	}
	var out []string
	for _, list := range siblings {
		for _, late := range list {
			for _, early := range list {
				if order.Compare(early.Phase, early.Wave, late.Phase, late.Wave) >= 0 {
					continue
				}
				if text := early.after(late, waits[argo.Ref{Namespace: early.Key.Namespace, Name: early.Key.Name}]); text != "" {
					out = append(out, text)
					break // one is enough
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// after says that an Application of a later wave came too early, "" if it did not.
func (r *Record) after(late *Record, waits bool) string {
	switch {
	case !r.Made.IsZero() && !late.Made.IsZero() && late.Made.Before(r.Made):
		return fmt.Sprintf("%s (wave %d) was created before %s (wave %d)", late.Title, late.Wave, r.Title, r.Wave)
	case waits && !r.Before && !late.Before && (r.First.IsZero() || r.First.After(late.Created)):
		return fmt.Sprintf("%s (wave %d) was created before %s (wave %d) was healthy", late.Title, late.Wave, r.Title, r.Wave)
	}
	return ""
}
