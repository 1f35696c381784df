package handover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// forward are the steps from the controller to the plugin.
func (f *folder) forward() []step {
	count := words.Count(len(f.state.Applications), "Application")
	return []step{
		{
			fmt.Sprintf("create Application %s without automated sync, and wait until the plugin renders the same %s for it", f.probeRef(),
				count),
			f.isProven, f.prove,
		},
		{fmt.Sprintf("turn off automated sync of Application %s", f.Set), f.isPaused, f.pause},
		{
			fmt.Sprintf("stop the applicationset-controller for %s", words.Count(len(f.state.Sets), "ApplicationSet")),
			f.all((*run).isStopped), f.each((*run).stopRemembering),
		},
		{"remove the owner references of the Applications to the sets", f.all((*run).isReleased), f.each((*run).release)},
		{
			"delete the ApplicationSets, without their Applications",
			f.all(func(r *run) (bool, string) {
				return r.set == nil, fmt.Sprintf("ApplicationSet %s is still there", r.Set)
			}),
			f.each((*run).deleteSet),
		},
		{
			fmt.Sprintf("put the plugin into the source of Application %s, and wait until it renders the same %s", f.Set, count),
			func() (bool, string) { return f.renders(f.root, f.expected()) }, f.put(func() map[string]any { return f.state.Plugin }),
		},
		f.withoutProbe(),
		{
			fmt.Sprintf("set the automated sync of Application %s as it was, and wait until it has adopted the Applications", f.Set),
			f.isSynced, f.finish,
		},
	}
}

// backward are the steps from the plugin to the controller.
func (f *folder) backward() []step {
	return []step{
		{fmt.Sprintf("turn off automated sync of Application %s", f.Set), f.isPaused, f.pause},
		{
			fmt.Sprintf("remove the plugin from the source of Application %s, and wait until Argo CD has rendered its folder", f.Set),
			f.isPlain, f.put(func() map[string]any { return f.state.Plain }),
		},
		{
			"restore the ApplicationSets, and wait until the applicationset-controller owns their Applications",
			f.isOwned, f.restore,
		},
		f.withoutProbe(),
		{fmt.Sprintf("set the automated sync of Application %s as it was", f.Set), f.isSynced, f.finish},
	}
}

// all reports whether something holds for all sets.
func (f *folder) all(done func(*run) (bool, string)) func() (bool, string) {
	return func() (bool, string) {
		for _, r := range f.sets {
			if ok, why := done(r); !ok {
				return false, why
			}
		}
		return true, ""
	}
}

