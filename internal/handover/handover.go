// Package handover moves the Applications of an ApplicationSet from the applicationset-controller to an Application that uses the plugin,
// and back, in a running cluster.
//
// No Application is deleted or created on the way, and none is synced unless its manifest changes. Each step looks at the cluster and does
// only what is missing, so an interrupted run can be run again, in either direction. A run does not start if the set, as rendered
// here, and the Applications in the cluster disagree.
//
// The order matters. The new Application is created without automated sync, and renders the set before anything else is changed. Then the
// controller is stopped for this set, by a generator that it refuses; its answer to that proves that it does not work on the set any more
// (it works on one set once at a time). Only then the owner references are removed: the controller would set them again, and an Application
// whose owner is gone is deleted by the garbage collector. See applicationset/controllers/applicationset_controller.go of Argo CD 3.2.
package handover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/retry"
	"github.com/argosy-cd/argosy/internal/words"
)

// Cluster is the API server that Argo CD is in.
type Cluster interface {
	// Object returns an Application or an ApplicationSet, nil if it is not there.
	Object(ctx context.Context, kind string, ref argo.Ref) (manifest.Object, error)
	// Owned returns the names of all Applications of a namespace with the UIDs of their owners.
	Owned(ctx context.Context, namespace string) (map[string][]string, error)
	Create(ctx context.Context, o manifest.Object) error
	// Patch merges a patch into an object; null removes a field. If the patch names another resourceVersion than the object has, the error
	// is ErrConflict. An error of an API server that does not answer is ErrPassing.
	Patch(ctx context.Context, kind string, ref argo.Ref, patch map[string]any) error
	// Delete deletes the object that has the UID. Objects that it owns stay.
	Delete(ctx context.Context, kind string, ref argo.Ref, uid string) error
}

// ErrConflict says that an object was changed in between. The step is retried.
var ErrConflict = errors.New("changed by somebody else in the meantime")

// ErrPassing says that the API server did not answer, or blamed itself. The step is tried again.
var ErrPassing = errors.New("the API server does not answer")

// Config is a hand-over.
type Config struct {
	Cluster Cluster
	// Set is the ApplicationSet.
	Set argo.Ref
	// Parent is the name of the new Application; "" is the set's.
	Parent string
	// Argo is Argo CD's namespace, and Tracking how it marks what an Application deploys.
	Argo     string
	Tracking argo.Tracking
	// Options configure the new Application.
	Options convert.Options
	// Render renders the set.
	Render convert.Render
	// Back goes from the plugin to the controller.
	Back bool
	// Do does the missing steps. False only reports them to Tell.
	Do bool
	// Wait is called between two looks at the cluster. Its error ends the run.
	Wait func(ctx context.Context) error
	// Tell is called with a line for each step. Nil is not called.
	Tell func(line string)
}

// pause is between two looks at the cluster.
const pause = time.Second

// Patience returns a Wait of a second, until it has waited for a time in all. after starts a timer, as time.After does.
func Patience(most time.Duration, after func(time.Duration) <-chan time.Time) func(ctx context.Context) error {
	waited := time.Duration(0)
	return func(ctx context.Context) error {
		if waited += pause; waited > most {
			return fmt.Errorf("not done after %s", most)
		}
		if !retry.Wait(ctx, after(pause)) {
			return context.Cause(ctx)
		}
		return nil
	}
}

// Run does the missing steps, or only reports them.
func (c Config) Run(ctx context.Context) error {
	c.Tell = harmless(c.Tell)
	if c.Parent == "" {
		c.Parent = c.Set.Name
	}
	r := &run{Config: c}
	if err := r.look(ctx); err != nil {
		return err
	}
	if err := r.agree(ctx); err != nil {
		return err
	}
	steps := r.forward()
	if c.Back {
		steps = r.backward()
	}
	return c.follow(ctx, steps, r.look)
}

// harmless removes control characters from lines: they may quote untrusted objects of the cluster.
func harmless(tell func(string)) func(string) {
	if tell == nil {
		return func(string) {}
	}
	return func(line string) { tell(words.Harmless(line)) }
}

