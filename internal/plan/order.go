package plan

import (
	"cmp"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Phases of a sync, in order.
const (
	PreSync  = order.PreSync
	Sync     = order.Sync
	PostSync = order.PostSync
	SyncFail = order.SyncFail
)

// Deploys reports whether a sync deploys an object: not one that is a hook of something else, or of a deletion.
func Deploys(o manifest.Object) bool { return order.Deploys(o) }

// sort sorts the items of an Application in the order of its sync. Items that are applied by hand keep their order inside a wave, and none
// is moved.
func (a *Application) sort() {
	if a.Applied {
		slices.SortStableFunc(a.Items, func(i, j *Item) int { return order.Compare(i.Phase, i.Wave, j.Phase, j.Wave) })
		return
	}
	tasks, items := make([]*order.Task, len(a.Items)), make(map[*order.Task]*Item, len(a.Items))
	for n, i := range a.Items {
		tasks[n] = &order.Task{
			Group: i.Group, Kind: i.Kind, Namespace: i.Namespace, Name: i.Name, Phase: i.Phase, Wave: i.Wave,
			Object: i.Object,
		}
		items[tasks[n]] = i
	}
	order.Sort(tasks, a.namespace())
	for n, t := range tasks {
		i := items[t]
		i.Phase, i.Wave, i.Moved = t.Phase, t.Wave, cmp.Or(i.Moved, t.Moved)
		a.Items[n] = i
	}
}

// Wave is the items of one wave of a phase.
type Wave struct {
	Phase string
	Wave  int
	Items []*Item
}

// Waves returns the items of an Application in sections.
func (a *Application) Waves() []Wave {
	var out []Wave
	for _, item := range a.Items {
		if n := len(out); n > 0 && out[n-1].Phase == item.Phase && out[n-1].Wave == item.Wave {
			out[n-1].Items = append(out[n-1].Items, item)
			continue
		}
		out = append(out, Wave{item.Phase, item.Wave, []*Item{item}})
	}
	return out
}