// each does something for each set.
func (f *folder) each(do func(*run, context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, r := range f.sets {
			if err := do(r, ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// expected returns all Applications of the root with the plugin: the Applications of the sets, and those in the folder itself.
func (f *folder) expected() []argo.Ref {
	out := slices.Concat(f.state.Applications, f.resources(argo.KindApplication))
	slices.SortFunc(out, func(a, b argo.Ref) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

func (f *folder) isProven() (bool, string) {
	if f.begun {
		return true, "" // it was before the root was changed
	}
	if f.probe == nil {
		return false, "there is no such Application"
	}
	return f.renders(f.probe, f.expected())
}

func (f *folder) prove(ctx context.Context) error {
	if f.probe != nil {
		if !f.isOurs() {
			return fmt.Errorf("%s %s is there already, and argosy has not created it; this name must be free", argo.KindApplication,
				f.probeRef())
		}
		return nil
	}
	spec := manifest.Copy(manifest.Map(f.root, "spec")).(map[string]any)
	spec["source"] = f.state.Plugin
	delete(manifest.Map(spec, "syncPolicy"), "automated")
	return f.Cluster.Create(ctx, manifest.Object{
		"apiVersion": argo.APIVersion, "kind": argo.KindApplication,
		"metadata": map[string]any{
			"name": f.probeRef().Name, "namespace": f.probeRef().Namespace, "annotations": map[string]any{stateAnnotation: proof},
		},
		"spec": spec,
	})
}

// proof is the mark of the Application that proves what the plugin renders.
const proof = "proof"

// isOurs reports whether the Application of that name is for the proof.
func (f *folder) isOurs() bool {
	return manifest.String(f.probe, "metadata", "annotations", stateAnnotation) == proof
}

// renders reports whether Argo CD has rendered an Application with the plugin, to these Applications.
func (f *folder) renders(app manifest.Object, want []argo.Ref) (bool, string) {
	if why := troubles(app); why != "" {
		return false, why
	}
	if compared := manifest.Map(app, "status", "sync", "comparedTo", "source", "plugin"); !convert.UsesFolder(app) || compared == nil {
		return false, "Argo CD has not rendered it with the plugin yet"
	}
	got := resourcesOf(app, argo.KindApplication, nil)
	if !slices.Equal(got, want) {
		return false, fmt.Sprintf("the plugin renders other Applications: %s", words.Some(differing(texts(got), texts(want))))
	}
	if gone := resourcesOf(app, argo.KindApplication, pruned); len(gone) > 0 {
		return false, fmt.Sprintf("the plugin does not render %s", words.Some(texts(gone)))
	}
	return true, ""
}

// refreshing reports whether a requested refresh of an Application is still pending.
func refreshing(app manifest.Object) bool {
	return manifest.String(app, "metadata", "annotations", argo.RefreshAnnotation) != ""
}

// isPaused reports whether automated sync of the root is off, and the state is stored on it.
func (f *folder) isPaused() (bool, string) {
	switch {
	case f.root == nil:
		return false, "it is gone"
	case !f.begun || manifest.Map(f.root, "spec", "syncPolicy")["automated"] != nil:
		if refreshing(f.root) {
			return false, "Argo CD is refreshing it"
		}
		return false, "its automated sync is on"
	case syncing(f.root):
		return false, "a sync of it is running"
	}
	return true, ""
}

func (f *folder) pause(ctx context.Context) error {
	if f.root == nil {
		return errors.New("it is gone")
	}
	if f.begun && manifest.Map(f.root, "spec", "syncPolicy")["automated"] == nil {
		return nil
	}
	// When Argo CD removes the only annotation that it has seen, its patch removes all that were added since, and so the state
	// (persistAppStatus in controller/appcontroller.go, v3.2.11). The patch below fails if a refresh is requested in between.
	if refreshing(f.root) {
		return nil
	}
	data, err := json.Marshal(f.state)
	if err != nil {
		return err
	}
	patch := map[string]any{"metadata": map[string]any{
		"resourceVersion": manifest.String(f.root, "metadata", "resourceVersion"),
		"annotations":     map[string]any{stateAnnotation: string(data)},
	}}
	if manifest.Map(f.root, "spec", "syncPolicy")["automated"] != nil {
		patch["spec"] = map[string]any{"syncPolicy": map[string]any{"automated": nil}}
	}
	return f.Cluster.Patch(ctx, argo.KindApplication, f.Set, patch)
}

// stopRemembering is stop, for a set that no Application has in a parameter.
func (r *run) stopRemembering(ctx context.Context) error {
	if r.set == nil || isStopped(r.set) {
		return nil
	}
	spec := manifest.Map(r.set, "spec")
	data, err := json.Marshal(map[string]any{"generators": spec["generators"], "strategy": spec["strategy"]})
	if err != nil {
		return err
	}
	patch := stopPatch(r.set)
	manifest.Map(patch, "metadata")["annotations"] = map[string]any{stateAnnotation: string(data)}
	return r.Cluster.Patch(ctx, argo.KindApplicationSet, r.Set, patch)
}

// put sets the source of the root.
func (f *folder) put(source func() map[string]any) func(context.Context) error {
	return func(ctx context.Context) error {
		if f.root == nil || !f.begun {
			return fmt.Errorf("%s %s is gone, or was changed by somebody else", argo.KindApplication, f.Set)
		}
		old := manifest.Map(f.root, "spec", "source")
		if difference("source", source(), old) == "" {
			return nil
		}
		return f.Cluster.Patch(ctx, argo.KindApplication, f.Set, map[string]any{
			"metadata": map[string]any{"resourceVersion": manifest.String(f.root, "metadata", "resourceVersion")},
			"spec":     map[string]any{"source": exchange(old, source())},
		})
	}
}

// withoutProbe deletes the Application of the proof. Another Application of that name stays.
func (f *folder) withoutProbe() step {
	return step{
		fmt.Sprintf("delete Application %s, without the Applications that it renders", f.probeRef()),
		func() (bool, string) { return f.probe == nil || !f.isOurs(), "it is still there" }, f.deleteProbe,
	}
}

func (f *folder) deleteProbe(ctx context.Context) error {
	return f.deleteAlone(ctx, f.probeRef(), f.probe)
}

// isSynced reports whether the root is as it was, apart from the plugin, and has synced if it does that by itself.
func (f *folder) isSynced() (bool, string) {
	_, automated := argo.Automated(f.root)
	switch {
	case f.root == nil:
		return false, "it is gone"
	case f.begun:
		return false, "its automated sync is off"
	case !automated:
		return true, ""
	}
	return isSynced(f.root)
}

func (f *folder) finish(ctx context.Context) error {
	if f.root == nil || !f.begun {
		return nil
	}
	patch := map[string]any{"metadata": map[string]any{
		"resourceVersion": manifest.String(f.root, "metadata", "resourceVersion"), "annotations": map[string]any{stateAnnotation: nil},
	}}
	if f.state.Automated != nil {
		patch["spec"] = map[string]any{"syncPolicy": map[string]any{"automated": f.state.Automated}}
	}
	if f.hasSynced() {
		patch["status"] = map[string]any{"operationState": nil}
	}
	return f.Cluster.Patch(ctx, argo.KindApplication, f.Set, patch)
}

// syncer marks the syncs that this program has started.
const syncer = "argosy"

// hasSynced reports whether the last sync is ours. Argo CD merges an operation into what is left of the one before, so a sync of some
// resources must be forgotten, or the next ones are about the same resources (setOperationState, controller/appcontroller.go, v3.2.11).
func (f *folder) hasSynced() bool {
	return manifest.String(f.root, "status", "operationState", "operation", "initiatedBy", "username") == syncer
}
