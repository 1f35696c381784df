package plan

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// removal decides what happens to objects that only the first plan has.
type removal struct {
	was, is description
	version versions.Version
}

// kind is Removed for something that is deleted, or Left.
func (removal) kind(deleted bool) ChangeKind {
	if deleted {
		return Removed
	}
	return Left
}

// deletes reports whether an Application that is no longer deployed is deleted: by a parent that prunes it, by the controller of its set,
// or with its parent. Otherwise it stays in the cluster.
func (r removal) deletes(app *described, seen ...argo.Ref) bool {
	return slices.ContainsFunc(app.parents, func(by parent) bool {
		set, ok := r.was.sets[by]
		if !ok {
			return r.removes(by.app, app.app.Object, seen)
		}
		if now, still := r.is.sets[by]; still {
			return !argo.KeepsApplications(manifest.Map(now.item.Object, "spec"))
		}
		// Applications are owned by their set. A finalizer lets the controller release them first.
		released := argo.KeepsApplications(manifest.Map(set.item.Object, "spec")) && len(finalizersOf(set.item.Object)) > 0
		return !released && r.removes(by.app, set.item.Object, seen)
	})
}

// removes reports whether an Application deletes an object that it does not deploy any more: it prunes, or is deleted itself.
func (r removal) removes(ref argo.Ref, o manifest.Object, seen []argo.Ref) bool {
	if ref == (argo.Ref{}) || slices.Contains(seen, ref) {
		return false
	}
	if now := r.is.apps[ref]; now != nil {
		return now.app.prunes(o, r.version)
	}
	gone := r.was.apps[ref]
	return gone != nil && cascades(gone.app.Object) && !order.HasOption(o, "Delete=false") && r.deletes(gone, append(seen, ref)...)
}

// prunes reports whether the automated sync of an Application deletes an object that is not in its manifests any more. An object that
// waits for a confirmation is not deleted by the sync alone.
func (a *Application) prunes(o manifest.Object, v versions.Version) bool {
	if automated, on := argo.Automated(a.Object); !on || automated["prune"] != true {
		return false
	}
	for _, option := range []string{"Prune=false", "Prune=confirm"} {
		own := v.Has(versions.PruneOfApplication) && a.hasOption(option) && !order.HasOption(o, "Prune=true")
		if own || order.HasOption(o, option) {
			return false
		}
	}
	return true
}

// cascades reports whether the objects of an Application are deleted with it.
func cascades(app manifest.Object) bool {
	return slices.ContainsFunc(finalizersOf(app), argo.IsResourcesFinalizer)
}

func finalizersOf(o manifest.Object) []any {
	list, _ := manifest.Map(o, "metadata")["finalizers"].([]any)
	return list
}
