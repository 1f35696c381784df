package handover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// stopOperator is the beginning of what is not an operator of selectors. The controller refuses a generator with it before it reads or
// writes any Application, and names it in the condition of the set. The end is different each time, so that an old answer is not taken
// for a new one.
const stopOperator = "HandedOverToArgosy"

// stopped are the generators of a set that the controller does not work on.
func stopped(version string) []any {
	return []any{map[string]any{
		"list": map[string]any{"elements": []any{}},
		"selector": map[string]any{"matchExpressions": []any{map[string]any{
			"key": stateAnnotation, "operator": stopOperator + version,
		}}},
	}}
}

// stopOf returns the operator that stops the controller for a set, "" if it is not stopped.
func stopOf(set manifest.Object) string {
	generators, _ := manifest.Map(set, "spec")["generators"].([]any)
	if len(generators) != 1 {
		return ""
	}
	generator, _ := generators[0].(map[string]any)
	expressions, _ := manifest.Map(generator, "selector")["matchExpressions"].([]any)
	if len(expressions) != 1 {
		return ""
	}
	expression, _ := expressions[0].(map[string]any)
	if operator := manifest.String(expression, "operator"); strings.HasPrefix(operator, stopOperator) {
		return operator
	}
	return ""
}

func isStopped(set manifest.Object) bool { return stopOf(set) != "" }

// stopPatch is the patch that stops the controller for a set. The strategy goes, too: if the set is deleted in reverse order, a controller
// that still sees the old owner references would delete the Applications.
func stopPatch(set manifest.Object) map[string]any {
	version := manifest.String(set, "metadata", "resourceVersion")
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": version},
		"spec":     map[string]any{"generators": stopped(version), "strategy": nil},
	}
}

// unstop restores the fields of a set that stopping it has replaced. Spec is the spec before.
func unstop(set manifest.Object, spec map[string]any) {
	to := manifest.Map(set, "spec")
	to["generators"] = spec["generators"]
	if delete(to, "strategy"); spec["strategy"] != nil {
		to["strategy"] = spec["strategy"]
	}
}

// forward are the steps from the controller to the plugin.
func (r *run) forward() []step {
	return []step{
		{
			fmt.Sprintf("create Application %s without automated sync, and wait until the plugin renders the same %s for it", r.parentRef(),
				words.Count(len(r.names), "Application")),
			r.renders, r.create,
		},
		{
			fmt.Sprintf("stop the applicationset-controller for ApplicationSet %s", r.Set),
			r.isStopped, r.stop,
		},
		{
			"remove the owner references of the Applications to the set",
			r.isReleased, r.release,
		},
		{
			fmt.Sprintf("delete ApplicationSet %s, without its Applications", r.Set),
			func() (bool, string) { return r.set == nil, "the set is still there" },
			r.deleteSet,
		},
		{
			fmt.Sprintf("turn on automated sync of Application %s, and wait until it has adopted the Applications", r.parentRef()),
			r.isAdopted, r.adopt,
		},
	}
}

// backward are the steps from the plugin to the controller.
func (r *run) backward() []step {
	return []step{
		{
			fmt.Sprintf("turn off automated sync of Application %s, and remove its finalizers", r.parentRef()),
			r.isPaused, r.pause,
		},
		{
			fmt.Sprintf("restore ApplicationSet %s, and wait until the applicationset-controller owns the Applications", r.Set),
			r.isOwned, r.restore,
		},
		{
			fmt.Sprintf("delete Application %s, without the Applications that it deploys", r.parentRef()),
			func() (bool, string) { return r.parent == nil, "the Application is still there" },
			r.deleteParent,
		},
	}
}

