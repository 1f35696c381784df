package appsetplugin

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/words"
)

// maxNames bounds the Applications that a message names.
const maxNames = 20

// Window is the time over which deletions count together.
const Window = time.Hour

// Removals remembers which Applications answers have left out lately, so that many small deletions count like a large one. Its zero value
// is ready. It is the memory of one process; the rest is known from the last sync of the parent (Children.Pruned).
type Removals struct {
	mu      sync.Mutex
	parents map[argo.Ref]map[argo.Ref]time.Time
}

// recent returns the Applications left out of a parent's answers within the window.
func (r *Removals) recent(parent argo.Ref, now time.Time) []argo.Ref {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []argo.Ref
	for child, at := range r.parents[parent] {
		if now.Sub(at) < Window {
			out = append(out, child)
		}
	}
	return out
}

// add remembers the Applications that an answer leaves out, and drops entries older than the window.
func (r *Removals) add(parent argo.Ref, gone []argo.Ref, now time.Time) {
	if r == nil || len(gone) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for ref, children := range r.parents {
		for child, at := range children {
			if now.Sub(at) >= Window {
				delete(children, child)
			}
		}
		if len(children) == 0 {
			delete(r.parents, ref)
		}
	}
	if r.parents == nil {
		r.parents = map[argo.Ref]map[argo.Ref]time.Time{}
	}
	if r.parents[parent] == nil {
		r.parents[parent] = map[argo.Ref]time.Time{}
	}
	for _, child := range gone {
		r.parents[parent][child] = now
	}
}

// guard refuses an answer that would delete more Applications than it may.
type guard struct {
	live     Live // nil is none
	removals *Removals
	now      time.Time
	self     argo.Ref
	limit    limit
	blind    string // why it does not know
}

// children returns the Applications that the parent deploys now. Nil means unknown, as for a parent that does not exist.
func (g *guard) children(ctx context.Context) (*Children, error) {
	if g.live == nil {
		return nil, nil
	}
	children, err := g.live.Children(ctx, g.self)
	if err != nil {
		return nil, fmt.Errorf("looking for Applications that this answer would delete: %w", err)
	}
	return children, nil
}

func (g *guard) check(ctx context.Context, destination string, children *Children, objects []manifest.Object) error {
	switch {
	case g.live == nil:
		return nil
	case children == nil:
		g.blind = fmt.Sprintf("Application %s is not there, so it is not known what this answer would delete", g.self)
		return nil
	case children.Sources > 1:
		g.blind = fmt.Sprintf("Application %s has %d sources, so it is not known what the answer for one of them would delete", g.self,
			children.Sources)
		return nil
	}
	// An Application that becomes a hook does not stay. Of two objects with the same name the last counts. An object with the hook type
	// Skip is not touched, so it stays.
	stays := map[argo.Ref]bool{}
	for _, o := range objects {
		if argo.IsApplication(o) {
			stays[policy.Ref(o, destination)] = !order.IsHook(o)
		}
	}
	if !slices.ContainsFunc(children.Applications, func(child argo.Ref) bool { return !stays[child] }) {
		return nil
	}
	there, err := g.there(ctx, children)
	if err != nil {
		return err
	}
	return g.count(children, there, stays)
}

// sets refuses an answer that would prune ApplicationSets that own Applications: the garbage collector deletes these with their set,
// whatever the limit is.
func (g *guard) sets(ctx context.Context, destination string, children *Children, objects []manifest.Object) error {
	if g.live == nil || children == nil || children.Sources > 1 || len(children.Sets) == 0 {
		return nil
	}
	stays := map[argo.Ref]bool{}
	for _, o := range objects {
		if argo.IsApplicationSet(o) {
			stays[policy.Ref(o, destination)] = !order.IsHook(o)
		}
	}
	gone := slices.DeleteFunc(slices.Clone(children.Sets), func(set argo.Ref) bool { return stays[set] })
	if len(gone) == 0 {
		return nil
	}
	if children.Remote {
		return fmt.Errorf("refused: this answer would prune ApplicationSets in another cluster, and their Applications with them: %s; if "+
			"this is meant, set the parameter prune-sets to true", words.First(names(gone), maxNames))
	}
	owned, err := g.live.OwnedBy(ctx, gone)
	if err != nil {
		return fmt.Errorf("looking for ApplicationSets that this answer would prune: %w", err)
	}
	gone = slices.DeleteFunc(gone, func(set argo.Ref) bool { return owned[set] == 0 })
	if len(gone) == 0 {
		return nil
	}
	total := 0
	for _, set := range gone {
		total += owned[set]
	}
	return fmt.Errorf("refused: this answer would prune ApplicationSets, and with them the %s that they own: %s; move them first with "+
		"\"argosy appset handover --folder %s\"; if deleting is meant, set the parameter prune-sets to true",
		words.Count(total, "Application"), words.First(names(gone), maxNames), g.self)
}

func names(refs []argo.Ref) []string {
	var out []string
	for _, r := range refs {
		out = append(out, r.Name)
	}
	return out
}

// there are the children that are really there: Argo CD also lists Applications that were never created.
func (g *guard) there(ctx context.Context, children *Children) (map[argo.Ref]bool, error) {
	if children.Remote {
		there := map[argo.Ref]bool{}
		for _, child := range children.Applications {
			there[child] = true
		}
		return there, nil
	}
	there, err := g.live.Existing(ctx, children.Applications)
	if err != nil {
		return nil, fmt.Errorf("looking for Applications that this answer would delete: %w", err)
	}
	return there, nil
}

// count compares the removals, of this answer and of earlier ones in the window, with the limit.
func (g *guard) count(children *Children, there, stays map[argo.Ref]bool) error {
	var now, before []argo.Ref
	for _, child := range children.Applications {
		if there[child] && !stays[child] {
			now = append(now, child)
		}
	}
	if len(now) == 0 {
		return nil
	}
	removed := g.removals.recent(g.self, g.now)
	if g.now.Sub(children.PrunedAt) < Window {
		removed = append(removed, children.Pruned...)
	}
	known := map[argo.Ref]bool{}
	for _, child := range removed {
		if !there[child] && !known[child] {
			known[child] = true
			if !stays[child] {
				before = append(before, child)
			}
		}
	}
	all, total := len(there)+len(known), len(now)+len(before)
	allowed := g.limit.of(all)
	if total <= allowed {
		g.removals.add(g.self, now, g.now)
		return nil
	}
	if len(before) == 0 {
		return fmt.Errorf("refused: this answer would delete %d of %d Applications, and at most %d may be deleted at once: %s; if this "+
			"is meant, set the parameter max-delete to %d", len(now), all, allowed, words.First(names(now), maxNames), total)
	}
	return fmt.Errorf("refused: this answer would delete %d Applications, which makes %d of %d in the last hour, and at most %d may be "+
		"deleted in an hour: %s; if this is meant, set the parameter max-delete to %d",
		len(now), total, all, allowed, words.First(names(now), maxNames), total)
}
