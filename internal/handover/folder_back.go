package handover

import (
	"context"
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// isPlain reports whether Argo CD has rendered the folder without the plugin.
func (f *folder) isPlain() (bool, string) {
	if f.root == nil || convert.UsesFolder(f.root) {
		return false, "it has the plugin"
	}
	if why := troubles(f.root); why != "" {
		return false, why
	}
	if manifest.Map(f.root, "status", "sync", "comparedTo", "source", "plugin") != nil {
		return false, "Argo CD has not rendered it without the plugin yet"
	}
	return true, ""
}

// isOwned reports whether the controller has all Applications, and the root none that it would prune.
func (f *folder) isOwned() (bool, string) {
	if ok, why := f.isPlain(); !ok {
		return false, why
	}
	if len(f.sets) == 0 {
		return false, "its folder has no ApplicationSet"
	}
	var uids []string
	for _, r := range f.sets {
		if r.set == nil || isStopped(r.set) || deleting(r.set) {
			return false, fmt.Sprintf("ApplicationSet %s is not there, or stopped", r.Set)
		}
		uids = append(uids, manifest.String(r.set, "metadata", "uid"))
	}
	own := resourcesOf(f.root, argo.KindApplication, func(m map[string]any) bool { return !pruned(m) }) // in the folder themselves
	var missing []string
	for _, ref := range f.state.Applications {
		if slices.Contains(own, ref) || slices.ContainsFunc(f.sets, func(r *run) bool {
			return r.Set.Namespace == ref.Namespace &&
				slices.ContainsFunc(r.owners[ref.Name], func(uid string) bool { return slices.Contains(uids, uid) })
		}) {
			continue
		}
		missing = append(missing, ref.String())
	}
	if len(missing) > 0 {
		return false, fmt.Sprintf("the controller does not own %s yet; check that it runs", words.Some(missing))
	}
	if gone := resourcesOf(f.root, argo.KindApplication, pruned); len(gone) > 0 {
		return false, fmt.Sprintf("Application %s would prune %s", f.Set, words.Some(texts(gone)))
	}
	return !syncing(f.root) && !f.hasSynced(), "a sync of it is running"
}

func (f *folder) restore(ctx context.Context) error {
	var missing []any
	for _, r := range f.sets {
		switch {
		case r.set == nil:
			missing = append(missing, map[string]any{
				"group": argo.Group, "kind": argo.KindApplicationSet, "namespace": r.Set.Namespace, "name": r.Set.Name,
			})
		case deleting(r.set):
		case isStopped(r.set) && !convert.Updates(r.origin) && !r.ownsRendered(ctx):
			if err := r.own(ctx); err != nil {
				return err
			}
		case isStopped(r.set):
			spec := manifest.Map(r.origin, "spec")
			if err := r.Cluster.Patch(ctx, argo.KindApplicationSet, r.Set, map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{stateAnnotation: nil}},
				"spec":     map[string]any{"generators": spec["generators"], "strategy": spec["strategy"]},
			}); err != nil {
				return err
			}
		}
	}
	if ok, _ := f.isPlain(); !ok || syncing(f.root) {
		return nil
	}
	if len(missing) > 0 {
		sync := map[string]any{"prune": false, "resources": missing}
		if options := manifest.Map(f.root, "spec", "syncPolicy")["syncOptions"]; options != nil {
			sync["syncOptions"] = options
		}
		return f.Cluster.Patch(ctx, argo.KindApplication, f.Set, map[string]any{
			"metadata":  map[string]any{"resourceVersion": manifest.String(f.root, "metadata", "resourceVersion")},
			"operation": map[string]any{"initiatedBy": map[string]any{"username": syncer}, "sync": sync},
			"status":    map[string]any{"operationState": nil}, // the same, of an automated sync, which may prune
		})
	}
	if f.hasSynced() {
		return f.Cluster.Patch(ctx, argo.KindApplication, f.Set, map[string]any{"status": map[string]any{"operationState": nil}})
	}
	if refreshing(f.root) {
		return nil
	}
	return f.Cluster.Patch(ctx, argo.KindApplication, f.Set, map[string]any{ // it may not have seen yet that they are owned
		"metadata": map[string]any{"annotations": map[string]any{argo.RefreshAnnotation: "normal"}},
	})
}

// ownsRendered reports whether the set owns all of its Applications. Of a set that cannot be rendered it is taken to own them.
func (r *run) ownsRendered(ctx context.Context) bool {
	apps, err := r.Render(ctx, r.origin)
	if err != nil {
		return true
	}
	r.names = nil
	for _, app := range apps {
		r.names = append(r.names, manifest.String(app, "metadata", "name"))
	}
	slices.Sort(r.names)
	return len(differing(r.owned(), r.names)) == 0
}