// renders reports whether the plugin has rendered the parent.
func (r *run) renders() (bool, string) {
	if r.parent == nil {
		return r.set == nil, "there is no such Application"
	}
	if r.set == nil {
		return true, "" // it was rendered before the set was deleted
	}
	if why := troubles(r.parent); why != "" {
		return false, why
	}
	resources, _ := manifest.Map(r.parent, "status")["resources"].([]any)
	var got []string
	for _, v := range resources {
		m, _ := v.(map[string]any)
		if manifest.String(m, "group") == argo.Group && manifest.String(m, "kind") == argo.KindApplication {
			got = append(got, manifest.String(m, "name"))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, r.names) {
		return false, fmt.Sprintf("the plugin renders other Applications: %s", words.Some(differing(got, r.names)))
	}
	return true, ""
}

func (r *run) create(ctx context.Context) error {
	if r.parent != nil {
		return nil
	}
	app := manifest.Copy(r.target).(map[string]any)
	delete(manifest.Map(app, "metadata"), "finalizers")
	manifest.Map(app, "metadata")["namespace"] = r.Set.Namespace
	delete(manifest.Map(app, "spec", "syncPolicy"), "automated")
	return r.Cluster.Create(ctx, app)
}

// isStopped reports whether the controller has seen that it is to stop.
func (r *run) isStopped() (bool, string) {
	if r.set == nil {
		return true, ""
	}
	if !isStopped(r.set) {
		return false, "the controller still works on the set"
	}
	if deleting(r.set) {
		return true, ""
	}
	conditions, _ := manifest.Map(r.set, "status")["conditions"].([]any)
	for _, v := range conditions {
		m, _ := v.(map[string]any)
		if argo.IsSetError(manifest.String(m, "type"), manifest.String(m, "status")) &&
			strings.Contains(manifest.String(m, "message"), fmt.Sprintf("%q", stopOf(r.set))) {
			return true, ""
		}
	}
	return false, "the applicationset-controller has not answered yet; check that it runs"
}

func (r *run) stop(ctx context.Context) error {
	if r.set == nil || isStopped(r.set) {
		return nil
	}
	return r.Cluster.Patch(ctx, argo.KindApplicationSet, r.Set, stopPatch(r.set))
}

// owned are the Applications that the set owns.
func (r *run) owned() []string {
	uid := manifest.String(r.set, "metadata", "uid")
	var out []string
	for _, name := range manifest.Keys(r.owners) {
		if uid != "" && slices.Contains(r.owners[name], uid) {
			out = append(out, name)
		}
	}
	return out
}

func (r *run) isReleased() (bool, string) {
	owned := r.owned()
	return len(owned) == 0, "the set owns " + words.Count(len(owned), "Application")
}

func (r *run) release(ctx context.Context) error {
	uid := manifest.String(r.set, "metadata", "uid")
	for _, name := range r.owned() {
		ref := argo.Ref{Namespace: r.Set.Namespace, Name: name}
		o, err := r.Cluster.Object(ctx, argo.KindApplication, ref)
		if err == nil && o == nil {
			err = errors.New("it is not there any more")
		}
		if err != nil {
			return fmt.Errorf("removing the owner of %s %s: %w", argo.KindApplication, ref, err)
		}
		list, _ := manifest.Map(o, "metadata")["ownerReferences"].([]any)
		kept := slices.DeleteFunc(slices.Clone(list), func(v any) bool {
			m, _ := v.(map[string]any)
			return manifest.String(m, "uid") == uid
		})
		err = r.Cluster.Patch(ctx, argo.KindApplication, ref, map[string]any{"metadata": map[string]any{
			"resourceVersion": manifest.String(o, "metadata", "resourceVersion"), "ownerReferences": kept,
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) deleteSet(ctx context.Context) error {
	if r.set == nil || deleting(r.set) {
		return nil
	}
	return r.Cluster.Delete(ctx, argo.KindApplicationSet, r.Set, manifest.String(r.set, "metadata", "uid"))
}

// isAdopted reports whether the parent has synced its Applications. Before that they lack its mark, so it is out of sync.
func (r *run) isAdopted() (bool, string) {
	switch {
	case r.parent == nil:
		return false, "there is no such Application"
	case difference("", r.final(r.parent), r.final(r.target)) != "":
		return false, "its automated sync is off"
	}
	return isSynced(r.parent)
}

// final are the fields of a parent that are set last.
func (r *run) final(app manifest.Object) any {
	meta := manifest.Map(app, "metadata")
	return map[string]any{"automated": manifest.Map(app, "spec", "syncPolicy")["automated"], "finalizers": meta["finalizers"]}
}

func (r *run) adopt(ctx context.Context) error {
	if r.parent == nil {
		return fmt.Errorf("%s %s is gone", argo.KindApplication, r.parentRef())
	}
	if difference("", r.final(r.parent), r.final(r.target)) == "" {
		return nil
	}
	return r.Cluster.Patch(ctx, argo.KindApplication, r.parentRef(), map[string]any{
		"metadata": map[string]any{"finalizers": manifest.Map(r.target, "metadata")["finalizers"]},
		"spec":     map[string]any{"syncPolicy": map[string]any{"automated": manifest.Map(r.target, "spec", "syncPolicy")["automated"]}},
	})
}

// isPaused reports whether automated sync of the parent is off.
func (r *run) isPaused() (bool, string) {
	if r.parent == nil {
		return true, ""
	}
	finalizers, _ := manifest.Map(r.parent, "metadata")["finalizers"].([]any)
	switch {
	case manifest.Map(r.parent, "spec", "syncPolicy")["automated"] != nil || len(finalizers) > 0:
		return false, "its automated sync is on"
	case syncing(r.parent):
		return false, "a sync of it is running"
	}
	return true, ""
}

func (r *run) pause(ctx context.Context) error {
	if r.parent == nil || manifest.Map(r.parent, "metadata")["finalizers"] == nil &&
		manifest.Map(r.parent, "spec", "syncPolicy")["automated"] == nil {
		return nil
	}
	return r.Cluster.Patch(ctx, argo.KindApplication, r.parentRef(), map[string]any{
		"metadata": map[string]any{"finalizers": nil},
		"spec":     map[string]any{"syncPolicy": map[string]any{"automated": nil}},
	})
}

// isOwned reports whether the controller has all Applications back.
func (r *run) isOwned() (bool, string) {
	if r.set == nil || isStopped(r.set) {
		return false, "the controller has no such set"
	}
	missing := differing(r.owned(), r.names)
	return len(missing) == 0, fmt.Sprintf("the controller does not own %s yet; check that it runs", words.Some(missing))
}

func (r *run) restore(ctx context.Context) error {
	switch {
	case r.set == nil:
		set := manifest.Copy(r.origin).(map[string]any)
		manifest.Map(set, "metadata")["namespace"] = r.Set.Namespace
		if !convert.Updates(r.origin) {
			manifest.Map(set, "spec")["generators"] = stopped("")
		}
		return r.Cluster.Create(ctx, set)
	case deleting(r.set):
		return nil // it is created again when it is gone
	case isStopped(r.set) && !convert.Updates(r.origin) && len(differing(r.owned(), r.names)) > 0:
		return r.own(ctx)
	case isStopped(r.set):
		return r.Cluster.Patch(ctx, argo.KindApplicationSet, r.Set, map[string]any{
			"spec": map[string]any{
				"generators": manifest.Map(r.origin, "spec")["generators"], "strategy": manifest.Map(r.origin, "spec")["strategy"],
			},
		})
	}
	return nil
}

// own makes a stopped set the owner of its Applications. A controller that may not update Applications takes Applications without an owner
// for new, and overwrites them once (createInCluster in applicationset/controllers, v3.2.11).
func (r *run) own(ctx context.Context) error {
	owned := r.owned()
	for _, name := range r.names {
		if slices.Contains(owned, name) {
			continue
		}
		ref := argo.Ref{Namespace: r.Set.Namespace, Name: name}
		o, err := r.Cluster.Object(ctx, argo.KindApplication, ref)
		if err != nil || o == nil || len(ownersOf(o)) > 0 {
			return errors.Join(err, fmt.Errorf("%s %s: it is gone, or has another owner", argo.KindApplication, ref))
		}
		err = r.Cluster.Patch(ctx, argo.KindApplication, ref, map[string]any{"metadata": map[string]any{
			"resourceVersion": manifest.String(o, "metadata", "resourceVersion"),
			"ownerReferences": []any{map[string]any{
				"apiVersion": argo.APIVersion, "kind": argo.KindApplicationSet, "name": r.Set.Name,
				"uid": manifest.String(r.set, "metadata", "uid"), "controller": true, "blockOwnerDeletion": true,
			}},
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) deleteParent(ctx context.Context) error {
	return r.deleteAlone(ctx, r.parentRef(), r.parent)
}