// follow does the steps that are missing, or tells them. Look reads the cluster again.
func (c Config) follow(ctx context.Context, steps []step, look func(context.Context) error) error {
	missing := 0
	for i, s := range steps {
		done, why := s.done()
		switch {
		case done && missing == 0: // a done step behind a missing one counts as missing
			c.Tell(fmt.Sprintf("%d. done: %s", i+1, s.text))
			continue
		case !c.Do:
			missing++
			c.Tell(fmt.Sprintf("%d. to do: %s", i+1, s.text))
			continue
		}
		c.Tell(fmt.Sprintf("%d. doing: %s (%s)", i+1, s.text, why))
		if err := c.step(ctx, s, look); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if missing > 0 {
		c.Tell("nothing was changed")
	}
	return nil
}

// step is a part of a hand-over.
type step struct {
	text string
	// done reports whether the step is complete in the cluster, or why it is not.
	done func() (ok bool, why string)
	// do makes the missing changes. It is called again until the step is done, and does nothing if it only has to wait.
	do func(ctx context.Context) error
}

// step does a step, and waits for it.
func (c Config) step(ctx context.Context, s step, look func(context.Context) error) error {
	const cure = "run this again to go on, or with --back to go back"
	for {
		if err := s.do(ctx); err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrPassing) {
			return fmt.Errorf("%w; %s", err, cure)
		}
		// Read the cluster before each change: an earlier change may have arrived although its answer was lost.
		err := look(ctx)
		for errors.Is(err, ErrPassing) && c.Wait(ctx) == nil {
			err = look(ctx)
		}
		if err != nil {
			return fmt.Errorf("%w; %s", err, cure)
		}
		ok, why := s.done()
		if ok {
			return nil
		}
		if err := c.Wait(ctx); err != nil {
			return fmt.Errorf("%s: %w; %s", why, err, cure)
		}
	}
}

// run is a hand-over and the cluster as it was seen last.
type run struct {
	Config

	set    manifest.Object     // as in the cluster; nil is not there
	parent manifest.Object     // the same
	owners map[string][]string // of Applications
	origin manifest.Object     // the set as it is in a file
	target manifest.Object     // the Application of it
	names  []string            // of the Applications
}

func (r *run) parentRef() argo.Ref { return argo.Ref{Namespace: r.Set.Namespace, Name: r.Parent} }

// look reads the cluster.
func (r *run) look(ctx context.Context) (err error) {
	if r.set, err = r.Cluster.Object(ctx, argo.KindApplicationSet, r.Set); err != nil {
		return err
	}
	if r.parent, err = r.Cluster.Object(ctx, argo.KindApplication, r.parentRef()); err != nil {
		return err
	}
	if r.owners, err = r.Cluster.Owned(ctx, r.Set.Namespace); err != nil {
		return err
	}
	if r.origin != nil {
		return nil
	}
	r.origin, err = r.original()
	if err == nil {
		r.target, _, err = r.Options.Application(r.origin)
	}
	if err != nil {
		return fmt.Errorf("ApplicationSet %s: %w", r.Set, err)
	}
	meta := manifest.Map(r.target, "metadata")
	meta["name"] = r.Parent
	delete(manifest.Map(meta, "labels"), r.Tracking.Key()) // the Application that deploys the set would prune the parent
	return nil
}

// original returns the set as it was before: from the set itself, or from the parent if the set is stopped or gone.
func (r *run) original() (manifest.Object, error) {
	var fromParent manifest.Object
	if r.parent != nil {
		var err error
		if fromParent, _, err = convert.Set(clean(r.parent)); err != nil {
			return nil, fmt.Errorf("%s %s is there already, and is not the Application of this set: %w", argo.KindApplication,
				r.parentRef(), err)
		}
		manifest.Map(fromParent, "metadata")["name"] = r.Set.Name
	}
	switch {
	case r.set == nil && r.parent == nil:
		return nil, errors.New("neither the set nor its Application is in the cluster")
	case r.set == nil:
		return fromParent, nil
	case !isStopped(r.set):
		out := clean(r.set)
		if r.parent != nil && difference("spec", out["spec"], fromParent["spec"]) != "" {
			return nil, fmt.Errorf("%s %s is there already, with another spec than the set: %s", argo.KindApplication, r.parentRef(),
				difference("spec", out["spec"], fromParent["spec"]))
		}
		return out, nil
	case r.parent == nil:
		return nil, fmt.Errorf("it is stopped, and Application %s, which has its generators, is gone; apply the set again", r.parentRef())
	}
	out := clean(r.set)
	unstop(out, manifest.Map(fromParent, "spec"))
	return out, nil
}

// clean returns an object as it would be in a file.
func clean(o manifest.Object) manifest.Object {
	out := manifest.Copy(o).(map[string]any)
	meta := map[string]any{}
	for _, k := range []string{"name", "namespace", "labels", "annotations", "finalizers"} {
		if v := manifest.Map(out, "metadata")[k]; v != nil {
			meta[k] = v
		}
	}
	annotations := manifest.Map(meta, "annotations")
	for _, k := range []string{argo.TrackingAnnotation, lastApplied, refreshSet, argo.RefreshAnnotation, stateAnnotation} {
		delete(annotations, k)
	}
	if len(annotations) == 0 {
		delete(meta, "annotations")
	}
	return manifest.Object{"apiVersion": out["apiVersion"], "kind": out["kind"], "metadata": meta, "spec": out["spec"]}
}

// Annotations that are not in files.
const (
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	refreshSet  = "argocd.argoproj.io/application-set-refresh"
)
